package fakeprocessor

import (
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/bankaccount"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/text"
)

// input is the form as the payer filled it in, with its mistakes.
type input struct {
	Holder, Account, Authority field
}

// Bank returns the name of the bank that the account number begins with; "" where there is none.
func (in input) Bank() string {
	if number := bankaccount.Tidy(in.Account.Value); len(number) >= 2 {
		return bankaccount.Number{Bank: number[:2]}.BankName()
	}
	return ""
}

// Focus names the first field that has a mistake, where the payer goes on.
func (in input) Focus() string {
	switch {
	case in.Holder.Error != "":
		return "account_holder_name"
	case in.Account.Error != "":
		return "account_number"
	case in.Authority.Error != "":
		return "authority_confirmed"
	}
	return ""
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

func (in input) faulty() bool {
	return in.Holder.Error != "" || in.Account.Error != "" || in.Authority.Error != ""
}

// read reads the form. The completion is valid only if the input is not faulty. provider is whom a payer asks for help.
func read(values url.Values, provider string) (input, completion) {
	var in input
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
		return in, completion{}
	}
	return in, completion{holder: holder, mask: account.Mask()}
}

// checkHolder returns what is wrong with an account holder's name, or "".
func checkHolder(name string) string {
	if name == "" {
		return "Enter the name of the account holder."
	}
	if fault := text.CheckName(name); fault != "" {
		return "The name of the account holder " + fault + "."
	}
	return ""
}
