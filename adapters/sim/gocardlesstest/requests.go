package gocardlesstest

import (
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

// notPast returns the error of a billing request that is over, or is being fulfilled.
func (b *billingRequest) notPast(reason string) *apiError {
	if !b.over() && b.status != requestFulfilling {
		return nil
	}
	return wrongState(reason, "The billing request is "+b.status+", which does not allow this action")
}

func cancelBillingRequest(s *state, c *call) (answer, *apiError) {
	b, ok := s.requests[c.id]
	if !ok {
		return answer{}, notFound()
	}
	f := c.form()
	f.metadata()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	if wrong := b.notPast("billing_request_not_cancellable"); wrong != nil {
		return answer{}, wrong
	}
	s.cancel(c.now, b, cause{origin: byAPI})
	s.settle(c.now)
	return answer{id: b.id, body: b.toWire()}, nil
}
