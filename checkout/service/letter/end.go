package letter

import (
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// Cancel is a checkout that was cancelled though a direct debit was set up for it.
type Cancel struct {
	Checkout checkout.Checkout
	Provider string // by the name by which the payer knows it
	Colour   string // of its branding, or ""
	Contact  string // its address for questions; "" without an address
	Sandbox  bool
}

// OfCancel tells the payer that a checkout is cancelled, and its direct debit with it.
func OfCancel(l Cancel) Letter {
	c := l.Checkout
	by := l.Provider + " has cancelled it."
	if c.End.By == checkout.PartyOperator {
		by = "We have cancelled it."
	}
	return sheet{provider: l.Provider, colour: l.Colour, sandbox: l.Sandbox,
		names: []string{l.Provider, agreement.Student(c.Student).Name(), c.Intent.CourseName, c.Setup.AccountHolder}, subject: "your direct debit is cancelled",
		title: "Your direct debit is cancelled", paragraphs: []string{
			hello(agreement.Student(c.Student)),
			"The payment plan for " + c.Intent.CourseName + " at " + l.Provider + " was cancelled before it became an agreement. " + by,
			"The direct debit that was set up for it is cancelled too. Nothing was taken from the account.",
			"You need not do anything. If you have a question, " + ask(l.Contact, l.Provider) + ".",
		}, card: []agreement.Row{{Label: "Account", Value: c.Setup.AccountHolder + ", " + string(c.Setup.AccountMask)}},
		sections: []agreement.Section{{Paragraphs: []string{passOn}}}}.letter()
}

// OfWithdrawal tells the payer that an agreement was withdrawn at a time, and its direct debit cancelled.
func OfWithdrawal(m Mandate, at time.Time) Letter {
	a := m.Agreement
	return sheet{provider: a.Provider.Name, colour: a.Provider.Colour, names: a.Names(), sandbox: a.Sandbox,
		subject: "your agreement " + a.Number + " is withdrawn", title: "Your agreement is withdrawn", paragraphs: []string{
			hello(a.Student),
			"Your payment plan agreement " + a.Number + " for " + a.Course.Name + " at " + a.Provider.Name + " was withdrawn on " +
				money.DateOf(at).Long() + ".",
			"Its direct debit is cancelled. No more payments are taken with it. A payment that your bank had already begun may still appear on " +
				"your statement.",
			"To find out whether something is still to be paid, or is paid back to you, " + ask(a.Provider.SupportEmail, a.Provider.Name) + ".",
			"Keep the agreement: it stays on record, and so does its PDF.",
		}, card: []agreement.Row{{Label: "Agreement", Value: a.Number}, {Label: "Account", Value: string(m.Setup.AccountMask)}},
		button: "Open your page", link: m.Page, sections: []agreement.Section{{Paragraphs: []string{passOn}}, m.help()}}.letter()
}
