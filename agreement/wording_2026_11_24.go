package agreement

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// wording20261124 is the wording of the first release.
type wording20261124 struct{}

func (w wording20261124) sections(a Agreement, zone *time.Location) []Section {
	sections := []Section{
		w.opening(a, zone),
		w.summary(a),
		w.payments(a),
		w.parties(a),
		w.cost(a),
	}
	if rights := w.rights(a.Terms, a.CancelUntil); len(rights) > 0 {
		sections = append(sections, Section{Title: "Your rights", Clauses: true,
			Paragraphs: []string{"“You” means the payer."}, Rows: rights})
	}
	return append(sections,
		w.declarations(a, zone),
		w.authorised(a, zone),
		Section{Title: "Direct debit terms", Clauses: true, Rows: w.conditions(a.DebitTerms())},
		w.plan(a),
		w.record(a),
	)
}

// opening is the first section; an agreement of the sandbox says that it is not binding.
func (wording20261124) opening(a Agreement, zone *time.Location) Section {
	with := ""
	if lender := a.Terms.Lender.Name; lender != "" {
		with = " with the lender, " + lender + ","
	}
	paragraphs := []string{"This is an interest-free payment plan" + with + " for a course of " + a.Provider.Name + ". The payer pays " +
		"the course price in the payments that are listed here. They are taken from the payer’s bank account by direct debit."}
	if a.Sandbox {
		paragraphs = append(paragraphs, "This is a test in a sandbox, and not an agreement: no bank is asked and no money moves.")
	}
	return Section{Title: title, Paragraphs: paragraphs, Rows: []Row{
		{"Agreement number", a.Number},
		{"Accepted on", formatTime(a.AcceptedAt, zone)},
	}}
}

// summary says in a few lines who pays, how much and when.
func (wording20261124) summary(a Agreement) Section {
	payer := a.DirectDebit.AccountHolder
	if payer != a.Student.Name() { // which may look like a mistake: many banks know no macrons
		payer += " (the name given with the bank account)"
	}
	rows := []Row{
		{"Payer", payer},
		{"Student", a.Student.Name()},
		{"Course", a.Course.Name},
		{"Education provider", a.Provider.Name},
	}
	if a.Terms.Lender.Name != "" {
		rows = append(rows, Row{"Lender", a.Terms.Lender.Name})
	}
	for _, step := range Steps(a.Payments(), a.Plan.Frequency) {
		rows = append(rows, Row{step.Label, step.String()})
	}
	rows = append(rows, Row{"Total to pay", a.Terms.InAll(a.Pricing.Price)})
	return Section{Title: "At a glance", AtAGlance: true, Rows: rows}
}

// payments lists every charge with the day from which it may be collected.
func (wording20261124) payments(a Agreement) Section {
	table := Table{
		Header: []string{"No.", "Planned date", "Payment", "Amount"},
		Foot:   []string{"", "", "Total to pay", a.Pricing.Price.Dollars()},
	}
	moved := false
	for _, p := range a.Payments() {
		table.Rows = append(table.Rows, []string{strconv.Itoa(p.Sequence), p.Taken.Long(), p.Type.Label(), p.Amount.Dollars()})
		table.Notes = append(table.Notes, p.Moved())
		moved = moved || p.Moved() != ""
	}
	paragraphs := []string{"The table lists every payment, with its amount and the day on which it is planned to be taken from the account."}
	if moved {
		paragraphs = append(paragraphs, "Payments are taken on business days: not on Saturdays, Sundays or public holidays. If a payment "+
			"is due on such a day, the table has the next business day, with the reason below it.")
	}
	if first := a.firstPayment(); first != a.Plan.First {
		paragraphs = append(paragraphs, Deferred(a.Plan.First, first)+" The other payments follow as far apart as planned.")
	}
	if a.Notice != (Notice{}) {
		paragraphs = append(paragraphs, fmt.Sprintf("No payment is taken before %s. That is the first possible day, at least %s "+
			"after the day of this agreement.", a.Notice.NotBefore.Long(), a.DebitTerms().Notice()))
	}
	return Section{Title: "Planned payments", Paragraphs: paragraphs, Table: table}
}

