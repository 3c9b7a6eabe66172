package agreement

import "github.com/provider-checkout/provider-checkout/money"

// Authority says who debits the account under a direct debit authority, by which code, and as what the payer's bank statement
// shows it. A processor that knows says it (checkout.Creditor); for a collector of the operator's own the operator's terms do. The
// zero Authority names nobody: the payments are collected by the lender, or by the operator, on every day.
type Authority struct {
	Initiator         string         // who debits the account, by the name that the code is registered for; "" means who collects
	AuthorisationCode string         // of the initiator: 7 digits, or the reference by which the scheme knows it
	Statement         string         // the text of the bank statement: "particulars KOWHAI, code PLAN", or the initiator's name
	Form              string         // the company whose form takes the authority, such as GoCardless; "" is this service
	Calendar          money.Calendar // the days on which the initiator takes payments; "" means money.EveryDay
	Conditions        []Block        // in the place of the scheme's usual ones, where there are any
}

// Limits of an Authority.
const (
	authorisationDigits = 7 // of the code in an operator's terms
	maxConditions       = 20
)

// IsZero reports whether a says nothing.
func (a Authority) IsZero() bool {
	return a.Initiator == "" && a.AuthorisationCode == "" && a.Statement == "" && a.Form == "" && a.Calendar == "" && len(a.Conditions) == 0
}
