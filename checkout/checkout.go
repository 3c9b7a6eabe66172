// Package checkout holds the rules of a checkout: what a create may say, when two creates
// mean the same enrolment, when a confirm is accepted, and what each leads to. A rule
// takes values and returns the next state, the records and events that go with it, or a
// refusal; it does no I/O, reads no clock and changes nothing.
package checkout

import (
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
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
	ChangedAt      time.Time // the latest time of an event, or of a moment of a change, since its create; zero before the first
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
	Receipt         string // evidence.Receipt as text; "" if no key signed it
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
	Evidence  *evidence.Entry      // of the agreement, or of the operator's act; nil without either
	Document  *agreement.Document  // nil unless the agreement was rendered
}

// farAhead is the longest time by which a time on record holds a decision up: a clock that is further ahead is wrong, and must not date
// an agreement, nor the notice that is counted from it.
const farAhead = 7 * 24 * time.Hour

// NotBefore returns the time of what is decided of the checkout at a time: that time, or the latest time on record where that is later.
// A decision follows from what is on record, and its time says so also where its clock is behind: a clock of another process, or the
// checkout's own before a provider of the sandbox moved it. The times of the checkout stand still then until that clock has caught up.
// A time on record that is more than a week later counts for nothing, and no time of the processor counts: it is by no clock of the
// service.
func (c Checkout) NotBefore(at time.Time) time.Time {
	if last := c.lastTime(); last.After(at) && last.Sub(at) <= farAhead {
		return last
	}
	return at
}

// lastTime returns the latest time on record.
func (c Checkout) lastTime() time.Time {
	return slices.MaxFunc([]time.Time{c.CreatedAt, c.ChangedAt}, time.Time.Compare)
}

// Dated returns the change with the latest of its times on record: no later change of the checkout is dated before it.
func (c Change) Dated() Change {
	for _, m := range c.Moments {
		c.Next.ChangedAt = c.Next.NotBefore(m.At)
	}
	for _, e := range c.Events {
		c.Next.ChangedAt = c.Next.NotBefore(e.CreatedAt)
	}
	return c
}

// Traced returns the change with the trace of the call that caused it on its events and jobs.
func (c Change) Traced(t events.Trace) Change {
	if t == "" {
		return c
	}
	c.Events, c.Jobs = slices.Clone(c.Events), slices.Clone(c.Jobs)
	for i := range c.Events {
		c.Events[i].Trace = t
	}
	for i := range c.Jobs {
		c.Jobs[i].Trace = t
	}
	return c
}
