package gocardlesstest

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// input is one field of a form as the payer filled it in.
type input struct {
	Name     string
	Label    string
	Hint     string
	Value    string
	Error    string // "" where nothing is wrong
	Complete string // what browsers fill in
	Mode     string // of the keyboard
	Focus    bool   // the payer goes on here
}

// inputs is a form.
type inputs []*input

// filled returns a form with its values.
func (all inputs) filled(value func(name string) string) inputs {
	for _, in := range all {
		in.Value = value(in.Name)
	}
	return all
}

// faulty reports whether something is wrong with one of the fields, and sets the focus on the first.
func (all inputs) faulty() bool {
	for _, in := range all {
		if in.Error != "" {
			in.Focus = true
			return true
		}
	}
	return false
}

// normalized returns what reads the fields of a form that a payer sent.
func normalized(values url.Values) func(name string) string {
	return func(name string) string { return text.Normalize(web.One(values, name)) }
}

// newDetails returns the form for the payer's details.
func newDetails() inputs {
	return inputs{
		{Name: "given_name", Label: "First name", Complete: "given-name"},
		{Name: "family_name", Label: "Last name", Complete: "family-name"},
		{Name: "email", Label: "Email", Complete: "email", Mode: "email", Hint: "Your bank’s direct debit notices go there"},
	}
}

// knownDetails returns the form with what was given before, or else with what the flow came with.
func knownDetails(v visit) inputs {
	before := map[string]string{}
	if c := v.request.customer; !v.flow.flags[lockCustomer] {
		before = map[string]string{"given_name": c.GivenName, "family_name": c.FamilyName, "email": c.Email}
	}
	return newDetails().filled(func(name string) string { return cmp.Or(before[name], v.flow.prefilled[name]) })
}

// readDetails reads the form and looks for mistakes.
func readDetails(values url.Values) inputs {
	all := newDetails().filled(normalized(values))
	all[0].Error = checkName(all[0].Value, "first name")
	all[1].Error = checkName(all[1].Value, "last name")
	email := all[2]
	if email.Value == "" {
		email.Error = "Enter your email address."
	} else if fault := text.CheckEmail(email.Value); fault != "" {
		email.Error = "The email address " + fault + "."
	}
	return all
}

// checkName returns what is wrong with a name, or "".
func checkName(name, what string) string {
	if name == "" {
		return "Enter the " + what + "."
	}
	if fault := text.CheckName(name); fault != "" {
		return "The " + what + " " + fault + "."
	}
	return ""
}

// accountInput is the form for the account. A payer may put the whole number into its first part.
type accountInput struct {
	Holder, Authority *input
	Parts             inputs // of the account number
	NumberError       string // of the parts together
}

func (in accountInput) faulty() bool {
	return append(append(inputs{in.Holder}, in.Parts...), in.Authority).faulty()
}

func newAccount(holder string) accountInput {
	in := accountInput{
		Holder: &input{Name: "account_holder_name", Label: "Account holder", Value: holder, Complete: "name",
			Hint: "The name on the account, as your bank writes it"},
		Parts: inputs{{Name: "bank_code", Label: "Bank"}, {Name: "branch_code", Label: "Branch"},
			{Name: "account_number", Label: "Account"}, {Name: "account_number_suffix", Label: "Suffix"}},
		Authority: &input{Name: "authority_confirmed", Label: "I can use this account on my own: no one else has to sign"},
	}
	for _, part := range in.Parts {
		part.Mode, part.Complete = "numeric", "off"
	}
	return in
}

// knownAccount returns the form with the account that was given before. The box must be ticked again.
func knownAccount(v visit) accountInput {
	c := v.request.customer
	if v.request.account == nil {
		return newAccount(strings.TrimSpace(c.GivenName + " " + c.FamilyName))
	}
	in := newAccount(v.request.account.holder)
	in.set(v.request.account.number)
	return in
}

// set puts a number into its parts.
func (in accountInput) set(n bankaccount.Number) {
	for i, text := range []string{n.Bank, n.Branch, n.Base, n.Suffix} {
		in.Parts[i].Value = text
	}
}

// readAccount reads the form and looks for mistakes. The number is valid only if nothing is wrong.
func readAccount(values url.Values) (accountInput, bankaccount.Number) {
	in := newAccount(normalized(values)("account_holder_name"))
	in.Holder.Error = checkName(in.Holder.Value, "name of the account holder")
	var parts []string
	for _, part := range in.Parts {
		part.Value = strings.Trim(bankaccount.Tidy(web.One(values, part.Name)), " -")
		if part.Value != "" {
			parts = append(parts, part.Value)
		}
	}
	number, err := bankaccount.Parse(strings.Join(parts, "-"))
	switch {
	case len(parts) == 0:
		in.NumberError = "Enter the account number."
	case err != nil:
		in.NumberError = bankaccount.Sentence(err)
	default:
		in.set(number)
	}
	in.Parts[0].Error = in.NumberError
	if in.Authority.Value = web.One(values, "authority_confirmed"); in.Authority.Value == "" {
		in.Authority.Error = "Tick this if no one else has to sign. If someone does, use another account."
	}
	return in, number
}
