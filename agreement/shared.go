package agreement

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// This file contains what several wordings have in common, word for word. It never changes: a wording that says
// something else has that in its own file.

// introduction is the first paragraph.
func introduction(a Agreement) string {
	return "This is an interest-free payment plan for a course of " + a.Provider.Name + ". The payer pays " +
		"the course price in the payments that are listed here, and nothing on top of it. " +
		"The payments are collected by direct debit."
}

// opening is the first section; an agreement of the sandbox says that it is a test and no agreement.
func opening(a Agreement, zone *time.Location) Section {
	paragraphs := []string{introduction(a)}
	if a.Sandbox {
		paragraphs = append(paragraphs, "This was made in the sandbox. It is a test, and no agreement: no bank is asked and no money moves.")
	}
	return Section{Title: title, Paragraphs: paragraphs, Rows: identity(a, zone)}
}

func identity(a Agreement, zone *time.Location) []Row {
	return []Row{
		{"Agreement number", a.Number},
		{"Accepted on", formatTime(a.AcceptedAt, zone)},
	}
}

// summary says in a few lines who pays what, and when: who is its first rows, and when says it of the i-th charge.
func summary(a Agreement, who []Row, when func(i int) string) Section {
	rows := append(who,
		Row{"Course", a.Course.Name},
		Row{"Education provider", a.Provider.Name},
		Row{"Total to pay", a.Pricing.Price.Dollars() + ", with no interest and no fees"},
	)
	payment := func(i int) string { return a.Schedule[i].Amount.Dollars() + " " + when(i) }
	switch n := len(a.Schedule); n {
	case 0: // an agreement that Check refuses
	case 1:
		rows = append(rows, Row{"Payment", payment(0)})
	default:
		rows = append(rows,
			Row{"First payment", payment(0)},
			Row{"Instalments", instalments(a)},
			Row{"Last payment", payment(n - 1)},
		)
	}
	return Section{Title: "At a glance", AtAGlance: true, Rows: rows}
}

// instalments describes the instalments of the plan: "51 weekly of $53.65, and a final one of $53.85".
func instalments(a Agreement) string {
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

func student(a Agreement) string { return a.Student.FirstName + " " + a.Student.LastName }

// cost shows first as the day of the first payment.
func cost(a Agreement, first money.Date) Section {
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
			Row{"First payment planned for", first.Long()},
			Row{"Interest", "Nil"},
			Row{"Fees", "Nil"},
			Row{"Total to pay", a.Pricing.Price.Dollars()},
		),
	}
}

// planned lists every charge with the day that shown returns for the i-th.
func planned(a Agreement, shown func(i int) money.Date, paragraphs ...string) Section {
	table := Table{
		Header: []string{"No.", "Planned date", "Payment", "Amount"},
		Foot:   []string{"", "", "Total to pay", a.Pricing.Price.Dollars()},
	}
	for i, c := range a.Schedule {
		table.Rows = append(table.Rows,
			[]string{strconv.Itoa(c.Sequence), shown(i).Long(), c.Type.Label(), c.Amount.Dollars()})
	}
	const fixed = "The amounts are fixed. The dates are planned: the direct debit processor and the banks decide " +
		"on which day a payment leaves the account. A payment that is planned for a day on " +
		"which banks do not process payments is taken on a later day on which they do."
	return Section{Title: "Planned payments", Paragraphs: append([]string{fixed}, paragraphs...), Table: table}
}

// spaced is the planned payments with one period between each and the next, however late the first is.
func spaced(a Agreement) Section {
	var deferred []string
	if a.deferred() {
		deferred = []string{"The first payment was to be on " + a.Plan.First.Long() + ", which is sooner than the notice of it " +
			"allows. The payments therefore start on " + a.firstPayment().Long() + ", and one payment period lies between " +
			"each and the next."}
	}
	dates := a.CollectionDates()
	return planned(a, func(i int) money.Date { return dates[i] }, deferred...)
}

// providerAndLender returns the rows of the provider and the lender, which come first in the list of parties.
func providerAndLender(a Agreement) []Row {
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
	return append(rows, Row{"Payments collected by", "The " + collector(a.Provider.Name, a.Terms.Lender)})
}

// payerOfThePlan is the section of the parties where the payer is taken to be the student.
func payerOfThePlan(a Agreement) Section {
	return Section{
		Title:      "Who takes part",
		Paragraphs: []string{"The payer’s name and email came from " + a.Provider.Name + "."},
		Rows: append(providerAndLender(a),
			Row{"Payer", student(a)},
			Row{"Payer’s email", a.Student.Email},
		),
	}
}

// firstIsPaymentOne is the declaration about the first payment, after the name of the party that declares it.
const firstIsPaymentOne = " confirms the deposit or first payment, which is payment 1 of the planned ones. Nothing had been collected by then."

