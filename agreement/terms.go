package agreement

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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
	if len(t.DefaultFees.Fees) > maxFees {
		f.add("default_fees must be at most %d", maxFees)
	}
	for i, fee := range t.DefaultFees.Fees {
		at := fmt.Sprintf("default_fees[%d]", i)
		if fee.Amount <= 0 || fee.Amount > money.Max {
			f.add("%s.amount must be above zero and at most %s", at, money.Max.Dollars())
		}
		f.text(at+".name", fee.Name, maxTermLine, true)
		f.text(at+".when", fee.When, maxTermLine, true)
	}
	f.authority(t.Authority)
	if len(t.Blocks) > maxBlocks {
		f.add("terms must be at most %d", maxBlocks)
	}
	for i, b := range t.Blocks {
		f.block(fmt.Sprintf("terms[%d]", i), b)
	}
	return errors.Join(f...)
}

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
	var f faults
	named := a != Agency{}
	f.text("privacy.agency.name", a.Name, maxTermLine, named)
	f.text("privacy.agency.address", a.Address, maxTermLine, named)
	f.text("privacy.agency.contact", a.Contact, maxTermLine, named)
	return errors.Join(f...)
}

// Authority names the party that debits the account under a direct debit authority, its code, and its name on bank
// statements. A processor that knows says it (checkout.Creditor); for a collector of the operator's own the operator's terms do. The
// zero Authority names no party: the lender, or the operator, collects the payments, on every day.
type Authority struct {
	Initiator         string         // who debits the account, by the name that the code is registered for; "" means who collects
	AuthorisationCode string         // of the initiator: 7 digits, or the reference by which the scheme knows it
	Statement         string         // the text of the bank statement: "particulars KOWHAI, code PLAN", or the initiator's name
	Form              string         // the company whose form takes the authority, such as GoCardless; "" is this service
	Calendar          money.Calendar // the days on which the initiator takes payments; "" means money.EveryDay
	Conditions        []Block        // in the place of the scheme's usual ones, where there are any
}

const (
	authorisationDigits = 7 // of the code in an operator's terms
	maxConditions       = 20
)

// IsZero reports whether a is the zero Authority.
func (a Authority) IsZero() bool {
	return a.Initiator == "" && a.AuthorisationCode == "" && a.Statement == "" && a.Form == "" && a.Calendar == "" && len(a.Conditions) == 0
}

// Or returns a with its empty fields filled in from other.
func (a Authority) Or(other Authority) Authority {
	a.Initiator = cmp.Or(a.Initiator, other.Initiator)
	a.AuthorisationCode = cmp.Or(a.AuthorisationCode, other.AuthorisationCode)
	a.Statement = cmp.Or(a.Statement, other.Statement)
	a.Form, a.Calendar = cmp.Or(a.Form, other.Form), cmp.Or(a.Calendar, other.Calendar)
	if len(a.Conditions) == 0 {
		a.Conditions = other.Conditions
	}
	return a
}

// Initiator returns the name of the party that debits the account: the lender's, where the authority names no initiator.
func (t DebitTerms) Initiator() string {
	return cmp.Or(t.Authority.Initiator, t.Lender.Name, "the operator of this service")
}

// Debits tells the payer in a sentence or two who debits the account, under which code, and as what the bank statement shows it.
func (t DebitTerms) Debits() string {
	text := sentence(t.Initiator()) + " takes the payments from the account by direct debit."
	if code := t.Authority.AuthorisationCode; code != "" {
		text += " The banks know it by the authorisation code " + code + "."
	}
	if statement := t.Authority.Statement; statement != "" {
		text += " On the bank statement each payment shows as " + statement + "."
	}
	return text
}

// Told names the party that the account holder tells to end the authority. A bank that is told may end others under the same code.
func (t DebitTerms) Told() string {
	switch {
	case t.Authority.Initiator != "":
		return t.Authority.Initiator
	case t.Lender.Name != "":
		return "the lender, " + t.Lender.Name
	}
	return t.Provider
}

// sentence begins a sentence with the party that it is given.
func sentence(who string) string {
	if rest, found := strings.CutPrefix(who, "the "); found {
		return "The " + rest
	}
	return who
}

// Fee is an amount that the operator charges where a payment fails or comes late.
type Fee struct {
	Name   string
	Amount money.Cents // above 0
	When   string      // "for each payment that the bank refuses"
}

// FeeList is a list of fees. The zero FeeList does not say whether there are any; a stated, empty FeeList says that
// the operator charges no fees.
type FeeList struct {
	Stated bool
	Fees   []Fee
}

