package main

import (
	"encoding/hex"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The objects of the export. Fields are named as in the contract and the provider file; one
// without a value is left out. No secret, token or key stands in any of them.

type providerWire struct {
	Kind             string       `json:"kind"`
	ProviderCode     string       `json:"provider_code"`
	Name             string       `json:"name"`
	AccountID        string       `json:"account_id"`
	Environment      string       `json:"environment"`
	Active           bool         `json:"active"`
	APIEnabled       bool         `json:"api_enabled"`
	Mode             string       `json:"mode"` // catalogue or legacy
	EnrolmentOrigins []string     `json:"enrolment_origins,omitempty"`
	SuccessURL       string       `json:"success_url,omitempty"`
	CancelURL        string       `json:"cancel_url,omitempty"`
	Branding         brandingWire `json:"branding,omitzero"`
	Webhook          webhookWire  `json:"webhook,omitzero"`
}

type brandingWire struct {
	DisplayName   string `json:"display_name,omitempty"`
	PrimaryColour string `json:"primary_colour,omitempty"`
	LogoURL       string `json:"logo_url,omitempty"`
	SupportEmail  string `json:"support_email,omitempty"`
}

type webhookWire struct {
	URL string `json:"url"`
}

type courseWire struct {
	Kind         string       `json:"kind"`
	ProviderCode string       `json:"provider_code"`
	CourseCode   string       `json:"course_code"`
	CourseName   string       `json:"course_name"`
	CoursePrice  amount       `json:"course_price"`
	Upfront      amount       `json:"upfront_payment"`
	Active       bool         `json:"active"`
	Environment  string       `json:"environment"`
	Plans        []optionWire `json:"plans"`
}

type optionWire struct {
	Frequency string `json:"payment_frequency"`
	Number    int    `json:"number_of_instalments,omitzero"`
	Amount    amount `json:"instalment_amount,omitzero"`
}

type keyWire struct {
	Kind         string `json:"kind"`
	KeyID        string `json:"key_id"`
	ProviderCode string `json:"provider_code"`
	Environment  string `json:"environment"`
	CreatedAt    string `json:"created_at"`
	RevokedAt    string `json:"revoked_at,omitempty"`
}

type checkoutWire struct {
	Kind             string      `json:"kind"`
	CheckoutID       string      `json:"checkout_id"`
	ProviderCode     string      `json:"provider_code"`
	OrderID          string      `json:"provider_order_id"`
	IdempotencyKey   string      `json:"idempotency_key,omitempty"`
	RequestID        string      `json:"request_id"`
	CreatedAt        string      `json:"created_at"`
	Status           string      `json:"status"`
	ContactID        string      `json:"contact_id"`
	OpportunityID    string      `json:"opportunity_id"`
	DDAID            string      `json:"dda_id"`
	CourseCode       string      `json:"course_code,omitempty"`
	CourseName       string      `json:"course_name"`
	Pricing          pricingWire `json:"pricing"`
	Plan             planWire    `json:"plan"`
	SetupTokens      []tokenWire `json:"setup_tokens,omitempty"`
	ConfirmedAt      string      `json:"confirmed_at,omitempty"`
	ConfirmRequestID string      `json:"confirm_request_id,omitempty"`
	AgreementID      string      `json:"agreement_id,omitempty"`
}

type pricingWire struct {
	CoursePrice amount `json:"course_price"`
	Principal   amount `json:"amount_to_finance"`
	Upfront     amount `json:"upfront_payment"`
}

type planWire struct {
	PaymentType  string `json:"payment_type"`
	Frequency    string `json:"payment_frequency"`
	Number       int    `json:"number_of_instalments"`
	Regular      amount `json:"instalment_amount"`
	Final        amount `json:"final_instalment_amount,omitzero"`
	FirstPayment string `json:"first_payment_date"`
}

// tokenWire tells of a setup token without telling it.
type tokenWire struct {
	Epoch   int    `json:"epoch"`
	Expires string `json:"expires_at"`
}

type contactWire struct {
	Kind       string `json:"kind"`
	ContactID  string `json:"contact_id"`
	CheckoutID string `json:"checkout_id"`
	FirstName  string `json:"first_name"`
	LastName   string `json:"last_name"`
	Email      string `json:"email"`
}

type opportunityWire struct {
	Kind            string `json:"kind"`
	OpportunityID   string `json:"opportunity_id"`
	CheckoutID      string `json:"checkout_id"`
	ContactID       string `json:"contact_id"`
	ProviderCode    string `json:"provider_code"`
	CourseCode      string `json:"course_code,omitempty"`
	CourseName      string `json:"course_name"`
	EnrolmentStatus string `json:"enrolment_status,omitempty"`
}

type ddaWire struct {
	Kind             string `json:"kind"`
	DDAID            string `json:"dda_id"`
	CheckoutID       string `json:"checkout_id"`
	OpportunityID    string `json:"opportunity_id"`
	ContactID        string `json:"contact_id"`
	SetupComplete    bool   `json:"setup_complete"`
	Try              int    `json:"try,omitzero"`
	BillingRequestID string `json:"billing_request_id,omitempty"`
	BillingRequest   string `json:"billing_request_status"`
	Mandate          string `json:"mandate_status,omitempty"`
	Authorisation    string `json:"authorisation_status"`
	Authorised       bool   `json:"authorised"`
	AccountHolder    string `json:"account_holder_name,omitempty"`
	AccountTail      string `json:"account_number_ending,omitempty"`
	CompletedAt      string `json:"completed_at,omitempty"`
}

type agreementWire struct {
	Kind          string      `json:"kind"`
	AgreementID   string      `json:"agreement_id"`
	Number        string      `json:"agreement_number"`
	Version       string      `json:"agreement_version"`
	CheckoutID    string      `json:"checkout_id"`
	OpportunityID string      `json:"opportunity_id"`
	DDAID         string      `json:"dda_id"`
	AcceptedAt    string      `json:"accepted_at"`
	PDFGenerated  bool        `json:"pdf_generated"`
	ProviderCode  string      `json:"provider_code"`
	ProviderName  string      `json:"provider_name"`
	FirstName     string      `json:"first_name"`
	LastName      string      `json:"last_name"`
	Email         string      `json:"email"`
	CourseCode    string      `json:"course_code,omitempty"`
	CourseName    string      `json:"course_name"`
	Pricing       pricingWire `json:"pricing"`
	Plan          planWire    `json:"plan"`
	AccountHolder string      `json:"account_holder_name"`
	AccountTail   string      `json:"account_number_ending"`
	AuthorisedAt  string      `json:"authorised_at"`
	Lender        lenderWire  `json:"lender,omitzero"`
	Terms         []blockWire `json:"terms,omitempty"`
}

type lenderWire struct {
	Name         string `json:"name"`
	Address      string `json:"address"`
	Registration string `json:"registration,omitempty"`
}

type blockWire struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type documentWire struct {
	Kind            string `json:"kind"`
	DocumentID      string `json:"document_id"`
	CheckoutID      string `json:"checkout_id"`
	AgreementNumber string `json:"agreement_number"`
	SHA256          string `json:"sha256"`
	Size            int    `json:"size"`
}

type chargeWire struct {
	Kind          string `json:"kind"`
	CheckoutID    string `json:"checkout_id"`
	OpportunityID string `json:"opportunity_id"`
	Sequence      int    `json:"sequence"`
	Type          string `json:"type"`
	DueDate       string `json:"due_date"`
	Amount        amount `json:"amount"`
}

type eventWire struct {
	Kind         string `json:"kind"`
	EventID      string `json:"event_id"`
	Event        string `json:"event"`
	CheckoutID   string `json:"checkout_id"`
	ProviderCode string `json:"provider_code"`
	OrderID      string `json:"provider_order_id"`
	RequestID    string `json:"request_id"`
	CreatedAt    string `json:"created_at"`
	Status       string `json:"status"`
	Attempts     int    `json:"attempts"`
	Body         string `json:"body"` // byte for byte what is signed and sent
}

// amount is a JSON number of dollars with two decimals.
type amount money.Cents

func (a amount) MarshalJSON() ([]byte, error) { return []byte(money.Cents(a).String()), nil }

// instant writes a time as the events do, or nothing for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func wireProvider(p catalogue.Provider) providerWire {
	return providerWire{
		Kind:             "provider",
		ProviderCode:     p.Code,
		Name:             p.Name,
		AccountID:        p.AccountID,
		Environment:      string(p.Environment),
		Active:           p.Active,
		APIEnabled:       p.APIEnabled,
		Mode:             string(p.Mode),
		EnrolmentOrigins: p.EnrolmentOrigins,
		SuccessURL:       p.SuccessURL,
		CancelURL:        p.CancelURL,
		Branding:         brandingWire(p.Branding),
		Webhook:          webhookWire{p.Destination.URL},
	}
}

