package agreement

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// This file contains the whole wording of the agreement.

// Version identifies the wording of the agreement (contract, section 9). Change it
// whenever a sentence in this file changes.
const Version = "2026-11-23"

// Title returns the title of the document.
func (a Agreement) Title() string { return title + " " + a.Number }

const title = "Payment Plan Agreement"

// Text returns the whole text of the agreement in sections, the first of which has the
// document's title. Every rendering (PDF, page) takes its text from here. Times are
// written in zone. It returns an error if the agreement was accepted in another wording
// than Version, because a payer must not be shown words that were not accepted.
func (a Agreement) Text(zone *time.Location) ([]Section, error) {
	if a.Version != Version {
		return nil, fmt.Errorf("agreement %s was accepted in the words of version %q; only those of %q are at hand",
			a.Number, a.Version, Version)
	}
	sections := []Section{
		a.opening(zone),
		a.summary(),
		a.payments(),
		a.parties(),
		a.cost(),
		a.declarations(zone),
		a.authority(zone),
		{Title: "Direct debit terms", Rows: a.debitTerms().Rows()},
	}
	if len(a.Terms.Blocks) > 0 {
		sections = append(sections, a.terms())
	}
	return append(sections, a.record()), nil
}

func (a Agreement) opening(zone *time.Location) Section {
	paragraphs := []string{
		"This is an interest-free payment plan for a course of " + a.Provider.Name + ". The payer pays " +
			"the course price in the payments that are listed here, and nothing on top of it. " +
			"The payments are collected by direct debit.",
	}
	if a.Sandbox {
		paragraphs = append(paragraphs, "This was made in the sandbox. It is a test, and no agreement: no bank is asked and no money moves.")
	}
	return Section{
		Title:      title,
		Paragraphs: paragraphs,
		Rows: []Row{
			{"Agreement number", a.Number},
			{"Accepted on", formatTime(a.AcceptedAt, zone)},
		},
	}
}

// summary says in a few lines who pays what for whom, and when.
func (a Agreement) summary() Section {
	rows := []Row{
		{"Payer", a.payer()},
		{"Student", a.student()},
		{"Course", a.Course.Name},
		{"Education provider", a.Provider.Name},
		{"Total to pay", a.Pricing.Price.Dollars() + ", with no interest and no fees"},
	}
	dates := a.CollectionDates()
	payment := func(i int) string { return a.Schedule[i].Amount.Dollars() + " on " + dates[i].Long() }
	switch n := len(a.Schedule); n {
	case 0: // an agreement that Check refuses
	case 1:
		rows = append(rows, Row{"Payment", payment(0)})
	default:
		rows = append(rows,
			Row{"First payment", payment(0)},
			Row{"Instalments", a.instalments()},
			Row{"Last payment", payment(n - 1)},
		)
	}
	return Section{Title: "At a glance", AtAGlance: true, Rows: rows}
}

// instalments describes those of the plan: "51 weekly of $53.65, and a final one of $53.85".
func (a Agreement) instalments() string {
	if a.Plan.Number == 1 {
		return "1 of " + a.Plan.Final.Dollars()
	}
	frequency := strings.ToLower(string(a.Plan.Frequency))
	if a.Plan.Residual() {
		return fmt.Sprintf("%d %s of %s, and a final one of %s", a.Plan.Number-1, frequency,
			a.Plan.Regular.Dollars(), a.Plan.Final.Dollars())
	}
	return fmt.Sprintf("%d %s of %s", a.Plan.Number, frequency, a.Plan.Regular.Dollars())
}

// payer is who pays: the holder of the account, who may be another than the student.
func (a Agreement) payer() string { return a.DirectDebit.AccountHolder }

func (a Agreement) student() string { return a.Student.FirstName + " " + a.Student.LastName }

