package letter

import (
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// Mandate is the direct debit of an agreement that has ended, or works again.
type Mandate struct {
	Agreement agreement.Agreement
	Setup     checkout.Setup
	Page      string     // the address of the payer's page, or ""
	Today     money.Date // in New Zealand
}

// OfMandate tells the payer that a direct debit has ended, what is still owed, what to do and whom to ask; or that it works again.
func OfMandate(m Mandate) Letter {
	a := m.Agreement
	course, provider := a.Course.Name, a.Provider.Name
	name, email := a.Terms.Ask(provider, a.Provider.SupportEmail)
	contact := ask(email, name)
	question := contact + " now"
	if email != "" {
		question += ", and ask"
	}
	direct := sheet{provider: provider, colour: a.Provider.Colour, names: a.Names(), sandbox: a.Sandbox, card: m.rows(), button: "Open your page", link: m.Page,
		subject: "your direct debit has ended", title: "Your direct debit has ended", paragraphs: []string{
			hello(a.Student),
			"The direct debit for your payment plan for " + course + " at " + provider + " has ended. No payments can be taken with it any more.",
			"Why it has ended: " + m.Setup.Ending(),
			"Your agreement " + a.Number + " has not ended. You still owe the payments that you have not made yet, on the dates in the agreement.",
			"What to do: " + question + " how to make these payments. Please do not wait until the next date.",
		}, sections: []agreement.Section{{Paragraphs: []string{passOn}}, m.help()}}
	if !m.Setup.Mandate.Dead() {
		direct.subject, direct.title = "your direct debit works again", "Your direct debit works again"
		direct.paragraphs = []string{
			hello(a.Student),
			"The direct debit for your payment plan for " + course + " at " + provider + " works again. Payments can be taken with it again, " +
				"on the dates of your agreement " + a.Number + ".",
			"A payment that could not be taken in the meantime is still owed. To make it, " + contact + ".",
			"If neither you nor the account holder asked for this, " + contact + " at once, and ask the bank to stop it.",
		}
	}
	return direct.letter()
}

// rows names the agreement, the account and the next payment of the plan.
func (m Mandate) rows() []agreement.Row {
	a := m.Agreement
	rows := []agreement.Row{{Label: "Agreement", Value: a.Number}, {Label: "Account", Value: string(m.Setup.AccountMask)}}
	for _, p := range a.Payments() {
		if !p.Taken.Before(m.Today) {
			return append(rows, agreement.Row{Label: "Next payment of the plan", Value: p.Amount.Dollars() + " on " + p.Taken.Long()})
		}
	}
	return append(rows, agreement.Row{Label: "Next payment of the plan", Value: "The dates of all payments have passed."})
}

// help says whom the payer may ask, as far as the agreement names them.
func (m Mandate) help() agreement.Section {
	a := m.Agreement
	help := agreement.Section{Title: "Who can help you"}
	add := func(label, name, contact string) {
		switch {
		case contact == "" && name == "":
			return
		case name == "":
			name, contact = contact, ""
		case contact != "":
			contact = ", " + contact
		}
		help.Rows = append(help.Rows, agreement.Row{Label: label, Value: name + contact})
	}
	add("If you cannot pay", "", a.Terms.Hardship)
	add("Your education provider", a.Provider.Name, a.Provider.SupportEmail)
	add("Your lender", a.Terms.Lender.Name, a.Terms.Lender.Email)
	return help
}
