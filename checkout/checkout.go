// Package checkout holds the rules of a checkout: what a create may say, when two creates
// mean the same enrolment, when a confirm is accepted, and what each leads to. A rule
// takes values and returns the next state, the records and events that go with it, or a
// refusal; it does no I/O, reads no clock and changes nothing.
package checkout

import (
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// Status is the state of a checkout in the contract's words (section 3).
type Status string

const (
	SetupRequired Status = "direct_debit_setup_required"
	Confirmed     Status = "confirmed"
	Cancelled     Status = "cancelled" // beyond the contract: the provider or the operator has cancelled it before its confirm

	// Reserved is the state of a checkout until the CRM has made its records. For its provider and its payer it does not
	// exist, but its order and its key are taken.
	Reserved Status = "reserved"
)

// Checkout is one enrolment from create to confirm.
type Checkout struct {
	ID             string // <provider_code>-<unix milliseconds>-<16 characters of a-z2-7>
	ProviderCode   string
	OrderID        string // the provider's; unique within the provider
	IdempotencyKey string // of the request that opened it: the header, or <provider_code>:<order id>
	RequestID      string // of the request that opened it
	CreatedAt      time.Time
	Status         Status
	Student        Student
	CourseCode     string // "" for a legacy provider
	Intent         Intent
	Records        Records
	Tokens         []Token // every setup token that may still be valid, oldest first; the last is the latest
	Setup          Setup
	Confirmation   Confirmation // zero until a confirm was decided
	End            End          // zero until it is cancelled, or its agreement withdrawn
	ErasedAt       time.Time    // when the personal data was erased; zero while it is on record
}

// Student is the person who enrols, as the first create said.
type Student struct {
	FirstName string
	LastName  string
	Email     string
}

// Name returns the student's name as it is written.
func (s Student) Name() string { return agreement.Student(s).Name() }

// Records are the identifiers of the CRM records of one checkout.
type Records struct {
	ContactID     string
	OpportunityID string
	DDAID         string
}

// Confirmation is the evidence of an accepted confirm, and what it led to.
type Confirmation struct {
	At              time.Time
	RequestID       string
	FirstPayment    money.Date // as agreed; the create's date was a preference
	AgreementID     string     // the CRM's, like DocumentID; "" until the CRM has completed the enrolment
	AgreementNumber string
	DocumentID      string // "" if the PDF could not be rendered
}

// PDFGenerated reports whether the agreement's PDF is on record.
func (c Confirmation) PDFGenerated() bool { return c.DocumentID != "" }

// Schedule returns the charges of the checkout: as agreed once a confirm was decided, before that as the
// provider prefers.
func (c Checkout) Schedule() []money.Charge {
	plan := c.Intent.Plan
	if c.concluded() {
		plan.First = c.Confirmation.FirstPayment
	}
	return money.Schedule(c.Intent.Pricing.Upfront, plan)
}

// Change is the result of a decision, to be stored whole or not at all.
type Change struct {
	Next      Checkout
	Remove    bool                 // the checkout is removed instead, with nothing else
	Events    []events.Event       // in the order of their delivery; each is stored as its job
	Jobs      []Job                // the others; a job whose id is on record is not stored again
	Moments   []Moment             // for the journal, in their order
	Agreement *agreement.Agreement // nil unless the decision concluded one
	Act       *Act                 // the operator's; nil without one
	Document  *agreement.Document  // nil unless the agreement was rendered
}
