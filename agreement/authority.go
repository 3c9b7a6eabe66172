package agreement

import (
	"cmp"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// Authority names the party that debits the account under a direct debit authority, its code, and its name on bank
// statements. A processor that knows says it (checkout.Creditor); for a collector of the operator's own the operator's terms do. The
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

// Or returns a, with what other says in the place of what a does not say.
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
