package gocardlesstest

// This file has the shapes of the API's JSON; convert.go fills them.

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
	PaymentRequest   *struct{}          `json:"payment_request"` // always nil
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

// The shapes of the control path.

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

type submissionWire struct {
	ID             string `json:"id"`
	Status         string `json:"status"`
	BillingRequest string `json:"billing_request"`
	SubmittedName  string `json:"submitted_name"`
}

type payerWire struct {
	GivenName  string `json:"given_name"`
	FamilyName string `json:"family_name"`
	Email      string `json:"email"`
	Holder     string `json:"account_holder_name"`
	Account    string `json:"account_number"`
}

type redirectWire struct {
	RedirectURI string `json:"redirect_uri"`
}

type schemeMoveWire struct {
	Status string `json:"scheme_status"`
	Notice int    `json:"minimum_advance_notice"`
}

type statisticsWire struct {
	Calls              map[string]int        `json:"calls"`
	Answers            map[string]int        `json:"answers"`
	Faults             map[FaultKind]int     `json:"faults"`
	WithoutKey         int                   `json:"without_idempotency_key"`
	BillingRequests    int                   `json:"billing_requests"`
	Fulfilled          int                   `json:"fulfilled"`
	Mandates           int                   `json:"mandates"`
	Events             int                   `json:"events"`
	RequestsByMetadata map[string]int        `json:"billing_requests_by_metadata"`
	RequestsByKey      map[string]int        `json:"billing_requests_by_idempotency_key"`
	MandatesByMetadata map[string]int        `json:"mandates_by_metadata"`
	Webhooks           webhookStatisticsWire `json:"webhooks"`
}

type webhookStatisticsWire struct {
	Sent      int `json:"sent"`
	Accepted  int `json:"accepted"`
	Refused   int `json:"refused"`
	Failed    int `json:"failed"`
	Abandoned int `json:"abandoned"`
	Dropped   int `json:"dropped"`
}