func (wording20261124) parties(a Agreement) Section {
	rows := []Row{{"Education provider", a.Provider.Name}}
	if a.Provider.SupportEmail != "" {
		rows = append(rows, Row{"Questions to", a.Provider.SupportEmail})
	}
	if lender := a.Terms.Lender; lender != (Lender{}) {
		rows = append(rows, Row{"Lender", lender.Name}, Row{"Lender’s address", lender.Address})
		if lender.Registration != "" {
			rows = append(rows, Row{"Lender’s registration", lender.Registration})
		}
		if lender.Email != "" {
			rows = append(rows, Row{"Lender’s email", lender.Email})
		}
	}
	return Section{
		Title: "Names and contacts",
		Paragraphs: []string{a.Provider.Name + " gave the student’s name and email. The payer is the holder of the bank account, " +
			"by the name that was given with the account."},
		Rows: append(rows, Row{"Student’s email", a.Student.Email}),
	}
}

func (wording20261124) cost(a Agreement) Section {
	var rows []Row
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
	case a.Plan.Number == 1: // it is the whole that is paid by instalments
	case a.Plan.Residual():
		rows = append(rows, Row{"Regular instalment", a.Plan.Regular.Dollars()}, Row{"Final instalment", a.Plan.Final.Dollars()})
	default:
		rows = append(rows, Row{"Regular instalment", a.Plan.Regular.Dollars()})
	}
	rows = append(rows,
		Row{"Payment frequency", strings.Replace(string(a.Plan.Frequency), "Fortnightly", "Every two weeks", 1)},
		Row{"Interest", "None"},
	)
	return Section{Title: "What the course costs", Rows: rows}
}

func (wording20261124) rights(t Terms, until money.Date) (rows []Row) {
	if t.Cancellation != (Cancellation{}) {
		rows = append(rows, Row{"Right to cancel", cancelBy(t.Cancellation, until) + "\n" + t.Cancellation.How})
	}
	if t.Hardship != "" {
		rows = append(rows, Row{"If you cannot pay", "If illness, injury, the loss of your job, the end of a relationship or another " +
			"reasonable cause makes it hard to pay, you can ask for a change of the plan. Contact: " + t.Hardship})
	}
	if t.Disputes != (DisputeScheme{}) {
		rows = append(rows, Row{"Complaints", "If the lender does not settle your complaint, you can take it to a dispute resolution scheme: " +
			t.Disputes.Name + ". Contact: " + t.Disputes.Contact})
	}
	if fees := t.DefaultFees.Text(); fees != "" {
		rows = append(rows, Row{"Default fees", fees})
	}
	return rows
}

// cancelBy says when a payer can cancel: until a day or, where that is not known yet, by the rule.
func cancelBy(c Cancellation, until money.Date) string {
	if until != (money.Date{}) {
		return "You can cancel the plan until the end of " + until.Long() + "."
	}
	return "You can cancel the plan within " + c.Period() + " after the day on which you receive the agreement. If it is sent " +
		"electronically, the second working day after it is sent counts as the day on which you receive it. Saturdays, Sundays, public " +
		"holidays and the days from 25 December to 2 January are not working days."
}

func (wording20261124) declarations(a Agreement, zone *time.Location) Section {
	return Section{
		Title: "What the student declared",
		Paragraphs: []string{a.Provider.Name + " asked the student for these declarations and passed them on. " +
			"Each was accepted and recorded on " + formatTime(a.AcceptedAt, zone) + "."},
		Rows: []Row{
			{"Payment plan", "The student accepts the payment plan."},
			{"Information", "The student confirms the information given for the enrolment and the plan."},
			{"Privacy", "The student consents to the use of personal information for the enrolment and the plan."},
			{"First payment", "The student confirms the deposit or first payment, which is payment 1 in the table. " +
				"No payment had been taken by then."},
		},
	}
}

