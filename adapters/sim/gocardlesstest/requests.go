package gocardlesstest

import (
	"errors"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/money/text"
)

func createBillingRequest(s *state, c *call) (answer, *apiError) {
	f := c.form()
	b := &billingRequest{metadata: f.metadata(), key: c.key, created: c.now, status: requestPending}
	f.skip("fallback_enabled", "purpose_code", "payment_context_code", "payment_purpose_code")
	if m, ok := f.object("mandate_request"); ok {
		b.readMandateRequest(m)
	} else {
		f.fault("mandate_request", "is required: this simulator sets up mandates only")
	}
	links, _ := f.object("links")
	b.creditor = s.readCreditor(links)
	links.close()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	b.id, b.mandateRequestID = s.newID("BRQ"), s.newID("MRQ")
	b.customer.id, b.customer.detailID = s.newID("CU"), s.newID("CBD")
	s.requests[b.id] = b
	s.requestOrder = append(s.requestOrder, b)
	s.happened(c.now, b, "created", cause{origin: byAPI})
	return answer{id: b.id, body: b.toWire()}, nil
}

// readMandateRequest reads what kind of mandate is asked for.
func (b *billingRequest) readMandateRequest(m form) {
	b.description, b.mandateMetadata = m.text("description", text.Max), m.metadata()
	m.skip("verify", "authorisation_source", "consent_type", "constraints", "funds_settlement", "payer_requested_dual_signature", "sweeping")
	if wanted := m.required("currency", text.Max); wanted != "" && wanted != currency {
		m.fault("currency", "must be NZD: this simulator has no other")
	}
	if wanted := m.text("scheme", text.Max); wanted != "" && wanted != scheme {
		m.fault("scheme", "must be becs_nz: this simulator has no other")
	}
	m.close()
}

// readCreditor reads the creditor's id, which may be left out where there is only one.
func (s *state) readCreditor(links form) string {
	id := links.text("creditor", text.Max)
	switch {
	case s.creditor(id) != nil:
	case id != "":
		links.fault("creditor", "does not exist")
	case len(s.creditors) > 1:
		links.fault("creditor", "is required, since you have multiple creditors")
	default:
		id = s.creditors[0].ID
	}
	return id
}

func getBillingRequest(s *state, c *call) (answer, *apiError) {
	b, ok := s.requests[c.id]
	if !ok {
		return answer{}, notFound()
	}
	return answer{id: b.id, body: b.toWire()}, nil
}

// action reads the form of an action of a billing request. It returns why the request's state does not allow the action, and
// what carries it out.
type action func(s *state, now time.Time, b *billingRequest, f form) (wrong *apiError, do func())

// onRequest returns the handler of an action of a billing request.
func onRequest(read action) handler {
	return func(s *state, c *call) (answer, *apiError) {
		b, ok := s.requests[c.id]
		if !ok {
			return answer{}, notFound()
		}
		f := c.form()
		f.metadata()
		wrong, do := read(s, c.now, b, f)
		if err := f.err(); err != nil {
			return answer{}, err
		}
		if wrong != nil {
			return answer{}, wrong
		}
		do()
		s.settle(c.now)
		return answer{id: b.id, body: b.toWire()}, nil
	}
}

// only returns the error of a billing request that is not as an action needs it.
func (b *billingRequest) only(ok bool, reason string) *apiError {
	if ok {
		return nil
	}
	return wrongState(reason, "The billing request is "+b.status+", which does not allow this action")
}

// checkOpen returns the error of a billing request that takes no more details.
func (b *billingRequest) checkOpen() *apiError {
	return b.only(b.status == requestPending, "billing_request_not_pending")
}

func collectCustomerDetails(s *state, now time.Time, b *billingRequest, f form) (*apiError, func()) {
	person, _ := f.object("customer")
	payer := Payer{GivenName: person.text("given_name", text.Max), FamilyName: person.text("family_name", text.Max),
		Email: person.email("email")}
	person.skip("company_name", "phone_number", "language", "metadata")
	person.close()
	detail, _ := f.object("customer_billing_detail")
	detail.skip("address_line1", "address_line2", "address_line3", "city", "postal_code", "region", "country_code", "ip_address",
		"danish_identity_number", "swedish_identity_number")
	detail.close()
	return b.checkOpen(), func() { s.collectCustomer(now, b, payer, cause{origin: byAPI}) }
}

func collectBankAccount(s *state, now time.Time, b *billingRequest, f form) (*apiError, func()) {
	account := bankAccount{holder: f.text("account_holder_name", text.Max), number: readNumber(f)}
	for name, only := range map[string]string{"country_code": "NZ", "currency": currency} {
		if value := f.text(name, 3); value != "" && value != only {
			f.fault(name, "must be "+only)
		}
	}
	f.skip("account_type")
	if account.holder == "" {
		account.holder = strings.TrimSpace(b.customer.GivenName + " " + b.customer.FamilyName)
	}
	return b.checkOpen(), func() { s.collectAccount(now, b, account, cause{origin: byAPI}) }
}

// readNumber reads the four parts of an account number.
func readNumber(f form) bankaccount.Number {
	parts := []string{}
	for _, name := range []string{"bank_code", "branch_code", "account_number", "account_number_suffix"} {
		parts = append(parts, f.required(name, 10))
	}
	number, err := bankaccount.Parse(strings.Join(parts, "-"))
	switch {
	case err == nil, len(*f.faults) > 0:
	case errors.Is(err, bankaccount.ErrBank):
		f.fault("bank_code", "is invalid")
	default:
		f.fault("account_number", "did not pass modulus check")
	}
	return number
}

func confirmPayerDetails(s *state, now time.Time, b *billingRequest, f form) (*apiError, func()) {
	f.skip("payer_requested_dual_signature")
	wrong := b.checkOpen()
	if wrong == nil {
		wrong = b.only(b.collected && b.account != nil, "billing_request_actions_incomplete")
	}
	return wrong, func() { s.confirm(now, b, false, cause{origin: byAPI}) }
}

func fulfilBillingRequest(s *state, now time.Time, b *billingRequest, _ form) (*apiError, func()) {
	return b.only(b.status == requestReady, "billing_request_not_ready_to_fulfil"), func() { s.fulfil(now, b, cause{origin: byAPI}) }
}

func cancelBillingRequest(s *state, now time.Time, b *billingRequest, _ form) (*apiError, func()) {
	return b.only(!b.over() && b.status != requestFulfilling, "billing_request_not_cancellable"), func() { s.cancel(now, b, cause{origin: byAPI}) }
}