// Text returns the fees as a row says them, a line each, or that there is no fee; "" if the list is not stated.
func (l FeeList) Text() string {
	switch {
	case !l.Stated:
		return ""
	case len(l.Fees) == 0:
		return noDefaultFees
	}
	lines := []string{"If a payment fails or comes late:"}
	for _, f := range l.Fees {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", f.Name, f.Amount.Dollars(), f.When))
	}
	return strings.Join(lines, "\n")
}

const noDefaultFees = "This plan has no fee for a payment that fails or comes late."

// FeesInShort returns a sentence about the fees, or "" if the terms state nothing about them.
func (t Terms) FeesInShort() string {
	switch {
	case len(t.DefaultFees.Fees) > 0:
		return "There are fees only if a payment fails or comes late: see “Default fees”."
	case t.DefaultFees.Stated:
		return noDefaultFees
	}
	return ""
}

// Cancellation is the payer's right to cancel the plan soon after the agreement. The zero Cancellation says nothing of it.
type Cancellation struct {
	WorkingDays int    // after the day on which the payer counts as having received the agreement
	How         string // the payer cancels
	PayWithin   int    // working days in which a payer who cancels and keeps the course pays the rest of its price; 0: it is not said
}

// PayWithinByLaw is the Cancellation's PayWithin by section 27 of the Credit Contracts and Consumer Finance Act 2003: a debtor who
// cancels but wants the services must pay their cash price within this time of the notice.
const PayWithinByLaw = 15

// Period returns the number of working days: "5 working days".
func (c Cancellation) Period() string {
	if c.WorkingDays == 1 {
		return "1 working day"
	}
	return fmt.Sprintf("%d working days", c.WorkingDays)
}

// receivedAfter is the number of working days after which disclosure that was sent electronically counts as made, for the right to
// cancel: section 35 of the Credit Contracts and Consumer Finance Act 2003.
const receivedAfter = 2

// Until returns the last day on which a payer can cancel an agreement that was sent electronically on this day in New Zealand; the
// zero Date for the zero Cancellation. Section 27 of the Act counts the working days "of the day" of the disclosure, and that day
// itself is not counted (Legislation Act 2019, section 54).
func (c Cancellation) Until(sent money.Date) money.Date {
	if c.WorkingDays < 1 {
		return money.Date{}
	}
	day := sent
	for left := c.WorkingDays + receivedAfter; left > 0; {
		if day = day.AddDays(1); isWorkingDay(day) {
			left--
		}
	}
	return day
}

// isWorkingDay reports whether d is a working day by section 5 of the Act: no Saturday, Sunday or public holiday of the whole country,
// also where one is kept on the Monday or Tuesday after a weekend, and none of the days from 25 December to 2 January. A regional
// holiday is a working day. The Act was read as reprinted on 1 August 2009. Later Acts have Waitangi Day and Anzac Day kept on a
// Monday, and brought Matariki: none of these is counted, which can only give the payer a later date.
func isWorkingDay(d money.Date) bool {
	christmas := d.Month == time.December && d.Day >= 25 || d.Month == time.January && d.Day <= 2
	return d.IsBusinessDay() && !christmas
}

// faults collects what is wrong with an agreement or with terms. A fault of terms begins with its place.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) text(place, value string, limit int, required bool) {
	switch fault := text.CheckReadable(value); {
	case value == "" && required:
		f.add("%s must be given", place)
	case !utf8.ValidString(value):
		f.add("%s must be valid UTF-8", place)
	case utf8.RuneCountInString(value) > limit:
		f.add("%s must have at most %d characters", place, limit)
	case fault != "":
		f.add("%s %s", place, fault)
	}
}

func (f *faults) block(place string, b Block) {
	f.text(place+".title", b.Title, maxTermLine, true)
	before := len(*f)
	f.text(place+".text", strings.ReplaceAll(b.Text, "\n", " "), maxBlockText, true) // no other control character is text
	if len(*f) == before && len(Lines(b.Text)) == 0 {
		f.add("%s.text must hold a visible character", place)
	}
}

func (f *faults) authority(a Authority) {
	if code := a.AuthorisationCode; code != "" && (len(code) != authorisationDigits || strings.Trim(code, "0123456789") != "") {
		f.add("authority.authorisation_code must be %d digits", authorisationDigits)
	}
	f.text("authority.initiator", a.Initiator, maxTermLine, false)
	f.text("authority.statement", a.Statement, maxTermLine, false)
	if a.Calendar != "" && !a.Calendar.Valid() {
		f.add("authority.collection_days must be %q or %q", money.EveryDay, money.BusinessDays)
	}
	if len(a.Conditions) > maxConditions {
		f.add("authority.conditions must be at most %d", maxConditions)
	}
	for i, b := range a.Conditions {
		f.block(fmt.Sprintf("authority.conditions[%d]", i), b)
	}
}