func (w wording20261124) authorised(a Agreement, zone *time.Location) Section {
	d := a.DirectDebit
	rows := append([]Row{
		{"Account holder", d.AccountHolder},
		{"Account", string(d.AccountMask)},
		{"Authorised on", formatTime(d.AuthorisedAt, zone)},
	}, w.debits(a.DebitTerms())...)
	rows = append(rows, Row{"Authority", w.authority(a.DebitTerms())})
	if c := d.Consent; !c.IsZero() {
		text := "The payer accepted the direct debit terms on the setup page on " + formatTime(c.At, zone)
		if c.From != "" {
			text += ", from the IP address " + c.From
		}
		switch c.Terms {
		case "":
			text += ". Which version the page showed is not on record."
		case a.DebitTerms().Name():
			text += ", in the words of this agreement."
		default:
			text += ", in another version of these words: see “Terms accepted” below."
		}
		if shown := c.Disclosed; shown.SHA256 != "" {
			page := "a page"
			if shown.Page != "" {
				page = "the page " + shown.Page
			}
			text += " Before that, " + page + " showed the payer the terms and the plan. The fingerprint (SHA-256) of that text is " + shown.SHA256 + "."
		}
		rows = append(rows, Row{"Consent", text})
	}
	return Section{
		Title:      "Direct debit authority",
		Paragraphs: []string{"The payer is the account holder, and has given this authority (permission) to debit the account. “I” in it is the payer."},
		Rows:       rows,
	}
}

// DebitTerms returns the direct debit terms that the agreement repeats.
func (a Agreement) DebitTerms() DebitTerms {
	return DebitTerms{Version: a.Version, NoticeDays: a.Notice.Days, Provider: a.Provider.Name, Lender: a.Terms.Lender,
		Authority: a.Terms.Authority}
}

// debits says who debits the account, under which code, and as what the bank statement shows it.
func (wording20261124) debits(t DebitTerms) []Row {
	rows := []Row{{"Who debits", initiates(t)}}
	if code := t.Authority.AuthorisationCode; code != "" {
		rows = append(rows, Row{"Authorisation code", code})
	}
	if statement := t.Authority.Statement; statement != "" {
		rows = append(rows, Row{"On the bank statement", "Each payment shows as " + statement + "."})
	}
	if form := t.Authority.Form; form != "" {
		rows = append(rows, Row{"Where it is given", "The account holder gives the authority on a page of " + form + "."})
	}
	return rows
}

// authority is the authority in the payer's words, close to the form of the scheme.
func (wording20261124) authority(t DebitTerms) string {
	code := ""
	if t.Authority.AuthorisationCode != "" {
		code = ", with the authorisation code " + t.Authority.AuthorisationCode
	}
	return "I authorise my bank to debit my account with the amounts of direct debits from " + t.Initiator() + code +
		", in accordance with this authority until further notice. I agree that this authority is subject to my bank’s terms and " +
		"conditions for my account, and to the terms listed below."
}

// initiates says who debits the account, and for whom.
func initiates(t DebitTerms) string {
	who, lender := sentence(t.Initiator()), ""
	switch t.Lender.Name {
	case "":
	case t.Initiator():
		who = "The lender, " + who + ","
	default:
		lender = " for the lender, " + t.Lender.Name + ","
	}
	return who + " debits the account" + lender + " to pay for a course of " + t.Provider + ": it takes each payment from the account " +
		"through the New Zealand banks’ direct debit system (BECS NZ)."
}

// sentence begins a sentence with the party that it is given.
func sentence(who string) string {
	if rest, found := strings.CutPrefix(who, "the "); found {
		return "The " + rest
	}
	return who
}