func wireCourse(provider string, c catalogue.Course) courseWire {
	plans := make([]optionWire, len(c.Options))
	for i, o := range c.Options {
		plans[i] = optionWire{string(o.Frequency), o.Number, amount(o.Amount)}
	}
	return courseWire{
		Kind:         "course",
		ProviderCode: provider,
		CourseCode:   c.Code,
		CourseName:   c.Name,
		CoursePrice:  amount(c.Price),
		Upfront:      amount(c.Upfront),
		Active:       c.Active,
		Environment:  string(c.Environment),
		Plans:        plans,
	}
}

func wireKey(k catalogue.Key) keyWire {
	return keyWire{"key", k.ID, k.Provider, string(k.Environment), instant(k.CreatedAt), instant(k.RevokedAt)}
}

func wireCheckout(c checkout.Checkout) checkoutWire {
	tokens := make([]tokenWire, len(c.Tokens))
	for i, t := range c.Tokens {
		tokens[i] = tokenWire{t.Epoch, instant(t.Expires)}
	}
	return checkoutWire{
		Kind:             "checkout",
		CheckoutID:       c.ID,
		ProviderCode:     c.ProviderCode,
		OrderID:          c.OrderID,
		IdempotencyKey:   c.IdempotencyKey,
		RequestID:        c.RequestID,
		CreatedAt:        instant(c.CreatedAt),
		Status:           string(c.Status),
		ContactID:        c.Records.ContactID,
		OpportunityID:    c.Records.OpportunityID,
		DDAID:            c.Records.DDAID,
		CourseCode:       c.CourseCode,
		CourseName:       c.Intent.CourseName,
		Pricing:          wirePricing(c.Intent.Pricing),
		Plan:             wirePlan(c.Intent.Plan),
		SetupTokens:      tokens,
		ConfirmedAt:      instant(c.Confirmation.At),
		ConfirmRequestID: c.Confirmation.RequestID,
		AgreementID:      c.Confirmation.AgreementID,
	}
}

