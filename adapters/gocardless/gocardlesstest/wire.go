package gocardlesstest

import (
	"maps"
	"time"
)

// This file has the shapes of the API's JSON, and the converters to them.

type errorWire struct {
	Error errorBodyWire `json:"error"`
}

type errorBodyWire struct {
	Message          string      `json:"message"`
	Type             string      `json:"type"`
	Code             int         `json:"code"`
	DocumentationURL string      `json:"documentation_url"`
	RequestID        string      `json:"request_id"`
	Errors           []faultWire `json:"errors"`
}

type faultWire struct {
	Message        string            `json:"message"`
	Reason         string            `json:"reason,omitempty"`
	Field          string            `json:"field,omitempty"`
	RequestPointer string            `json:"request_pointer,omitempty"`
	Links          map[string]string `json:"links,omitempty"`
}

// stringErrorWire is the form of error that has no structure.
type stringErrorWire struct {
	Error string `json:"error"`
}

type billingRequestWire struct {
	ID               string             `json:"id"`
	CreatedAt        string             `json:"created_at"`
	Status           string             `json:"status"`
	MandateRequest   mandateRequestWire `json:"mandate_request"`
	PaymentRequest   *struct{}          `json:"payment_request"` // there is none
	FallbackEnabled  bool               `json:"fallback_enabled"`
	FallbackOccurred bool               `json:"fallback_occurred"`
	Metadata         map[string]string  `json:"metadata"`
	Links            map[string]string  `json:"links"`
	Resources        resourcesWire      `json:"resources"`
	Actions          []actionWire       `json:"actions"`
}

type mandateRequestWire struct {
	Scheme                      string            `json:"scheme"`
	Currency                    string            `json:"currency"`
	Description                 *string           `json:"description"`
	Metadata                    map[string]string `json:"metadata"`
	Verify                      string            `json:"verify"`
	AuthorisationSource         string            `json:"authorisation_source"`
	PayerRequestedDualSignature bool              `json:"payer_requested_dual_signature"`
	Sweeping                    bool              `json:"sweeping"`
	Links                       map[string]string `json:"links"`
}

type resourcesWire struct {
	Customer              customerWire             `json:"customer"`
	CustomerBillingDetail billingDetailWire        `json:"customer_billing_detail"`
	CustomerBankAccount   *customerBankAccountWire `json:"customer_bank_account,omitempty"`
}

type customerWire struct {
	ID          string            `json:"id"`
	CreatedAt   string            `json:"created_at"`
	GivenName   *string           `json:"given_name"`
	FamilyName  *string           `json:"family_name"`
	CompanyName *string           `json:"company_name"`
	Email       *string           `json:"email"`
	PhoneNumber *string           `json:"phone_number"`
	Language    string            `json:"language"`
	Metadata    map[string]string `json:"metadata"`
}

type billingDetailWire struct {
	ID           string   `json:"id"`
	CreatedAt    string   `json:"created_at"`
	AddressLine1 *string  `json:"address_line1"`
	City         *string  `json:"city"`
	PostalCode   *string  `json:"postal_code"`
	CountryCode  *string  `json:"country_code"`
	Schemes      []string `json:"schemes"`
}

type customerBankAccountWire struct {
	ID                  string            `json:"id"`
	CreatedAt           string            `json:"created_at"`
	AccountHolderName   string            `json:"account_holder_name"`
	AccountNumberEnding string            `json:"account_number_ending"`
	AccountType         *string           `json:"account_type"`
	BankName            string            `json:"bank_name"`
	CountryCode         string            `json:"country_code"`
	Currency            string            `json:"currency"`
	Enabled             bool              `json:"enabled"`
	Metadata            map[string]string `json:"metadata"`
	Links               map[string]string `json:"links"`
}

type actionWire struct {
	Type            string   `json:"type"`
	Required        bool     `json:"required"`
	CompletesAction []string `json:"completes_actions"`
	RequiresActions []string `json:"requires_actions"`
	Status          string   `json:"status"`
}

