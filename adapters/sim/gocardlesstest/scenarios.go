package gocardlesstest

import (
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// mandateScenarios has the moves of a mandate that each scenario simulator makes.
var mandateScenarios = map[string][]move{
	"mandate_customer_approval_granted": {{"customer_approval_granted", ""}},
	"mandate_customer_approval_skipped": {{"customer_approval_skipped", ""}},
	"mandate_activated":                 {{"submitted", ""}, {"active", ""}},
	"mandate_failed":                    {{"failed", "NEGATIVE_ACKNOWLEDGEMENT-AC05"}},
	"mandate_cancelled":                 {{"cancelled", "DISHONOUR-AG01"}},
	"mandate_expired":                   {{"expired", ""}},
	"mandate_blocked":                   {{"blocked", ""}},
	"mandate_transferred":               {{"transferred", ""}},
	"mandate_suspended_by_payer":        {{"suspended_by_payer", ""}},
}

// fulfilledScenario is the scenario simulator of billing requests.
const fulfilledScenario = "billing_request_fulfilled"

func runScenario(s *state, c *call) (answer, *apiError) {
	f := c.form()
	links, _ := f.object("links")
	resource := links.required("resource", text.Max)
	links.close()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	done := answer{id: resource, body: object{"id": c.id}}
	const wrong = "resource_in_wrong_state"
	moves, ofMandate := mandateScenarios[c.id]
	m, b := s.mandates[resource], s.requests[resource]
	switch {
	case ofMandate && m != nil && m.dead():
		return answer{}, wrongState(wrong, "The mandate is "+m.status)
	case ofMandate && m != nil:
		for _, to := range moves {
			s.move(c.now, m, to)
		}
		return done, nil
	case c.id == fulfilledScenario && b != nil && b.over():
		return answer{}, wrongState(wrong, "The billing request is "+b.status)
	case c.id == fulfilledScenario && b != nil:
		s.fulfilAtOnce(c.now, b)
		return done, nil
	}
	return answer{}, notFound()
}

// fulfilAtOnce fulfils a billing request that no payer has filled in, or that stopped on its way.
func (s *state) fulfilAtOnce(now time.Time, b *billingRequest) {
	by := cause{origin: byAPI}
	if !b.collected {
		s.collectCustomer(now, b, Payer{GivenName: "Ana", FamilyName: "Tau", Email: "ana@example.nz"}, by)
	}
	if b.account == nil {
		number, _ := bankaccount.Parse(fatefulAccount + "-00") // which is right
		s.collectAccount(now, b, bankAccount{number: number, holder: b.customer.GivenName + " " + b.customer.FamilyName}, by)
	}
	if b.status == requestPending {
		s.confirm(now, b, false, by)
	}
	b.fate.setup = ""
	s.finish(now, b, cause{origin: byGoCardless})
}
