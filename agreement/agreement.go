// Package agreement holds the Payment Plan Agreement as a document: its figures and
// its words, independent of how it is rendered. It does no I/O and reads no clock.
package agreement

import (
	"time"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// Agreement is a Payment Plan Agreement as it was accepted. It never changes after the
// confirmation, and every rendering takes its figures from here.
type Agreement struct {
	Number     string // PPA-<New Zealand year>-<10 characters and a check character>; see NewNumber
	Version    string // of the wording
	CheckoutID string
	OrderID    string
	AcceptedAt time.Time // of the declarations, UTC
	Sandbox    bool      // concluded in the sandbox: it is not binding
	SignedBy   string    // the SHA-256, in hex, of the certificate under which its document is signed; "" without a signature
	Requests   Requests

	Provider Party
	Student  Student
	Course   Course

	Pricing  money.Pricing
	Plan     money.Plan     // as agreed: First is the confirmed first payment date
	Schedule []money.Charge // sums to Pricing.Price

	DirectDebit DirectDebit
	Notice      Notice

	Terms       Terms      // the operator's, as they were at the acceptance
	CancelUntil money.Date // the last day on which the payer can cancel; zero where the terms do not say
}

// Requests names the requests of the provider that concluded the agreement.
type Requests struct{ Create, Confirm string } // req_…

// Party is the education provider, as the payer knows it.
type Party struct {
	Code         string
	Name         string
	SupportEmail string // optional
	Colour       string // #rrggbb, of its branding; optional
}

// Student is the person who studies. The payer is the holder of the account, and may be another person.
type Student struct {
	FirstName string
	LastName  string
	Email     string
}

// Name returns the student's name as it is written.
func (s Student) Name() string { return text.FullName(s.FirstName, s.LastName) }

// Course is the course that the plan pays for. Code is "" for a legacy provider.
type Course struct {
	Code string
	Name string
}

// DirectDebit is the authority under which the plan is collected.
type DirectDebit struct {
	AuthorityID   string // dda_id
	MandateID     string // the processor's
	AccountHolder string
	AccountMask   AccountMask
	AuthorisedAt  time.Time
	Consent       Consent // to the direct debit terms
}

// Erased returns the agreement without personal data: who studies, from whose account it is paid, and from where the payer
// consented. Its figures and the hash of its PDF stay.
func (a Agreement) Erased() Agreement {
	a.Student = Student{}
	a.DirectDebit.AccountHolder, a.DirectDebit.AccountMask, a.DirectDebit.MandateID, a.DirectDebit.Consent.From = "", "", "", ""
	return a
}

// Names returns the names that stand in the agreement's text and come from outside.
func (a Agreement) Names() []string {
	return []string{a.Provider.Name, a.Terms.Lender.Name, a.Terms.Authority.Initiator, a.Student.Name(), a.Course.Name,
		a.DirectDebit.AccountHolder}
}

// Payments returns each charge of the schedule with its day of collection. Where the plan has no valid frequency, which Check
// refuses, it is the planned day.
func (a Agreement) Payments() []money.Payment {
	if a.Plan.Frequency.Valid() {
		return a.calendar().Payments(a.Schedule, a.Plan.Frequency, a.firstPayment())
	}
	payments := make([]money.Payment, len(a.Schedule))
	for i, c := range a.Schedule {
		payments[i] = money.Payment{Charge: c, Taken: c.Due}
	}
	return payments
}

// firstPayment returns the day on which collection starts, as it is planned.
func (a Agreement) firstPayment() money.Date { return a.Notice.Start(a.Plan.First, a.calendar()) }

func (a Agreement) calendar() money.Calendar { return a.Terms.Authority.Calendar }

// Document is a rendered agreement.
type Document struct {
	SHA256 [32]byte
	Bytes  []byte
}