// declarations returns the section of the declarations of a party, who: "payer". first is the declaration about the first payment.
func declarations(a Agreement, who, first string, zone *time.Location) Section {
	accepted := " Accepted on " + formatTime(a.AcceptedAt, zone) + "."
	return Section{
		Title: "What the " + who + " declared",
		Paragraphs: []string{
			a.Provider.Name + " asked the " + who + " for these declarations and passed them on; " +
				"each was recorded at the time that stands with it.",
		},
		Rows: []Row{
			{"Payment plan", "The " + who + " accepts the payment plan." + accepted},
			{"Information", "The " + who + " confirms the information given for the enrolment and the plan." + accepted},
			{"Privacy", "The " + who + " consents to the use of personal information for the enrolment and the plan." + accepted},
			{"First payment", "The " + who + first + accepted},
		},
	}
}

// authority shows the account by these words, and the consent, if there is one, at the end.
func authority(a Agreement, by, account string, consent []Row, zone *time.Location) Section {
	return Section{
		Title:      "Direct debit authority",
		Verified:   true,
		Paragraphs: []string{by + " authorised that the planned payments be taken from this account."},
		Rows: append([]Row{
			{"Account holder", a.DirectDebit.AccountHolder},
			{"Account", account},
			{"Authority", a.DirectDebit.AuthorityID},
			{"Authorised on", formatTime(a.DirectDebit.AuthorisedAt, zone)},
		}, consent...),
	}
}

// accountEnding is the account in the wordings for which an account was the last digits of its base number.
func accountEnding(a Agreement) string {
	return "Ending in " + string(a.DirectDebit.AccountMask) + " before the suffix"
}

// onCollectionDate says when the i-th charge is collected.
func onCollectionDate(a Agreement) func(i int) string {
	dates := a.CollectionDates()
	return func(i int) string { return "on " + dates[i].Long() }
}

// consent says, after words for who accepted the direct debit terms, when, from where and to which terms; it is empty if
// no consent is on record.
func consent(a Agreement, accepted string, zone *time.Location) []Row {
	c := a.DirectDebit.Consent
	if c.IsZero() {
		return nil
	}
	text := accepted + " on the setup page on " + formatTime(c.At, zone)
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

// debitTerms are the direct debit terms that the agreement repeats.
func (a Agreement) debitTerms() DebitTerms {
	return DebitTerms{Version: a.Version, NoticeDays: a.Notice.Days, Provider: a.Provider.Name, Lender: a.Terms.Lender,
		Authority: a.Terms.Authority}
}

// repeated is the section of the direct debit terms.
func repeated(a Agreement) Section {
	return Section{Title: "Direct debit terms", Verified: true, Rows: a.debitTerms().Rows()}
}

// debitTermsWith are the direct debit terms with this notice of payments and of changes.
func debitTermsWith(t DebitTerms, notice string) []Row {
	return []Row{
		{"Who collects", "The payments are collected by the " + collector(t.Provider, t.Lender) + ", through a direct debit " +
			"processor and the New Zealand banks’ direct debit system (BECS NZ)."},
		{"Operated severally", "The account holder can operate the account alone: no other person has to " +
			"agree to a payment from it."},
		{"Notice", notice + " Before an amount or a planned date is changed, the account holder is given " +
			"30 days’ notice, unless the account holder asked for the change or agrees to less."},
		{"Dispute", "The account holder can dispute a payment with the bank that holds the account within " +
			"120 days of it, and within 9 months of it if it was never authorised."},
		{"Ending the authority", "The account holder can end the authority at any time through that bank. " +
			"What has not been paid by then remains to be paid under the plan."},
	}
}

// noticeOfPayments is the term about the notice period; early says what becomes of a payment that is planned within it.
func noticeOfPayments(t DebitTerms, early string) string {
	text := "The agreement gives notice of the amount and the planned date of every payment. No payment is taken " +
		"sooner than " + t.Notice() + " after the day of that notice. " + early
	if t.Days() < UsualNotice {
		text += fmt.Sprintf(" The account holder agrees to this notice in place of the usual %d days.", UsualNotice)
	}
	return text
}

// spacedNotice is the term about the notice period where payments stay one period apart.
func spacedNotice(t DebitTerms) string {
	return noticeOfPayments(t, "If the first payment is planned for an earlier day, the payments start on "+
		"the first day that is late enough, with one payment period between each and the next.")
}

// collector names who collects the payments of a provider's plans, without the article.
func collector(provider string, lender Lender) string {
	who := "operator of this service"
	if lender.Name != "" {
		who = "lender, " + lender.Name
	}
	return who + ", on behalf of " + provider
}

// withTerms appends the operator's own terms, unchanged, and the record.
func withTerms(sections []Section, a Agreement) []Section {
	if len(a.Terms.Blocks) > 0 {
		terms := Section{Title: "Terms of the plan"}
		for _, b := range a.Terms.Blocks {
			terms.Rows = append(terms.Rows, Row{b.Title, b.Text})
		}
		sections = append(sections, terms)
	}
	return append(sections, record(a))
}

// record lists the identifiers of the agreement and its enrolment, and the version of the wording.
func record(a Agreement) Section {
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

// footWithWording is the footer; on a document of the sandbox it says that the document is a test and no agreement.
func footWithWording(a Agreement) string {
	foot := a.Title() + ", wording of " + a.Version
	if a.Sandbox {
		foot += ". SANDBOX: a test, and no agreement"
	}
	return foot
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
