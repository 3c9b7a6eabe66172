package jsonlines

import "github.com/provider-checkout/provider-checkout/money"

// The objects of the export. A field without a value is left out. No secret, token or key is in any of them.

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
	NoticeDays       int          `json:"notice_days,omitzero"`
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
	ErasedAt         string      `json:"erased_at,omitempty"` // the personal data was
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

// tokenWire describes a setup token without revealing it.
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
	Kind             string      `json:"kind"`
	DDAID            string      `json:"dda_id"`
	CheckoutID       string      `json:"checkout_id"`
	OpportunityID    string      `json:"opportunity_id"`
	ContactID        string      `json:"contact_id"`
	SetupComplete    bool        `json:"setup_complete"`
	Try              int         `json:"try,omitzero"`
	BillingRequestID string      `json:"billing_request_id,omitempty"`
	BillingRequest   string      `json:"billing_request_status"`
	Mandate          string      `json:"mandate_status,omitempty"`
	MandateID        string      `json:"mandate_id,omitempty"`
	MandateSince     string      `json:"mandate_since,omitempty"`
	MandateReason    string      `json:"mandate_reason_code,omitempty"` // the processor's, such as DISHONOUR-AC05
	Authorisation    string      `json:"authorisation_status"`
	Authorised       bool        `json:"authorised"`
	AccountHolder    string      `json:"account_holder_name,omitempty"`
	AccountMask      string      `json:"account_mask,omitempty"`
	CompletedAt      string      `json:"completed_at,omitempty"`
	Consent          consentWire `json:"consent,omitzero"`
}

// consentWire is the evidence that the payer accepted the direct debit terms.
type consentWire struct {
	At         string `json:"accepted_at"`
	From       string `json:"network_address,omitempty"`
	Terms      string `json:"terms,omitempty"`
	NoticeDays int    `json:"notice_days,omitzero"`
}

type agreementWire struct {
	Kind          string         `json:"kind"`
	AgreementID   string         `json:"agreement_id"`
	Number        string         `json:"agreement_number"`
	Version       string         `json:"agreement_version"`
	CheckoutID    string         `json:"checkout_id"`
	OpportunityID string         `json:"opportunity_id"`
	DDAID         string         `json:"dda_id"`
	AcceptedAt    string         `json:"accepted_at"`
	Sandbox       bool           `json:"sandbox,omitzero"`
	PDFGenerated  bool           `json:"pdf_generated"`
	ProviderCode  string         `json:"provider_code"`
	ProviderName  string         `json:"provider_name"`
	FirstName     string         `json:"first_name"`
	LastName      string         `json:"last_name"`
	Email         string         `json:"email"`
	CourseCode    string         `json:"course_code,omitempty"`
	CourseName    string         `json:"course_name"`
	Pricing       pricingWire    `json:"pricing"`
	Plan          planWire       `json:"plan"`
	AccountHolder string         `json:"account_holder_name"`
	AccountMask   string         `json:"account_mask,omitempty"`
	AuthorisedAt  string         `json:"authorised_at"`
	Consent       consentWire    `json:"consent,omitzero"`
	NoticeDays    int            `json:"notice_days,omitzero"`
	NotBefore     string         `json:"not_before,omitempty"` // the first day on which a payment may be collected
	Lender        lenderWire     `json:"lender,omitzero"`
	Fees          *[]feeWire     `json:"fees,omitempty"` // nil: the terms do not state them
	DefaultFees   *[]feeWire     `json:"default_fees,omitempty"`
	Authority     *authorityWire `json:"authority,omitempty"`
	Terms         []blockWire    `json:"terms,omitempty"`
}

type feeWire struct {
	Name   string `json:"name"`
	Amount amount `json:"amount"`
	When   string `json:"when"`
}

// authorityWire is the direct debit authority in the operator's terms.
type authorityWire struct {
	AuthorisationCode string      `json:"authorisation_code,omitempty"`
	Initiator         string      `json:"initiator,omitempty"`
	Particulars       string      `json:"particulars,omitempty"`
	Code              string      `json:"code,omitempty"`
	Reference         string      `json:"reference,omitempty"`
	Conditions        []blockWire `json:"conditions,omitempty"`
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
	NotBefore     string `json:"not_before,omitempty"` // only if its notice is not over on the due date
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
	Body         string `json:"body"` // the exact bytes that are signed and sent
}

type noticeWire struct {
	Kind       string `json:"kind"`
	NoticeID   string `json:"notice_id"`
	CheckoutID string `json:"checkout_id"`
	Notice     string `json:"notice"` // setup or agreement
	CreatedAt  string `json:"created_at"`
	Status     string `json:"status"` // pending, sent, failed or dropped
	Attempts   int    `json:"attempts"`
	SentAt     string `json:"sent_at,omitempty"`    // when another system took it over
	MessageID  string `json:"message_id,omitempty"` // under which that knows it
	Answer     string `json:"answer,omitempty"`     // what it said
	FailedAt   string `json:"failed_at,omitempty"`  // of the latest attempt that failed, like the failure
	Failure    string `json:"failure,omitempty"`
}

// amount is a JSON number of dollars with two decimals.
type amount money.Cents

func (a amount) MarshalJSON() ([]byte, error) { return []byte(money.Cents(a).String()), nil }

type wireCheckpoint struct {
	Kind       string `json:"kind"`
	Key        string `json:"evidence_key"`
	Checkpoint string `json:"checkpoint"` // a signed note
}
