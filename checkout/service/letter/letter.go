// Package letter writes what payers are sent, as plain text and as a page of HTML. The words of an agreement and of the direct
// debit terms come from package agreement.
package letter

import (
	"fmt"
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

// Setup is a direct debit that a payer has set up.
type Setup struct {
	Checkout  checkout.Checkout
	Provider  string // by the name by which the payer knows it
	Contact   string // its address for questions; "" without an address
	Completed time.Time
	Terms     agreement.DebitTerms // that the payer accepted
	Sandbox   bool
}

// OfSetup confirms that a direct debit is set up.
func OfSetup(s Setup) Letter {
	c, course := s.Checkout, s.Checkout.Intent.CourseName
	paragraphs := []string{
		hello(agreement.Student(c.Student)),
		"A direct debit is now set up for the payment plan for " + course + " at " + s.Provider + ".",
		"Setting it up takes nothing from the account. Payments start after " + s.Provider + " has confirmed the enrolment. " +
			"You then get the agreement, with the date and the amount of every payment.",
		"If you, or the account holder, did not set this up: " + ask(s.Contact, s.Provider) + " at once, and ask your bank to stop it.",
		passOn,
	}
	rows := []agreement.Row{
		{Label: "Account holder", Value: c.Setup.AccountHolder},
		{Label: "Account", Value: string(c.Setup.AccountMask)},
		{Label: "Set up on", Value: moment(s.Completed)},
		{Label: "Debited by", Value: s.Terms.Initiator()},
	}
	if code := s.Terms.Authority.AuthorisationCode; code != "" {
		rows = append(rows, agreement.Row{Label: "Authorisation code", Value: code})
	}
	if statement := s.Terms.Authority.Statement; statement != "" {
		rows = append(rows, agreement.Row{Label: "On the bank statement", Value: statement})
	}
	rows = append(rows,
		agreement.Row{Label: "Course price", Value: c.Intent.Pricing.Price.Dollars()},
		agreement.Row{Label: "Payment plan", Value: plan(c.Intent)})
	return write("Your direct debit for "+course+" is set up", s.Sandbox, []agreement.Section{
		{Title: "Your direct debit is set up", Paragraphs: paragraphs, Rows: rows},
		{Title: "Direct debit terms", Rows: s.Terms.Rows()},
	})
}

// OfAgreement sends the payer an agreement in full: it is a copy of it, and the notice of the amounts and dates. attached says
// that the PDF goes with it. The error is that of Agreement.Text.
func OfAgreement(a agreement.Agreement, attached bool, zone *time.Location) (Letter, error) {
	sections, err := a.Text(zone)
	if err != nil {
		return Letter{}, err
	}
	paragraphs := []string{
		hello(a.Student),
		"The enrolment in " + a.Course.Name + " at " + a.Provider.Name + " is confirmed, and the payment plan agreement " + a.Number +
			" is concluded.",
		"This message is your copy of the agreement. It is also the notice of the payments: their dates and amounts are below.",
	}
	if attached {
		paragraphs = append(paragraphs, "The agreement is attached as a PDF as well.")
	}
	if !a.CancelUntil.IsZero() {
		paragraphs = append(paragraphs, "You can cancel until and including "+a.CancelUntil.Long()+". “Your rights” below says how.")
	}
	paragraphs = append(paragraphs, "If something is not right, "+ask(a.Provider.SupportEmail, a.Provider.Name)+" before the first payment.", passOn)
	cover := agreement.Section{Title: "Your payment plan agreement", Paragraphs: paragraphs}
	return write("Your payment plan agreement "+a.Number, a.Sandbox, append([]agreement.Section{cover}, sections...)), nil
}

// Link is a new link to the setup page, for which a payer has asked.
type Link struct {
	Student  agreement.Student
	Course   string
	Provider string // by the name by which the payer knows it
	Address  string
	Until    money.Date // the link works on this day at least
	Sandbox  bool
}

// OfLink sends the payer a new link to the setup page.
func OfLink(l Link) Letter {
	title := "Your new link"
	return write(title+" for "+l.Course, l.Sandbox, []agreement.Section{{Title: title, Paragraphs: []string{
		hello(l.Student),
		"Here is a new link to set up the direct debit for " + l.Course + " at " + l.Provider + ":",
		l.Address,
		"It works until " + l.Until.Long() + ". Somebody who had the old link asked for it. If that was not you, you need not do anything: " +
			"nothing is set up until bank details are given.",
		passOn,
	}}})
}

const passOn = "This message goes to the student’s email address, the only one on record. If the account is another person’s, please pass it on to them."

func hello(s agreement.Student) string { return "Hello " + s.FirstName + " " + s.LastName + "," }

// ask says where to turn to.
func ask(contact, provider string) string {
	if contact == "" {
		return "ask " + provider
	}
	return "write to " + contact
}

// plan describes the payments: "$200.00 first, then 52 weekly instalments of $53.65, the last of $53.85".
func plan(i checkout.Intent) string {
	p := i.Plan
	text := fmt.Sprintf("%d %s instalments of %s", p.Number, strings.ToLower(string(p.Frequency)), p.Regular.Dollars())
	switch {
	case p.Number == 1:
		text = "1 instalment of " + p.Final.Dollars()
	case p.Residual():
		text += ", the last of " + p.Final.Dollars()
	}
	if i.Pricing.Upfront > 0 {
		text = i.Pricing.Upfront.Dollars() + " first, then " + text
	}
	return text
}

// moment formats a time in its zone: "Friday 20 November 2026, 4:12 pm NZDT".
func moment(t time.Time) string { return money.DateOf(t).Long() + ", " + t.Format("3:04 pm MST") }

// write writes a letter of these sections, of which the first has its title.
func write(subject string, sandbox bool, sections []agreement.Section) Letter {
	if sandbox {
		subject = "[Sandbox] " + subject
		sections[0].Paragraphs = append([]string{"This is a test from a sandbox: no bank is asked and no money moves."}, sections[0].Paragraphs...)
	}
	return Letter{Subject: subject, Text: plainText(sections), HTML: page(subject, sections)}
}