func (a Agreement) parties() Section {
	rows := []Row{{"Education provider", a.Provider.Name}}
	if a.Provider.SupportEmail != "" {
		rows = append(rows, Row{"Questions to", a.Provider.SupportEmail})
	}
	if lender := a.Terms.Lender; lender != (Lender{}) {
		rows = append(rows, Row{"Lender", lender.Name}, Row{"Lender’s address", lender.Address})
		if lender.Registration != "" {
			rows = append(rows, Row{"Lender’s registration", lender.Registration})
		}
	}
	return Section{
		Title: "Who takes part",
		Paragraphs: []string{
			"The student’s name and email came from " + a.Provider.Name + ". The payer is the holder of the bank account, " +
				"by the name that was given with the account.",
		},
		Rows: append(rows,
			Row{"Payments collected by", "The " + collector(a.Provider.Name, a.Terms.Lender)},
			Row{"Payer", a.payer()},
			Row{"Student", a.student()},
			Row{"Student’s email", a.Student.Email},
		),
	}
}

func (a Agreement) cost() Section {
	rows := []Row{{"Course", a.Course.Name}}
	if a.Course.Code != "" {
		rows = append(rows, Row{"Course code", a.Course.Code})
	}
	rows = append(rows,
		Row{"Course price", a.Pricing.Price.Dollars()},
		Row{"Initial payment", orNone(a.Pricing.Upfront)},
		Row{"Paid by instalments", a.Pricing.Principal.Dollars()},
		Row{"Number of instalments", strconv.Itoa(a.Plan.Number)},
	)
	switch {
	case a.Plan.Number == 1:
		rows = append(rows, Row{"Instalment", a.Plan.Final.Dollars()})
	case a.Plan.Residual():
		rows = append(rows, Row{"Regular instalment", a.Plan.Regular.Dollars()}, Row{"Final instalment", a.Plan.Final.Dollars()})
	default:
		rows = append(rows, Row{"Regular instalment", a.Plan.Regular.Dollars()})
	}
	return Section{
		Title: "What the course costs",
		Rows: append(rows,
			Row{"Payment frequency", string(a.Plan.Frequency)},
			Row{"First payment planned for", a.firstPayment().Long()},
			Row{"Interest", "Nil"},
			Row{"Fees", "Nil"},
			Row{"Total to pay", a.Pricing.Price.Dollars()},
		),
	}
}

func (a Agreement) payments() Section {
	table := Table{
		Header: []string{"No.", "Planned date", "Payment", "Amount"},
		Foot:   []string{"", "", "Total to pay", a.Pricing.Price.Dollars()},
	}
	dates := a.CollectionDates()
	for i, c := range a.Schedule {
		table.Rows = append(table.Rows,
			[]string{strconv.Itoa(c.Sequence), dates[i].Long(), c.Type.Label(), c.Amount.Dollars()})
	}
	paragraphs := []string{
		"The amounts are fixed. The dates are planned: the direct debit processor and the banks decide " +
			"on which day a payment leaves the account. A payment that is planned for a day on " +
			"which banks do not process payments is taken on a later day on which they do.",
	}
	if a.deferred() {
		paragraphs = append(paragraphs, "The first payment was to be on "+a.Plan.First.Long()+", which is sooner than the notice of it "+
			"allows. The payments therefore start on "+a.firstPayment().Long()+", and one payment period lies between "+
			"each and the next.")
	}
	return Section{Title: "Planned payments", Paragraphs: paragraphs, Table: table}
}

func (a Agreement) declarations(zone *time.Location) Section {
	accepted := " Accepted on " + formatTime(a.AcceptedAt, zone) + "."
	return Section{
		Title: "What the student declared",
		Paragraphs: []string{
			a.Provider.Name + " asked the student for these declarations and passed them on; " +
				"each was recorded at the time that stands with it.",
		},
		Rows: []Row{
			{"Payment plan", "The student accepts the payment plan." + accepted},
			{"Information", "The student confirms the information given for the enrolment and the plan." + accepted},
			{"Privacy", "The student consents to the use of personal information for the enrolment and the plan." + accepted},
			{"First payment", "The student confirms the deposit or first payment, which is payment 1 of the planned " +
				"ones. Nothing had been collected by then." + accepted},
		},
	}
}

