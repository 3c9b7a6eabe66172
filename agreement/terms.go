package agreement

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// Terms are the operator's own part of an agreement: who the lender is, and what the law or a scheme requires a
// lender to tell the payer. The zero Terms are empty. There is no fee for the credit: the contract's sums leave no room for it.
type Terms struct {
	Lender       Lender
	Disputes     DisputeScheme
	Cancellation Cancellation
	Hardship     string  // the contact of a payer who cannot pay: an e-mail address, a telephone number or a web page
	DefaultFees  FeeList // for payments that fail or come late
	Authority    Authority
	// NoticeDays are the calendar days from the notice of a payment to the payment, and FrequentNotice the business days where
	// payments are weekly or fortnightly; 0: UsualNotice, and NoticeDays.
	NoticeDays, FrequentNotice int
	Blocks                     []Block // in the order in which they are read
}

// Period returns the period of notice of a plan.
func (t Terms) Period(f money.Frequency) NoticePeriod {
	if t.FrequentNotice > 0 && (f == money.Weekly || f == money.Fortnightly) {
		return NoticePeriod{Days: t.FrequentNotice, Business: true}
	}
	return NoticePeriod{Days: t.NoticeDays}
}

// Lender is the company that gives the credit. The zero Lender means that the operator names no lender.
type Lender struct {
	Name         string
	Address      string
	Registration string // such as a financial service provider number
	Email        string
}

// DisputeScheme is the approved scheme to which a payer can take a complaint that the lender has not settled.
type DisputeScheme struct {
	Name    string
	Contact string // a telephone number, an e-mail address or a web page
}

// Block is one term: the right to cancel, hardship, a dispute scheme.
type Block struct {
	Title string
	Text  string // a paragraph on each line; see Lines
}

// Limits of Terms.
const (
	maxBlocks    = 40
	maxTermLine  = text.Max // characters of a name, address, registration or title
	maxBlockText = 5000
	maxFees      = 20
)

// Ask returns the name and the e-mail address, or "", of the party to ask about the plan: the lender or, where its address is not
// known, the education provider.
func (t Terms) Ask(provider, email string) (string, string) {
	if t.Lender.Email != "" {
		return t.Lender.Name, t.Lender.Email
	}
	return provider, email
}

// IsZero reports whether t is empty.
func (t Terms) IsZero() bool {
	return t.Lender == Lender{} && t.Disputes == DisputeScheme{} && t.Cancellation == Cancellation{} && t.Hardship == "" &&
		!t.DefaultFees.Stated && t.NoticeDays == 0 && t.FrequentNotice == 0 && t.Authority.IsZero() && len(t.Blocks) == 0
}

// Check returns nil, or an error that lists everything wrong with t, each with its place.
func (t Terms) Check() error {
	var f faults
	named := t.Lender != Lender{}
	f.text("lender.name", t.Lender.Name, maxTermLine, named)
	f.text("lender.address", t.Lender.Address, maxTermLine, named)
	f.text("lender.registration", t.Lender.Registration, maxTermLine, false)
	f.text("lender.email", t.Lender.Email, maxTermLine, false)
	disputes := t.Disputes != DisputeScheme{}
	f.text("dispute_resolution.scheme", t.Disputes.Name, maxTermLine, disputes)
	f.text("dispute_resolution.contact", t.Disputes.Contact, maxTermLine, disputes)
	cancels := t.Cancellation != Cancellation{}
	f.text("cancellation.how", strings.ReplaceAll(t.Cancellation.How, "\n", " "), maxBlockText, cancels)
	if cancels && t.Cancellation.WorkingDays < 1 {
		f.add("cancellation.working_days must be above zero")
	}
	f.text("hardship.contact", t.Hardship, maxTermLine, false)
	if t.NoticeDays < 0 || t.NoticeDays > MaxNotice {
		f.add("notice_days must be from 1 to %d", MaxNotice)
	}
	if t.FrequentNotice < 0 || t.FrequentNotice > MaxFrequentNotice {
		f.add("frequent_notice_business_days must be from 1 to %d", MaxFrequentNotice)
	}
	f.fees("default_fees", t.DefaultFees)
	f.authority(t.Authority)
	if len(t.Blocks) > maxBlocks {
		f.add("terms must be at most %d", maxBlocks)
	}
	for i, b := range t.Blocks {
		f.block(fmt.Sprintf("terms[%d]", i), b)
		if t.DefaultFees.None() && namesFee.MatchString(b.Text) && strings.Contains(strings.ToLower(b.Title), "fee") {
			f.add("terms[%d] names a fee, where default_fees say that there is none", i)
		}
	}
	return errors.Join(f...)
}

// namesFee matches an amount above zero.
var namesFee = regexp.MustCompile(`\$\s?[0-9.,]*[1-9]`)

// Agency is the agency that collects and holds the students' personal data, as information privacy principle 3A of the
// Privacy Act 2020 has them told. The zero Agency means that the operator names no agency.
type Agency struct {
	Name    string
	Address string
	Contact string // an e-mail address or a telephone number
}

// Recipient is a company outside the operator's that gets personal data, as the privacy notice names it (information privacy
// principles 3A and 12).
type Recipient struct {
	Name    string
	Country string // where it holds the data; "" if that is not said
	Purpose string
}

// CheckRecipients returns nil, or an error with each fault of the recipients.
func CheckRecipients(list []Recipient) error {
	var f faults
	for i, r := range list {
		place := fmt.Sprintf("privacy.recipients[%d].", i)
		f.text(place+"name", r.Name, maxTermLine, true)
		f.text(place+"country", r.Country, maxTermLine, false)
		f.text(place+"purpose", r.Purpose, maxTermLine, true)
	}
	return errors.Join(f...)
}

// Check returns nil for the zero Agency and for a complete Agency, and otherwise an error with each fault.
func (a Agency) Check() error {
	if a == (Agency{}) {
		return nil
	}
	var f faults
	f.text("privacy.agency.name", a.Name, maxTermLine, true)
	f.text("privacy.agency.address", a.Address, maxTermLine, true)
	f.text("privacy.agency.contact", a.Contact, maxTermLine, true)
	return errors.Join(f...)
}
