package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// agreementWire is the leaf of an agreement. A field is only ever added together with a new format, because the leaf is
// made again to be compared.
type agreementWire struct {
	Kind   string `json:"kind"`   // "agreement"
	Format int    `json:"format"` // 1

	Number      string `json:"agreement_number"`
	Version     string `json:"template_version"`
	Environment string `json:"environment"`
	Provider    string `json:"provider_code"`
	ProviderIs  string `json:"provider_name"`
	Support     string `json:"support_email"` // the provider's
	OrderID     string `json:"provider_order_id"`
	CheckoutID  string `json:"checkout_id"`
	RequestID   string `json:"request_id"`
	AcceptedAt  string `json:"accepted_at"`
	RecordedAt  string `json:"recorded_at"` // later only where a CRM had the agreement before the store was restored

	CourseCode   string `json:"course_code"`
	CourseName   string `json:"course_name"`
	Price        int64  `json:"course_price_cents"`
	Upfront      int64  `json:"upfront_payment_cents"`
	Principal    int64  `json:"principal_cents"`
	Frequency    string `json:"payment_frequency"`
	Instalments  int    `json:"number_of_instalments"`
	Instalment   int64  `json:"instalment_cents"`
	Final        int64  `json:"final_instalment_cents"`
	FirstPayment string `json:"first_payment_date"`
	NotBefore    string `json:"not_before"`
	NoticeDays   int    `json:"notice_days"`
	CancelUntil  string `json:"cancel_until"` // "" where the terms do not say
	Schedule     string `json:"schedule_sha256"`

	Declarations []string `json:"declarations"` // all of them were true

	DDAID        string `json:"dda_id"`
	AuthorisedAt string `json:"authorised_at"`
	ConsentAt    string `json:"consent_at"`
	ConsentTerms string `json:"consent_terms"`
	Disclosed    string `json:"disclosed_sha256"`      // of what the payer was shown before the consent; "" if it is not known
	DisclosedOn  string `json:"disclosed_page"`        // the path of the page that showed it
	Terms        string `json:"operator_terms_sha256"` // "" for an operator without terms
	Document     string `json:"document_sha256"`       // "" without a PDF

	Committed commitmentsWire `json:"committed"`
	LogSize   int64           `json:"log_size"` // entries in the tree that the process had seen
}

// commitmentsWire holds commitments to personal data, and to ids that lead to it, in hexadecimal.
type commitmentsWire struct {
	FirstName      string `json:"student.first_name"`
	LastName       string `json:"student.last_name"`
	Email          string `json:"student.email"`
	AccountHolder  string `json:"account_holder"`
	AccountMask    string `json:"account_mask"`
	ConsentAddress string `json:"consent_address"`

	BillingRequestID string `json:"billing_request_id"`
	MandateID        string `json:"mandate_id"`
	ContactID        string `json:"contact_id"`
	OpportunityID    string `json:"opportunity_id"`
}

// operationWire is the leaf of something that an operator did. Behind it comes log_size, as in agreementWire: see withLogSize.
type operationWire struct {
	Kind   string `json:"kind"`   // "operation"
	Format int    `json:"format"` // 1

	At         string   `json:"at"`
	Operator   string   `json:"operator"`
	ApprovedBy string   `json:"approved_by,omitempty"`
	Operation  string   `json:"operation"`
	Subject    string   `json:"subject"`
	Reason     string   `json:"reason"`
	Changes    []string `json:"changes"`

	Object string `json:"object,omitempty"`
	Before string `json:"before_sha256,omitempty"`
	After  string `json:"after_sha256,omitempty"`
}

// kindWire has the members of every leaf.
type kindWire struct {
	Kind    string `json:"kind"`
	Format  int    `json:"format"`
	LogSize int64  `json:"log_size"`
}

// withLogSize returns a leaf with its last member.
func withLogSize(leaf []byte, size int64) []byte {
	return fmt.Appendf(bytes.Clone(bytes.TrimSuffix(leaf, []byte("}"))), `,"log_size":%d}`, size)
}

// proofWire is a proof's file.
type proofWire struct {
	Format     string   `json:"format"`   // proofFormat
	Record     string   `json:"record"`   // the leaf's text
	Position   *int64   `json:"position"` // nil where it is missing
	Path       []string `json:"path"`     // hashes in base64, from the leaf up
	Checkpoint string   `json:"checkpoint"`
}

// encode returns the one JSON text of a value.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("evidence: " + err.Error()) // no value of these types fails
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