type flowWire struct {
	ID                  string            `json:"id"`
	AuthorisationURL    string            `json:"authorisation_url"`
	RedirectURI         *string           `json:"redirect_uri"`
	ExitURI             *string           `json:"exit_uri"`
	CreatedAt           string            `json:"created_at"`
	ExpiresAt           string            `json:"expires_at"`
	AutoFulfil          bool              `json:"auto_fulfil"`
	LockCurrency        bool              `json:"lock_currency"`
	LockCustomerDetails bool              `json:"lock_customer_details"`
	LockBankAccount     bool              `json:"lock_bank_account"`
	ShowRedirectButtons bool              `json:"show_redirect_buttons"`
	ShowSuccessButton   bool              `json:"show_success_redirect_button"`
	SkipSuccessScreen   bool              `json:"skip_success_screen"`
	CustomerCaptured    bool              `json:"customer_details_captured"`
	Language            *string           `json:"language"`
	PrefilledCustomer   map[string]string `json:"prefilled_customer"`
	SessionToken        *string           `json:"session_token"`
	Links               map[string]string `json:"links"`
}

type mandateWire struct {
	ID                      string            `json:"id"`
	CreatedAt               string            `json:"created_at"`
	Reference               string            `json:"reference"`
	Status                  string            `json:"status"`
	Scheme                  string            `json:"scheme"`
	NextPossibleChargeDate  *string           `json:"next_possible_charge_date"`
	PaymentsRequireApproval bool              `json:"payments_require_approval"`
	Metadata                map[string]string `json:"metadata"`
	AuthorisationSource     string            `json:"authorisation_source"`
	VerifiedAt              *string           `json:"verified_at"`
	Links                   map[string]string `json:"links"`
}

type mandatePDFWire struct {
	URL       string `json:"url"`
	ExpiresAt string `json:"expires_at"`
}

type scenarioWire struct {
	ID string `json:"id"`
}

type eventWire struct {
	ID               string            `json:"id"`
	CreatedAt        string            `json:"created_at"`
	ResourceType     string            `json:"resource_type"`
	Action           string            `json:"action"`
	Details          detailsWire       `json:"details"`
	Metadata         map[string]string `json:"metadata"`
	ResourceMetadata map[string]string `json:"resource_metadata"`
	Links            map[string]string `json:"links"`
}

type detailsWire struct {
	Origin      string `json:"origin"`
	Cause       string `json:"cause"`
	Description string `json:"description"`
	Scheme      string `json:"scheme,omitempty"`
	ReasonCode  string `json:"reason_code,omitempty"`
}

type creditorWire struct {
	ID                  string                 `json:"id"`
	CreatedAt           string                 `json:"created_at"`
	Name                string                 `json:"name"`
	CountryCode         string                 `json:"country_code"`
	VerificationStatus  string                 `json:"verification_status"`
	CanCreateRefunds    bool                   `json:"can_create_refunds"`
	BankReferencePrefix string                 `json:"bank_reference_prefix,omitempty"`
	SchemeIdentifiers   []schemeIdentifierWire `json:"scheme_identifiers"`
	Links               map[string]string      `json:"links"`
}

type schemeIdentifierWire struct {
	ID                         string  `json:"id"`
	CreatedAt                  string  `json:"created_at"`
	Name                       string  `json:"name"`
	Scheme                     string  `json:"scheme"`
	Currency                   string  `json:"currency"`
	CountryCode                string  `json:"country_code"`
	Status                     string  `json:"status"`
	Reference                  *string `json:"reference"`
	MinimumAdvanceNotice       int     `json:"minimum_advance_notice"`
	CanSpecifyMandateReference bool    `json:"can_specify_mandate_reference"`
}

type metaWire struct {
	Cursors cursorsWire `json:"cursors"`
	Limit   int         `json:"limit"`
}

type cursorsWire struct {
	Before *string `json:"before"`
	After  *string `json:"after"`
}

// webhookWire is the body of a notification.
type webhookWire struct {
	Events []eventWire     `json:"events"`
	Meta   webhookMetaWire `json:"meta"`
}

type webhookMetaWire struct {
	WebhookID string `json:"webhook_id"`
}

// stamp writes a time as the API does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// given returns nil for an empty text, which the API writes as null.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// withoutEmpty returns links without those that lead nowhere.
func withoutEmpty(links map[string]string) map[string]string {
	maps.DeleteFunc(links, func(_, id string) bool { return id == "" })
	return links
}

// copied returns a copy of metadata that is an object even where there is none.
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
