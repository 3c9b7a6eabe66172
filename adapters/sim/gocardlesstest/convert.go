package gocardlesstest

import (
	"maps"
	"time"
)

// stamp writes a time as the API does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// given returns nil for an empty text, which the API writes as null.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// withoutEmpty returns links without the empty links.
func withoutEmpty(links map[string]string) map[string]string {
	maps.DeleteFunc(links, func(_, id string) bool { return id == "" })
	return links
}

// copied returns a copy of metadata, which is an object even of nil.
func copied(metadata map[string]string) map[string]string {
	if metadata == nil {
		return map[string]string{}
	}
	return maps.Clone(metadata)
}

func (b *billingRequest) toWire() billingRequestWire {
	w := billingRequestWire{ID: b.id, CreatedAt: stamp(b.created), Status: b.status,
		MandateRequest: mandateRequestWire{Scheme: b.scheme, Currency: b.currency, Description: given(b.description),
			Metadata: copied(b.mandateMetadata), Verify: "when_available", AuthorisationSource: "web",
			Links: withoutEmpty(map[string]string{"mandate": b.mandateID})},
		FallbackEnabled: b.fallback, Metadata: copied(b.metadata), Actions: b.actions(),
		Resources: resourcesWire{Customer: b.customer.toWire(b.created), CustomerBillingDetail: b.billingDetail()},
		Links: withoutEmpty(map[string]string{"creditor": b.creditor, "customer": b.customer.id,
			"customer_billing_detail": b.customer.detailID, "mandate_request": b.mandateRequestID,
			"mandate_request_mandate": b.mandateID, "organisation": organisation}),
	}
	if b.account != nil {
		w.Links["customer_bank_account"] = b.account.id
		account := b.account.toWire(b.customer.id)
		w.Resources.CustomerBankAccount = &account
	}
	return w
}

func (b *billingRequest) billingDetail() billingDetailWire {
	c := b.customer
	return billingDetailWire{ID: c.detailID, CreatedAt: stamp(b.created), AddressLine1: given(c.address), City: given(c.city),
		PostalCode: given(c.postalCode), CountryCode: given(c.country), Schemes: []string{b.scheme}}
}

func (c customer) toWire(created time.Time) customerWire {
	return customerWire{ID: c.id, CreatedAt: stamp(created), GivenName: given(c.GivenName), FamilyName: given(c.FamilyName),
		CompanyName: given(c.company), Email: given(c.Email), PhoneNumber: given(c.phone), Language: "en", Metadata: copied(c.metadata)}
}

func (a *bankAccount) toWire(customerID string) customerBankAccountWire {
	return customerBankAccountWire{ID: a.id, CreatedAt: stamp(a.created), AccountHolderName: a.holder, AccountNumberEnding: a.ending(),
		BankName: a.number.BankName(), CountryCode: "NZ", Currency: "NZD", Enabled: true, Metadata: copied(a.metadata),
		Links: map[string]string{"customer": customerID}}
}

func (f *flow) toWire() flowWire {
	return flowWire{ID: f.id, AuthorisationURL: f.url, RedirectURI: given(f.redirectURI), ExitURI: given(f.exitURI),
		CreatedAt: stamp(f.created), ExpiresAt: stamp(f.expires), AutoFulfil: f.autoFulfil, LockCurrency: f.lockCurrency,
		LockCustomerDetails: f.lockCustomer, LockBankAccount: f.lockAccount, ShowRedirectButtons: f.showButtons,
		ShowSuccessButton: f.successButton, SkipSuccessScreen: f.skipSuccess, Language: given(f.language),
		PrefilledCustomer: f.prefilled, Links: map[string]string{"billing_request": f.request}}
}

func (m *mandate) toWire() mandateWire {
	w := mandateWire{ID: m.id, CreatedAt: stamp(m.created), Reference: m.reference, Status: m.status, Scheme: m.scheme,
		Metadata: copied(m.metadata), AuthorisationSource: "web",
		Links: withoutEmpty(map[string]string{"creditor": m.creditor, "customer": m.customer,
			"customer_bank_account": m.account, "new_mandate": m.replacement})}
	if !m.dead() {
		w.NextPossibleChargeDate = given(m.nextCharge.Format(time.DateOnly))
	}
	return w
}

func (e *event) toWire() eventWire {
	return eventWire{ID: e.id, CreatedAt: stamp(e.created), ResourceType: e.resource, Action: e.action, Details: e.details.toWire(),
		Metadata: copied(e.metadata), ResourceMetadata: copied(e.resourceMetadata), Links: e.links}
}

func (d details) toWire() detailsWire {
	return detailsWire{Origin: d.origin, Cause: d.cause, Description: d.description, Scheme: d.scheme, ReasonCode: d.reason}
}

func (c Creditor) toWire(created time.Time) creditorWire {
	w := creditorWire{ID: c.ID, CreatedAt: stamp(created), Name: c.Name, CountryCode: "NZ", VerificationStatus: "successful",
		SchemeIdentifiers: []schemeIdentifierWire{}, Links: map[string]string{}}
	if c.SchemeStatus != NoScheme {
		w.SchemeIdentifiers = append(w.SchemeIdentifiers, schemeIdentifierWire{ID: "SU" + c.ID[2:], CreatedAt: stamp(created), Name: c.Name,
			Scheme: scheme, Currency: currency, CountryCode: "NZ", Status: c.SchemeStatus, Reference: given(c.Reference),
			MinimumAdvanceNotice: c.MinimumAdvanceNotice})
	}
	return w
}

func (s Statistics) toWire() statisticsWire {
	return statisticsWire{s.Calls, s.Answers, s.Faults, s.WithoutKey, s.BillingRequests, s.Fulfilled, s.Mandates, s.Events,
		s.RequestsByMetadata, s.RequestsByKey, s.MandatesByMetadata, webhookStatisticsWire(s.Webhooks)}
}
