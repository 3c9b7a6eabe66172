package fakeprocessor

import (
	"html/template"
	"net/url"
	"strings"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// input is the form as the payer filled it in, with its mistakes.
type input struct {
	Holder, Account, Authority field

	provider string // whom a payer asks for help
}

// Bank returns the name of the bank that the account number begins with; "" for an unknown bank.
func (in input) Bank() string {
	if number := bankaccount.Tidy(in.Account.Value); len(number) >= 2 {
		return bankaccount.Number{Bank: number[:2]}.BankName()
	}
	return ""
}

// mistake is a mistake in a field.
type mistake struct {
	Field    string // its name
	Text     template.HTML
	sentence string // the same without marks
}

// Mistakes returns what is wrong with the input, in the order of the fields.
func (in input) Mistakes() (all []mistake) {
	for _, f := range []struct {
		name  string
		field field
	}{{"account_holder_name", in.Holder}, {"account_number", in.Account}, {"authority_confirmed", in.Authority}} {
		if f.field.Error != "" {
			all = append(all, mistake{f.name, in.marked(f.field.Error), f.field.Error})
		}
	}
	return all
}

// Says returns what is wrong with one field; "" where nothing is.
func (in input) Says(field string) template.HTML {
	for _, m := range in.Mistakes() {
		if m.Field == field {
			return m.Text
		}
	}
	return ""
}

// marked is a sentence of the form in which the provider's name is isolated, and the example number is in one piece.
func (in input) marked(sentence string) template.HTML {
	const example = `<span class="whole">` + bankaccount.Example + `</span>`
	return template.HTML(strings.ReplaceAll(string(web.Isolate(sentence, in.provider)), bankaccount.Example, example))
}

// withoutErrors returns the input without its mistakes, for a form that does not complain.
func (in input) withoutErrors() input {
	in.Holder.Error, in.Account.Error, in.Authority.Error = "", "", ""
	return in
}

// field is one field of the form.
type field struct {
	Value string // as it was typed
	Error string // "" where nothing is wrong
}

// Ticked reports whether a box was ticked. The page's own box says "yes"; scripts against the sandbox send what other
// forms do.
func (f field) Ticked() bool {
	switch f.Value {
	case "yes", "on", "true", "1":
		return true
	}
	return false
}

func (in input) faulty() bool { return len(in.Mistakes()) > 0 }

// read reads the form. The completion is valid only if the input is not faulty. provider is whom a payer asks for help.
func read(values url.Values, provider string) (input, completionWire) {
	in := input{provider: provider}
	in.Holder.Value = web.One(values, "account_holder_name")
	in.Account.Value = web.One(values, "account_number")
	in.Authority.Value = web.One(values, "authority_confirmed")

	holder := text.Normalize(strings.TrimSpace(in.Holder.Value))
	in.Holder.Error = checkHolder(holder)
	account, err := bankaccount.Parse(bankaccount.Tidy(in.Account.Value))
	switch {
	case bankaccount.Tidy(in.Account.Value) == "":
		in.Account.Error = "Enter the account number."
	case err != nil:
		in.Account.Error = bankaccount.Sentence(err)
	default:
		in.Account.Value = strings.Join([]string{account.Bank, account.Branch, account.Base, account.Suffix}, "-")
	}
	if !in.Authority.Ticked() {
		in.Authority.Error = "Tick this if no one else has to sign. If someone does, use another account or ask " + provider + "."
	}
	if in.faulty() {
		return in, completionWire{}
	}
	fate := account.Fate()
	return in, completionWire{Holder: holder, Mask: account.Mask(), Cancelled: fate.SetupFails, Mandate: fate.Mandate, Reason: fate.Reason}
}

// checkHolder returns what is wrong with an account holder's name, or "".
func checkHolder(name string) string {
	if name == "" {
		return "Enter the name of the account holder."
	}
	if fault := text.CheckName(name); fault != "" {
		return "The name of the account holder " + fault + "."
	}
	if !strings.ContainsFunc(name, unicode.IsLetter) { // banks write names in letters
		return "Enter the name of the account holder in letters."
	}
	return ""
}
