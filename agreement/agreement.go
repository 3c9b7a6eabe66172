// Package agreement holds the Payment Plan Agreement as a document: its figures and
// its words, independent of how it is rendered. It does no I/O and reads no clock.
package agreement

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Check returns an error that lists every inconsistency in the figures. The initial payment and the instalments must add up to the
// price, and the charges must be the charges of the plan (see [money.Schedule]) and sum to the price.
func (a Agreement) Check() error {
	var f faults
	if sum := a.Pricing.Upfront + a.Pricing.Principal; sum != a.Pricing.Price {
		f.add("initial payment and amount to finance are %s, the course price is %s", sum, a.Pricing.Price)
	}
	if sum := a.Plan.Principal(); sum != a.Pricing.Principal {
		f.add("the instalments of the plan are %s, the amount to finance is %s", sum, a.Pricing.Principal)
	}
	var sum money.Cents
	for _, c := range a.Schedule {
		sum += c.Amount
	}
	if sum != a.Pricing.Price {
		f.add("the charges sum to %s, the course price is %s", sum, a.Pricing.Price)
	}
	switch {
	case !a.Plan.Frequency.Valid() || a.Plan.Number < 1 || a.Plan.Number > money.MaxInstalments:
		f.add("the plan has no schedule: %d instalments, %q", a.Plan.Number, a.Plan.Frequency)
	case !slices.Equal(a.Schedule, money.Schedule(a.Pricing.Upfront, a.Plan)):
		f.add("the charges are not those of the plan")
	}
	return errors.Join(f...)
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
// refuses, no payment is put off.
func (a Agreement) Payments() []money.Payment {
	earliest := a.firstPayment()
	if !a.Plan.Frequency.Valid() {
		earliest = money.Date{}
	}
	return a.calendar().Payments(a.Schedule, a.Plan.Frequency, earliest)
}

// firstPayment returns the day on which collection starts, as it is planned.
func (a Agreement) firstPayment() money.Date { return a.Notice.Start(a.Plan.First, a.calendar()) }

func (a Agreement) calendar() money.Calendar { return a.Terms.Authority.Calendar }

// Document is a rendered agreement.
type Document struct {
	SHA256 [32]byte
	Bytes  []byte
}

// AccountMask is a bank account number as it is kept and shown: with [HiddenDigit] in the place of each hidden digit, such
// as 01-0902-•••••89-00.
type AccountMask string

// HiddenDigit stands in an AccountMask for a digit that is hidden.
const HiddenDigit = "•"

// alphabet is Crockford's base32: digits and letters without I, L, O and U, which are easily misread.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const (
	numberLength  = 10 // characters, of 5 bits each
	checkModulus  = 37 // Crockford's; a remainder of 32 or more has no character of the alphabet
	numberPattern = "PPA-%04d-%s%c"
)

// NewNumber returns an agreement number: PPA-<year>-<10 characters of Crockford's base32><check character>. The ten characters
// encode the low 50 bits of the entropy, most significant first; the check character encodes their value modulo 37. A value whose
// remainder has no character in the alphabet is lowered to one whose remainder has. The same entropy gives the same number, so it
// must come from a cryptographic source. A store keeps numbers unique within a provider.
func NewNumber(year int, entropy [8]byte) string {
	value := binary.BigEndian.Uint64(entropy[:]) & (1<<(5*numberLength) - 1)
	if value%checkModulus >= uint64(len(alphabet)) {
		value -= uint64(len(alphabet)) // never below 0: a value under 37 with that remainder is 32 to 36
	}
	var digits [numberLength]byte
	for i, rest := numberLength-1, value; i >= 0; i, rest = i-1, rest/32 {
		digits[i] = alphabet[rest%32]
	}
	return fmt.Sprintf(numberPattern, year, digits, alphabet[value%checkModulus])
}

// Mistyped reports whether a text has the form of an agreement number but an invalid character or a wrong check
// character: one character was misread, or two neighbours were swapped.
func Mistyped(number string) bool {
	parts := strings.Split(number, "-")
	if len(parts) != 3 || parts[0] != "PPA" || len(parts[2]) != numberLength+1 {
		return false
	}
	value := 0
	for _, c := range []byte(parts[2][:numberLength]) {
		digit := strings.IndexByte(alphabet, c)
		if digit < 0 {
			return true
		}
		value = (value*32 + digit) % checkModulus
	}
	return strings.IndexByte(alphabet, parts[2][numberLength]) != value
}