func (a Agreement) authority(zone *time.Location) Section {
	return Section{
		Title: "Direct debit authority",
		Paragraphs: []string{
			"The payer is the account holder, and has authorised that the planned payments be taken from this account.",
		},
		Rows: append([]Row{
			{"Account holder", a.DirectDebit.AccountHolder},
			{"Account", a.DirectDebit.AccountMask.Words()},
			{"Authority", a.DirectDebit.AuthorityID},
			{"Authorised on", formatTime(a.DirectDebit.AuthorisedAt, zone)},
		}, a.consent(zone)...),
	}
}

// consent says when, from where and to which terms the payer consented; it is empty if no consent is on record.
func (a Agreement) consent(zone *time.Location) []Row {
	c := a.DirectDebit.Consent
	if c.IsZero() {
		return nil
	}
	text := "The payer accepted the direct debit terms on the setup page on " + formatTime(c.At, zone)
	if c.From != "" {
		text += ", from the network address " + c.From
	}
	switch c.Terms {
	case "":
		text += ". Which version the page showed is not on record."
	case a.debitTerms().Name():
		text += ", as they stand below: " + c.Terms + "."
	default:
		text += ", in words that are not quite those below: " + c.Terms + "."
	}
	return []Row{{"Consent", text}}
}

// terms are the operator's own terms, unchanged.
func (a Agreement) terms() Section {
	s := Section{Title: "Terms of the plan"}
	for _, b := range a.Terms.Blocks {
		s.Rows = append(s.Rows, Row{b.Title, b.Text})
	}
	return s
}

// record lists the identifiers of the agreement and its enrolment, and the version of the wording.
func (a Agreement) record() Section {
	return Section{
		Title: "For the record",
		Rows: []Row{
			{"Enrolment order", a.OrderID},
			{"Checkout", a.CheckoutID},
			{"Agreement", a.ID},
			{"Version of the wording", a.Version},
		},
	}
}

// debitTerms are the direct debit terms that the agreement repeats.
func (a Agreement) debitTerms() DebitTerms {
	return DebitTerms{NoticeDays: a.Notice.Days, Provider: a.Provider.Name, Lender: a.Terms.Lender}
}

// Rows returns the text of the terms, on the setup page as in the agreement.
func (t DebitTerms) Rows() []Row {
	return []Row{
		{"Who collects", "The payments are collected by the " + collector(t.Provider, t.Lender) + ", through a direct debit " +
			"processor and the New Zealand banks’ direct debit system (BECS NZ)."},
		{"Operated severally", "The account holder can operate the account alone: no other person has to " +
			"agree to a payment from it."},
		{"Notice", t.notice() + " Before an amount or a planned date is changed, the account holder is given " +
			"30 days’ notice, unless the account holder asked for the change or agrees to less."},
		{"Dispute", "The account holder can dispute a payment with the bank that holds the account within " +
			"120 days of it, and within 9 months of it if it was never authorised."},
		{"Ending the authority", "The account holder can end the authority at any time through that bank. " +
			"What has not been paid by then remains to be paid under the plan."},
	}
}

// notice is the term about the notice period.
func (t DebitTerms) notice() string {
	text := "The agreement gives notice of the amount and the planned date of every payment. No payment is taken " +
		"sooner than " + t.Notice() + " after the day of that notice. If the first payment is planned for an earlier day, the payments start on " +
		"the first day that is late enough, with one payment period between each and the next."
	if t.Days() < UsualNotice {
		text += fmt.Sprintf(" The account holder agrees to this notice in place of the usual %d days.", UsualNotice)
	}
	return text
}

// collector names who collects the payments of a provider's plans, without the article.
func collector(provider string, lender Lender) string {
	who := "operator of this service"
	if lender.Name != "" {
		who = "lender, " + lender.Name
	}
	return who + ", on behalf of " + provider
}

// formatTime formats t in zone: "Friday 20 November 2026, 4:12:05 pm NZDT".
func formatTime(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	return money.DateOf(t).Long() + ", " + t.Format("3:04:05 pm MST")
}

func orNone(c money.Cents) string {
	if c == 0 {
		return "None"
	}
	return c.Dollars()
}
