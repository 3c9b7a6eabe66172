package gocardlesstest

import (
	"maps"
	"net/http"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/money/text"
)

func createBillingRequest(s *state, c *call) (answer, *apiError) {
	f := c.form()
	b := &billingRequest{metadata: f.metadata(), fallback: f.flag("fallback_enabled", false), key: c.key, created: c.now,
		status: requestPending}
	f.skip("purpose_code", "payment_context_code", "payment_purpose_code")
	if m, ok := f.object("mandate_request"); ok {
		b.readMandateRequest(m)
	} else {
		f.fault("mandate_request", "is required: this simulator sets up mandates only")
	}
	links, _ := f.object("links")
	b.creditor = s.readCreditor(links)
	if id := links.text("customer", text.Max); id != "" {
		links.fault("customer", "is not supported by this simulator")
	}
	links.closed()
	f.closed()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	b.id, b.mandateRequestID = s.newID("BRQ"), s.newID("MRQ")
	b.customer.id, b.customer.detailID = s.newID("CU"), s.newID("CBD")
	s.requests[b.id] = b
	s.requestOrder = append(s.requestOrder, b)
	s.happened(c.now, b, "created", cause{origin: byAPI})
	return answer{http.StatusCreated, resourceBillingRequests, b.toWire(), b.id}, nil
}

// readMandateRequest reads what kind of mandate is asked for.
func (b *billingRequest) readMandateRequest(m form) {
	b.scheme, b.currency = m.text("scheme", text.Max), m.required("currency", text.Max)
	b.description, b.mandateMetadata = m.text("description", text.Max), m.metadata()
	m.skip("verify", "authorisation_source", "consent_type", "constraints", "funds_settlement", "payer_requested_dual_signature", "sweeping")
	m.closed()
	if b.scheme == "" {
		b.scheme = scheme
	}
	if b.currency != "" && b.currency != currency {
		m.fault("currency", "must be NZD: this simulator has no other")
	}
	if b.scheme != scheme {
		m.fault("scheme", "must be becs_nz: this simulator has no other")
	}
}

// readCreditor reads the creditor's id, which may be left out where there is only one.
func (s *state) readCreditor(links form) string {
	id := links.text("creditor", text.Max)
	switch _, known := s.creditor(id); {
	case known:
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
	return answer{http.StatusOK, resourceBillingRequests, b.toWire(), b.id}, nil
}

// onRequest returns the handler of an action of a billing request, which do carries out if the form is right.
func onRequest(do func(s *state, c *call, b *billingRequest, f form, by cause) *apiError) handler {
	return func(s *state, c *call) (answer, *apiError) {
		b, ok := s.requests[c.id]
		if !ok {
			return answer{}, notFound()
		}
		f := c.form()
		if err := do(s, c, b, f, cause{origin: byAPI, metadata: f.metadata()}); err != nil {
			return answer{}, err
		}
		s.settle(c.now)
		return answer{http.StatusOK, resourceBillingRequests, b.toWire(), b.id}, nil
	}
}

// checkOpen returns the error of a billing request that takes no more details.
func (b *billingRequest) checkOpen() *apiError {
	if b.open() {
		return nil
	}
	return wrongState("billing_request_not_pending", "The billing request is "+b.status+", not pending")
}

func collectCustomerDetails(s *state, c *call, b *billingRequest, f form, by cause) *apiError {
	given := readCustomer(f)
	f.closed()
	if err := f.err(); err != nil {
		return err
	}
	if err := b.checkOpen(); err != nil {
		return err
	}
	s.collectCustomer(c.now, b, given, by)
	return nil
}

// readCustomer reads the details of a customer.
func readCustomer(f form) customer {
	person, _ := f.object("customer")
	given := customer{Payer: Payer{GivenName: person.text("given_name", text.Max), FamilyName: person.text("family_name", text.Max),
		Email: person.email("email")}, company: person.text("company_name", text.Max), phone: person.text("phone_number", text.Max),
		metadata: person.metadata()}
	person.skip("language")
	person.closed()
	detail, _ := f.object("customer_billing_detail")
	given.address, given.city = detail.text("address_line1", text.Max), detail.text("city", text.Max)
	given.postalCode, given.country = detail.text("postal_code", text.Max), detail.text("country_code", 2)
	detail.skip("address_line2", "address_line3", "region", "ip_address", "danish_identity_number", "swedish_identity_number")
	detail.closed()
	return given
}

func collectBankAccount(s *state, c *call, b *billingRequest, f form, by cause) *apiError {
	account := bankAccount{holder: f.text("account_holder_name", text.Max), metadata: maps.Clone(by.metadata)}
	if country := f.text("country_code", 2); country != "" && country != "NZ" {
		f.fault("country_code", "must be NZ")
	}
	if money := f.text("currency", 3); money != "" && money != currency {
		f.fault("currency", "must be NZD")
	}
	f.skip("account_type")
	account.number = readNumber(f)
	f.closed()
	if err := f.err(); err != nil {
		return err
	}
	if err := b.checkOpen(); err != nil {
		return err
	}
	if account.holder == "" {
		account.holder = strings.TrimSpace(b.customer.GivenName + " " + b.customer.FamilyName)
	}
	s.collectAccount(c.now, b, account, by)
	return nil
}

// readNumber reads the four parts of an account number.
func readNumber(f form) bankaccount.Number {
	parts := []string{}
	for _, name := range []string{"bank_code", "branch_code", "account_number", "account_number_suffix"} {
		parts = append(parts, f.required(name, 10))
	}
	if len(*f.faults) > 0 {
		return bankaccount.Number{}
	}
	number, err := bankaccount.Parse(strings.Join(parts, "-"))
	switch err {
	case nil:
	case bankaccount.ErrBank:
		f.fault("bank_code", "is invalid")
	default:
		f.fault("account_number", "did not pass modulus check")
	}
	return number
}

func confirmPayerDetails(s *state, c *call, b *billingRequest, f form, by cause) *apiError {
	f.skip("payer_requested_dual_signature")
	f.closed()
	if err := f.err(); err != nil {
		return err
	}
	if err := b.checkOpen(); err != nil {
		return err
	}
	if !b.collected || b.account == nil {
		return wrongState("billing_request_actions_incomplete", "The customer's details and bank account must be collected first")
	}
	s.confirm(c.now, b, false, by)
	return nil
}

func fulfilBillingRequest(s *state, c *call, b *billingRequest, f form, by cause) *apiError {
	f.closed()
	if err := f.err(); err != nil {
		return err
	}
	if b.status != requestReady {
		return wrongState("billing_request_not_ready_to_fulfil", "The billing request is "+b.status+", not ready_to_fulfil")
	}
	s.fulfil(c.now, b, by)
	return nil
}

func cancelBillingRequest(s *state, c *call, b *billingRequest, f form, by cause) *apiError {
	f.closed()
	if err := f.err(); err != nil {
		return err
	}
	if b.over() || b.status == requestFulfilling {
		return wrongState("billing_request_not_cancellable", "The billing request is "+b.status+" and cannot be cancelled")
	}
	s.cancel(c.now, b, by)
	return nil
}