func wirePricing(p money.Pricing) pricingWire {
	return pricingWire{amount(p.Price), amount(p.Principal), amount(p.Upfront)}
}

func wirePlan(p money.Plan) planWire {
	w := planWire{
		PaymentType:  checkout.PaymentType,
		Frequency:    string(p.Frequency),
		Number:       p.Number,
		Regular:      amount(p.Regular),
		FirstPayment: p.First.String(),
	}
	if p.Residual() {
		w.Final = amount(p.Final)
	}
	return w
}

func wireContact(c checkout.Checkout) contactWire {
	return contactWire{"contact", c.Records.ContactID, c.ID, c.Student.FirstName, c.Student.LastName, c.Student.Email}
}

func wireOpportunity(c checkout.Checkout) opportunityWire {
	w := opportunityWire{
		Kind:          "opportunity",
		OpportunityID: c.Records.OpportunityID,
		CheckoutID:    c.ID,
		ContactID:     c.Records.ContactID,
		ProviderCode:  c.ProviderCode,
		CourseCode:    c.CourseCode,
		CourseName:    c.Intent.CourseName,
	}
	if c.Status == checkout.Confirmed {
		w.EnrolmentStatus = "complete"
	}
	return w
}

func wireDDA(c checkout.Checkout) ddaWire {
	return ddaWire{
		Kind:             "dda",
		DDAID:            c.Records.DDAID,
		CheckoutID:       c.ID,
		OpportunityID:    c.Records.OpportunityID,
		ContactID:        c.Records.ContactID,
		SetupComplete:    c.SetupComplete(),
		Try:              c.Setup.Try,
		BillingRequestID: c.Setup.BillingRequestID,
		BillingRequest:   string(c.Setup.BillingRequest),
		Mandate:          string(c.Setup.Mandate),
		Authorisation:    string(c.Setup.Authorisation),
		Authorised:       c.Setup.Authorisation == checkout.Authorised,
		AccountHolder:    c.Setup.AccountHolder,
		AccountTail:      c.Setup.AccountTail,
		CompletedAt:      instant(c.Setup.CompletedAt),
	}
}

func wireAgreement(c checkout.Checkout, a agreement.Agreement) agreementWire {
	var terms []blockWire
	for _, b := range a.Terms.Blocks {
		terms = append(terms, blockWire(b))
	}
	return agreementWire{
		Kind:          "agreement",
		AgreementID:   a.ID,
		Number:        a.Number,
		Version:       a.Version,
		CheckoutID:    c.ID,
		OpportunityID: c.Records.OpportunityID,
		DDAID:         c.Records.DDAID,
		AcceptedAt:    instant(a.AcceptedAt),
		PDFGenerated:  c.Confirmation.PDFGenerated(),
		ProviderCode:  a.Provider.Code,
		ProviderName:  a.Provider.Name,
		FirstName:     a.Student.FirstName,
		LastName:      a.Student.LastName,
		Email:         a.Student.Email,
		CourseCode:    a.Course.Code,
		CourseName:    a.Course.Name,
		Pricing:       wirePricing(a.Pricing),
		Plan:          wirePlan(a.Plan),
		AccountHolder: a.DirectDebit.AccountHolder,
		AccountTail:   a.DirectDebit.AccountTail,
		AuthorisedAt:  instant(a.DirectDebit.AuthorisedAt),
		Lender:        lenderWire(a.Terms.Lender),
		Terms:         terms,
	}
}

func wireDocument(c checkout.Checkout, d ports.DocumentInfo) documentWire {
	return documentWire{"document", d.ID, c.ID, c.Confirmation.AgreementNumber, hex.EncodeToString(d.SHA256[:]), d.Size}
}

func wireCharge(c checkout.Checkout, m money.Charge) chargeWire {
	return chargeWire{"charge", c.ID, c.Records.OpportunityID, m.Sequence, string(m.Type), m.Due.String(), amount(m.Amount)}
}

func wireEvent(e ports.EventRecord) eventWire {
	return eventWire{
		Kind:         "event",
		EventID:      e.Event.ID,
		Event:        string(e.Event.Name),
		CheckoutID:   e.Event.CheckoutID,
		ProviderCode: e.Event.ProviderCode,
		OrderID:      e.Event.OrderID,
		RequestID:    e.Event.RequestID,
		CreatedAt:    instant(e.Event.CreatedAt),
		Status:       string(e.Status),
		Attempts:     e.Attempts,
		Body:         string(e.Event.Body),
	}
}
