// Package letter writes what payers are sent, as plain text and as a page of HTML. The words of an agreement and of the direct
// debit terms come from package agreement.
package letter

import (
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// Letter is a message to a payer.
type Letter struct {
	Subject string // one line
	Text    string
	HTML    string
}

// sheet is the content of a letter, in the order in which it is read. Every letter is a sheet, written as text and as HTML.
type sheet struct {
	provider   string   // the education provider, by the name by which the payer knows it
	colour     string   // #rrggbb, of its branding, or ""
	names      []string // from outside, which stand in the words of the letter
	sandbox    bool
	subject    string // without the provider
	title      string
	paragraphs []string
	card       []agreement.Row // the matter in a few lines
	button     string          // the text of the link
	link       string          // the address of the payer's page; "" without a link
	sections   []agreement.Section
}

// Setup is a direct debit that a payer has set up.
type Setup struct {
	Checkout  checkout.Checkout
	Provider  string // by the name by which the payer knows it
	Colour    string // of its branding, or ""
	Contact   string // its address for questions; "" without an address
	Page      string // the address of the payer's page, or ""
	Completed time.Time
	Payments  []money.Payment      // as they are planned before the confirm
	Terms     agreement.DebitTerms // that the payer accepted
	Sandbox   bool
}

// OfSetup confirms that a direct debit is set up.
func OfSetup(s Setup) Letter {
	c, first := s.Checkout, s.Payments[0]
	return sheet{provider: s.Provider, colour: s.Colour,
		names: []string{s.Provider, agreement.Student(c.Student).Name(), c.Intent.CourseName, c.Setup.AccountHolder, s.Terms.Lender.Name,
			s.Terms.Authority.Initiator},
		sandbox: s.Sandbox, subject: "your direct debit is set up",
		title: "Your direct debit is set up",
		paragraphs: []string{
			hello(agreement.Student(c.Student)),
			"A direct debit is now set up for " + c.Intent.CourseName + " at " + s.Provider + ". The first payment is planned: " +
				first.Amount.Dollars() + " on " + first.Taken.Long() + ".",
			"Nothing was taken from the account to set it up. " + s.Provider + " has not confirmed the enrolment yet, and may agree " +
				"another first date with you. After that you get the agreement by email, with the date and the amount of every payment.",
			"If neither you nor the account holder set this up, " + ask(s.Contact, s.Provider) + " at once, and ask the bank to stop it.",
		},
		card: append(card(s.Payments, c.Intent, c.Setup.AccountHolder, c.Setup.AccountMask, s.Terms.Authority),
			agreement.Row{Label: "Set up on", Value: moment(s.Completed)}, stop(s.Terms, s.Contact)),
		button: "Open your page", link: s.Page,
		sections: []agreement.Section{
			{Paragraphs: []string{passOn}},
			{Title: "Direct debit terms", Rows: s.Terms.Rows()},
		}}.letter()
}

// Concluded is an agreement that is concluded.
type Concluded struct {
	agreement.Agreement
	Attached bool   // its PDF goes with the letter
	Page     string // the address of the payer's page, or ""
	Proven   bool   // the page has the proof of the agreement, or will have it soon
	Zone     *time.Location
	Receipt  string // "" without one
}

// OfAgreement sends the payer an agreement. It is the notice of the amounts and dates, and has the whole text where no PDF goes
// with it. As the payer may not have been told of the direct debit, it tells of that too. The error is that of Agreement.Text.
func OfAgreement(c Concluded) (Letter, error) {
	a, payments := c.Agreement, c.Agreement.Payments()
	whole, err := a.Text(c.Zone)
	if err != nil {
		return Letter{}, err
	}
	first, contact := "The first payment, ", a.Provider.SupportEmail
	if len(payments) == 1 {
		first = "The payment, "
	}
	s := sheet{provider: a.Provider.Name, colour: a.Provider.Colour, names: a.Names(), sandbox: a.Sandbox,
		subject: "your payment plan agreement " + a.Number, title: "Your payment plan agreement",
		paragraphs: []string{
			hello(a.Student),
			"The direct debit is set up, and the enrolment in " + a.Course.Name + " at " + a.Provider.Name + " is confirmed. " + first +
				payments[0].Amount.Dollars() + ", is taken from the account on " + payments[0].Taken.Long() + ".",
			"This message is the notice of the payments: their dates and amounts are below. " + c.kept(),
		},
		card: append(card(payments, checkout.Intent{Pricing: a.Pricing, Plan: a.Plan}, a.DirectDebit.AccountHolder,
			a.DirectDebit.AccountMask, a.Terms.Authority), stop(a.DebitTerms(), contact)),
		button: "Open your page", link: c.Page,
		sections: []agreement.Section{{Paragraphs: []string{passOn}}}}
	if !a.CancelUntil.IsZero() {
		s.paragraphs = append(s.paragraphs, "You can cancel the plan until the end of "+a.CancelUntil.Long()+". “Right to cancel” "+
			"below says how.")
	}
	if c.Proven && c.Page != "" {
		s.paragraphs = append(s.paragraphs, "Your page also has the proof of the agreement: a small file with which anybody can check "+
			"that the agreement was not changed. Save it, and keep it with the agreement.")
	}
	s.paragraphs = append(s.paragraphs, "If something is not right, "+ask(contact, a.Provider.Name)+" before the first payment.")
	if c.Receipt != "" {
		s.sections = append(s.sections, agreement.Section{Title: "Receipt", Paragraphs: []string{
			"This text shows that the agreement is on record. Keep it.", c.Receipt}})
	}
	if !c.Attached {
		s.sections = append(s.sections, whole...)
		return s.letter(), nil
	}
	for _, section := range whole {
		if section.Number = 0; !section.Table.IsZero() { // it stands alone here
			s.sections = append(s.sections, section)
		}
	}
	s.sections = append(s.sections, agreement.Section{Title: "Who debits the account", Rows: debits(a)})
	if rows := append(a.Rights(), questions(a)...); len(rows) > 0 {
		s.sections = append(s.sections, agreement.Section{Title: "Your rights, and whom to ask", Rows: rows})
	}
	return s.letter(), nil
}

// kept says where the payer has the whole agreement.
func (c Concluded) kept() string {
	switch text := "The whole agreement, " + c.Number + ", is "; {
	case !c.Attached:
		return text + "below too: this message is your copy of it."
	case c.Page != "":
		return text + "attached as a PDF and on your page."
	default:
		return text + "attached as a PDF."
	}
}

// card says what is paid when, from which account, and as what a bank statement shows it.
func card(payments []money.Payment, i checkout.Intent, holder string, mask agreement.AccountMask,
	by agreement.Authority) []agreement.Row {
	var rows []agreement.Row
	for _, step := range agreement.Steps(payments, i.Plan.Frequency) {
		rows = append(rows, agreement.Row{Label: step.Label, Value: step.String()})
	}
	rows = append(rows,
		agreement.Row{Label: "Total to pay", Value: i.Pricing.Price.Dollars() + ", with no interest"},
		agreement.Row{Label: "Account", Value: holder + ", " + string(mask)})
	if by.Statement != "" {
		rows = append(rows, agreement.Row{Label: "On the bank statement", Value: by.Statement})
	}
	return rows
}

// debits says who debits the account, and as what a bank statement shows it.
func debits(a agreement.Agreement) []agreement.Row {
	rows, _, _ := a.DebitTerms().Parts()
	return rows
}

// questions says whom to ask about what.
func questions(a agreement.Agreement) (rows []agreement.Row) {
	if a.Provider.SupportEmail != "" {
		rows = append(rows, agreement.Row{Label: "Questions to the education provider", Value: a.Provider.SupportEmail})
	}
	if lender := a.Terms.Lender; lender.Email != "" {
		rows = append(rows, agreement.Row{Label: "Questions to the lender", Value: lender.Name + ", " + lender.Email})
	}
	return rows
}

// Link is a new link to the setup page, for which a payer or an operator has asked.
type Link struct {
	Student  agreement.Student
	Course   string
	Provider string // by the name by which the payer knows it
	Colour   string // of its branding, or ""
	Address  string
	Until    money.Date // the link works on this day at least
	Sandbox  bool
}

// OfLink sends the payer a new link to the setup page.
func OfLink(l Link) Letter {
	return sheet{provider: l.Provider, colour: l.Colour, names: []string{l.Provider, l.Student.Name(), l.Course}, sandbox: l.Sandbox, subject: "your new link", title: "Your new link",
		paragraphs: []string{
			hello(l.Student),
			"Here is a new link to set up the direct debit for " + l.Course + " at " + l.Provider + ". It works until " + l.Until.Long() + ".",
			"Somebody who had the old link asked for it, or our support. If that was not you, you need not do anything: nothing is set up " +
				"until bank details are given.",
		},
		button: "Set up the direct debit", link: l.Address, sections: []agreement.Section{{Paragraphs: []string{passOn}}}}.letter()
}

// stop says how the payments are stopped, as the terms say it. The contact is the provider's.
func stop(t agreement.DebitTerms, contact string) agreement.Row {
	how := "Tell the bank or " + t.Told()
	name, email := agreement.Terms{Lender: t.Lender}.Ask(t.Provider, contact)
	switch {
	case len(t.Authority.Conditions) > 0:
		how = "The direct debit terms say how"
	case email != "" && strings.HasSuffix(how, name):
		how += " (" + email + ")"
	}
	return agreement.Row{Label: "To stop the payments", Value: how + ". What is not paid by then is still owed under the plan."}
}

const passOn = "We send this message to the student’s email address, the only one that we have. If another person holds the account, please " +
	"send the message on to that person."

func hello(s agreement.Student) string { return "Hello " + s.Name() + "," }

// ask says where to turn to.
func ask(contact, provider string) string {
	if contact == "" {
		return "ask " + provider
	}
	return "write to " + contact
}

// moment formats a time in its zone: "Friday 20 November 2026, 4:12 pm NZDT".
func moment(t time.Time) string { return money.DateOf(t).Long() + ", " + t.Format("3:04 pm MST") }
