package gocardlesstest

import (
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// mandateScenarios has the moves of a mandate that each scenario simulator makes.
var mandateScenarios = map[string][]move{
	"mandate_customer_approval_granted": {{action: "customer_approval_granted"}},
	"mandate_customer_approval_skipped": {{action: "customer_approval_skipped"}},
	"mandate_activated":                 {{action: "submitted"}, {action: "active"}},
	"mandate_failed":                    {{action: "failed", reason: "NEGATIVE_ACKNOWLEDGEMENT-AC05"}},
	"mandate_cancelled":                 {{action: "cancelled", reason: "DISHONOUR-AG01"}},
	"mandate_expired":                   {{action: "expired"}},
	"mandate_blocked":                   {{action: "blocked"}},
	"mandate_transferred":               {{action: "transferred"}},
	"mandate_suspended_by_payer":        {{action: "suspended_by_payer"}},
}

// fulfilledScenario is the scenario simulator of billing requests.
const fulfilledScenario = "billing_request_fulfilled"

func runScenario(s *state, c *call) (answer, *apiError) {
	f := c.form()
	links, _ := f.object("links")
	resource := links.required("resource", text.Max)
	links.closed()
	f.closed()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	moves, known := mandateScenarios[c.id]
	if !known && c.id != fulfilledScenario {
		return answer{}, notFound()
	}
	err := s.scenario(c, resource, moves)
	return answer{http.StatusOK, "scenario_simulators", scenarioWire{c.id}, resource}, err
}

// scenario moves a mandate, or fulfils a billing request where there are no moves.
func (s *state) scenario(c *call, resource string, moves []move) *apiError {
	if len(moves) == 0 {
		b, ok := s.requests[resource]
		if !ok {
			return notFound()
		}
		if b.over() {
			return wrongState("resource_in_wrong_state", "The billing request is "+b.status)
		}
		s.fulfilAtOnce(c.now, b)
		return nil
	}
	m, ok := s.mandates[resource]
	switch {
	case !ok:
		return notFound()
	case m.dead():
		return wrongState("resource_in_wrong_state", "The mandate is "+m.status)
	}
	for _, to := range moves {
		s.move(c.now, m, to)
	}
	return nil
}

// fulfilAtOnce fulfils a billing request that no payer has filled in, or that stopped on its way.
func (s *state) fulfilAtOnce(now time.Time, b *billingRequest) {
	by := cause{origin: byAPI}
	if !b.collected {
		s.collectCustomer(now, b, customer{Payer: Payer{GivenName: "Ana", FamilyName: "Tau", Email: "ana@example.nz"}}, by)
	}
	if b.account == nil {
		number, _ := bankaccount.Parse(fatefulAccount + "-00") // which is right
		s.collectAccount(now, b, bankAccount{number: number, holder: b.customer.GivenName + " " + b.customer.FamilyName}, by)
	}
	if b.open() {
		s.confirm(now, b, false, by)
	}
	b.fate.setup = ""
	s.finish(now, b, cause{origin: byGoCardless})
}