// conditions are the conditions of the authority.
func (wording20261124) conditions(t DebitTerms) []Row {
	rows := []Row{
		{"Notice", noticeOfPayments(t)},
		{"Electronic documents", "The account holder agrees to get the agreement, and the notices about the payments, electronically: by " +
			"email or on a page of this service."},
	}
	if len(t.Authority.Conditions) > 0 {
		for _, b := range t.Authority.Conditions {
			rows = append(rows, Row{b.Title, b.Text})
		}
		return rows
	}
	return append(rows,
		Row{"Who can use the account", "The account holder can use the account alone: no one else has to sign."},
		Row{"Payments that fail", "If the bank refuses (dishonours) a payment, " + t.Initiator() + " may debit the account again for it, without a " +
			"second notice, within 5 business days of the first debit. Saturdays, Sundays and public holidays are not business days."},
		Row{"Dispute", "Up to 120 calendar days after a payment is taken, the account holder may ask the bank to reverse it (to pay it back), " +
			"if the account holder got no notice of its amount and date, or if the amount or the date is not that of the notice. Up to 9 " +
			"months after the first payment is taken, the account holder may ask the bank to reverse a payment if the account holder is " +
			"not reasonably satisfied that this authority allowed the bank to debit the account with it."},
		Row{"Ending the authority", "The account holder can end the authority at any time: tell the bank or " + t.Told() + ". " +
			"What is not paid by then is still owed under the plan."},
	)
}

// noticeOfPayments is the term about the notice period.
func noticeOfPayments(t DebitTerms) string {
	text := "The agreement is the notice of the payments: it tells the account holder the amount and the planned date of every payment. No " +
		"payment is taken sooner than " + t.Notice() + " after the day of that notice. If the first payment is planned for an earlier " +
		"day, it moves to the first possible day, and the other payments follow as far apart as planned."
	if t.Days() < UsualNotice {
		text += fmt.Sprintf(" The account holder agrees to this notice in place of the usual %d calendar days.", UsualNotice)
	}
	return text + " The account holder gets a notice 30 calendar days before an amount or a planned date changes, unless the account " +
		"holder asked for the change or agrees to a shorter notice."
}

// Told names the party beside the bank that the account holder tells to end the authority.
func (t DebitTerms) Told() string {
	switch {
	case t.Authority.Initiator != "":
		return t.Authority.Initiator
	case t.Lender.Name != "":
		return "the lender, " + t.Lender.Name
	}
	return t.Provider
}

// plan has the terms that hold for every plan, and after them the operator's.
func (wording20261124) plan(a Agreement) Section {
	early := "The payer can ask " + a.Provider.Name + " at any time to pay early, in full or in part."
	if lender := a.Terms.Lender.Name; lender != "" { // which must accept a full payment: section 50 of the Act
		early = "The payer can pay all that is left at any time, and can ask the lender, " + lender + ", to take a part early."
	}
	terms := Section{Title: "Terms of the plan", Clauses: true, Rows: []Row{
		{"Security", "No security is taken for this plan: it gives nobody a right over anything that the payer or the student owns."},
		{"Paying early", early},
	}}
	for _, b := range a.Terms.Blocks {
		terms.Rows = append(terms.Rows, Row{b.Title, b.Text})
	}
	return terms
}

// record lists the identifiers of the agreement, of its enrolment and authority, and of the terms that were accepted.
func (wording20261124) record(a Agreement) Section {
	rows := []Row{
		{"Enrolment order", a.OrderID},
		{"Version of the wording", a.Version},
		{"Checkout", a.CheckoutID},
		{"Agreement", a.ID},
		{"Direct debit authority", a.DirectDebit.AuthorityID},
	}
	if terms := a.DirectDebit.Consent.Terms; terms != "" {
		rows = append(rows, Row{"Terms accepted", terms + " (version, days of notice, fingerprint)"})
	}
	return Section{Title: "For the record", Rows: rows}
}

// foot is short enough for the page's number beside it.
func (wording20261124) foot(a Agreement) string {
	foot := a.Title() + ", wording of " + a.Version
	if a.Sandbox {
		foot += ". SANDBOX: no agreement"
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
