package gocardlesstest

import (
	"maps"
	"time"
)

// object is a JSON object of the API.
type object = map[string]any

// stamp writes a time as the API does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// given returns nil for an empty text, which the API writes as null.
func given(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// withoutEmpty returns links without the empty links.
func withoutEmpty(links map[string]string) map[string]string {
	maps.DeleteFunc(links, func(_, id string) bool { return id == "" })
	return links
}

// copied returns a copy of metadata, which is an object even of nil.
func copied(metadata map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, metadata)
	return all
}

func (b *billingRequest) toWire() object {
	c, created := b.customer, stamp(b.created)
	resources := object{
		"customer": object{"id": c.id, "created_at": created, "given_name": given(c.GivenName), "family_name": given(c.FamilyName),
			"company_name": nil, "email": given(c.Email), "phone_number": nil, "language": "en", "metadata": object{}},
		"customer_billing_detail": object{"id": c.detailID, "created_at": created, "address_line1": nil, "city": nil,
			"postal_code": nil, "country_code": "NZ", "schemes": []string{scheme}},
	}
	links := map[string]string{"creditor": b.creditor, "customer": c.id, "customer_billing_detail": c.detailID,
		"mandate_request": b.mandateRequestID, "mandate_request_mandate": b.mandateID, "organisation": organisation}
	if a := b.account; a != nil {
		links["customer_bank_account"] = a.id
		resources["customer_bank_account"] = object{"id": a.id, "created_at": stamp(a.created), "account_holder_name": a.holder,
			"account_number_ending": a.ending(), "account_type": nil, "bank_name": a.number.BankName(), "country_code": "NZ",
			"currency": currency, "enabled": true, "metadata": object{}, "links": object{"customer": c.id}}
	}
	return object{"id": b.id, "created_at": created, "status": b.status, "payment_request": nil, "fallback_enabled": false,
		"fallback_occurred": false, "metadata": copied(b.metadata), "links": withoutEmpty(links), "resources": resources,
		"actions": b.actions(),
		"mandate_request": object{"scheme": scheme, "currency": currency, "description": given(b.description),
			"metadata": copied(b.mandateMetadata), "verify": "when_available", "authorisation_source": "web",
			"payer_requested_dual_signature": false, "sweeping": false,
			"links": withoutEmpty(map[string]string{"mandate": b.mandateID})},
	}
}

// actions lists what is to be done before the billing request can be fulfilled.
func (b *billingRequest) actions() (all []object) {
	const currency, details, account = "choose_currency", "collect_customer_details", "collect_bank_account"
	for _, a := range []struct {
		kind                string
		completes, requires []string
		done                bool
	}{
		{currency, []string{}, []string{}, true},
		{details, []string{}, []string{currency}, b.collected},
		{account, []string{currency}, []string{currency, details}, b.account != nil},
		{"confirm_payer_details", []string{}, []string{details, account}, b.confirmed},
	} {
		status := "pending"
		if a.done {
			status = "completed"
		}
		all = append(all, object{"type": a.kind, "required": true, "completes_actions": a.completes, "requires_actions": a.requires,
			"status": status})
	}
	return all
}

func (f *flow) toWire() object {
	w := object{"id": f.id, "authorisation_url": f.url, "redirect_uri": given(f.redirectURI), "exit_uri": given(f.exitURI),
		"created_at": stamp(f.created), "expires_at": stamp(f.expires), "customer_details_captured": false,
		"language": given(f.language), "prefilled_customer": f.prefilled, "session_token": nil,
		"links": object{"billing_request": f.request}}
	for name, value := range f.flags {
		w[name] = value
	}
	return w
}

func (m *mandate) toWire() object {
	w := object{"id": m.id, "created_at": stamp(m.created), "reference": m.reference, "status": m.status, "scheme": scheme,
		"next_possible_charge_date": nil, "payments_require_approval": false, "metadata": copied(m.metadata),
		"authorisation_source": "web", "verified_at": nil,
		"links": withoutEmpty(map[string]string{"creditor": m.creditor, "customer": m.customer, "customer_bank_account": m.account,
			"new_mandate": m.replacement})}
	if !m.dead() {
		w["next_possible_charge_date"] = m.nextCharge.Format(time.DateOnly)
	}
	return w
}

func (e *event) toWire() object {
	why := withoutEmpty(map[string]string{"scheme": e.details.scheme, "reason_code": e.details.reason})
	why["origin"], why["cause"], why["description"] = e.details.origin, e.details.cause, e.details.description
	return object{"id": e.id, "created_at": stamp(e.created), "resource_type": e.resource, "action": e.action, "details": why,
		"metadata": object{}, "resource_metadata": copied(e.metadata), "links": e.links}
}

func (c Creditor) toWire(opened time.Time) object {
	schemes := []object{}
	if c.SchemeStatus != NoScheme {
		schemes = append(schemes, object{"id": "SU" + c.ID[2:], "created_at": stamp(opened), "name": c.SchemeName, "scheme": scheme,
			"currency": currency, "country_code": "NZ", "status": c.SchemeStatus, "reference": given(c.Reference),
			"minimum_advance_notice": c.MinimumAdvanceNotice, "can_specify_mandate_reference": false, "address_line1": nil,
			"address_line2": nil, "address_line3": nil, "city": nil, "region": nil, "postal_code": nil, "phone_number": nil, "email": nil})
	}
	return object{"id": c.ID, "created_at": stamp(opened), "name": c.Name, "country_code": "NZ", "verification_status": "successful",
		"address_line1": nil, "address_line2": nil, "address_line3": nil, "city": nil, "region": nil, "postal_code": nil, "logo_url": nil,
		"bank_reference_prefix": nil, "creditor_type": "company", "fx_payout_currency": currency, "can_create_refunds": false,
		"mandate_imports_enabled": false, "custom_payment_pages_enabled": false, "merchant_responsible_for_notifications": false,
		"scheme_identifiers": schemes, "links": object{}}
}

// fault is one of the mistakes that an error of the API names.
type fault struct {
	Message        string            `json:"message"`
	Reason         string            `json:"reason,omitempty"`
	Field          string            `json:"field,omitempty"`
	RequestPointer string            `json:"request_pointer,omitempty"`
	Links          map[string]string `json:"links,omitempty"`
}

// The bodies of the control path.

type endpointWire struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

type webhookFaultsWire struct {
	Drop      float64 `json:"drop"`
	Duplicate float64 `json:"duplicate"`
	Late      float64 `json:"late"`
	Shuffle   bool    `json:"shuffle"`
	Delay     string  `json:"delay"`
}

type mandateMoveWire struct {
	Status     string `json:"status"`
	ReasonCode string `json:"reason_code"`
}

type payerWire struct {
	GivenName  string `json:"given_name"`
	FamilyName string `json:"family_name"`
	Email      string `json:"email"`
	Holder     string `json:"account_holder_name"`
	Account    string `json:"account_number"`
}

type schemeMoveWire struct {
	Status string `json:"scheme_status"`
	Notice int    `json:"minimum_advance_notice"`
}

// Statistics counts the work of a simulator so far.
type Statistics struct {
	Calls      map[string]int    `json:"calls"`   // by route: "POST /billing_requests", "GET /mandates/{id}", or "other"
	Answers    map[string]int    `json:"answers"` // by route and status: "POST /billing_requests 201"; without calls that hung or were reset
	Faults     map[FaultKind]int `json:"faults"`
	WithoutKey int               `json:"without_idempotency_key"` // calls that changed something and came without an Idempotency-Key

	BillingRequests int `json:"billing_requests"`
	Fulfilled       int `json:"fulfilled"` // billing requests
	Mandates        int `json:"mandates"`
	Events          int `json:"events"`

	// How many billing requests were created with each metadata ("checkout_id=CHK1") and each Idempotency-Key, and how many
	// mandates there are of billing requests with each metadata. A mandate that stands in another's place does not count.
	RequestsByMetadata map[string]int `json:"billing_requests_by_metadata"`
	RequestsByKey      map[string]int `json:"billing_requests_by_idempotency_key"`
	MandatesByMetadata map[string]int `json:"mandates_by_metadata"`

	Webhooks WebhookStatistics `json:"webhooks"`
}

// WebhookStatistics counts notifications by their outcome.
type WebhookStatistics struct {
	Sent      int `json:"sent"`      // attempts
	Accepted  int `json:"accepted"`  // attempts that were answered 2xx
	Refused   int `json:"refused"`   // attempts that were answered otherwise
	Failed    int `json:"failed"`    // attempts without an answer
	Abandoned int `json:"abandoned"` // notifications that were never accepted
	Dropped   int `json:"dropped"`   // notifications that were never sent, by a fault
}
