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

// faulty reports whether something is wrong with one of the fields, and sets the focus on the first.
func faulty(fields ...*input) bool {
	for _, f := range fields {
		if f.Error != "" {
			f.Focus = true
			return true
		}
	}
	return false
}

// detailsInput is the form for the payer's details.
type detailsInput struct {
	Given, Family, Email *input
}

func (in detailsInput) faulty() bool { return faulty(in.Given, in.Family, in.Email) }

func (in detailsInput) payer() Payer {
	return Payer{GivenName: in.Given.Value, FamilyName: in.Family.Value, Email: in.Email.Value}
}

func newDetails(given, family, email string) detailsInput {
	return detailsInput{
		Given:  &input{Name: "given_name", Label: "First name", Value: given, Complete: "given-name"},
		Family: &input{Name: "family_name", Label: "Last name", Value: family, Complete: "family-name"},
		Email: &input{Name: "email", Label: "Email", Value: email, Complete: "email", Mode: "email",
			Hint: "Your bank’s direct debit notices go there"},
	}
}

// knownDetails returns the form with what was given before, or else with what the flow came with.
func knownDetails(v visit) detailsInput {
	known, c := v.flow.prefilled, v.request.customer
	if v.flow.lockCustomer {
		return newDetails(known["given_name"], known["family_name"], known["email"])
	}
	return newDetails(cmp.Or(c.GivenName, known["given_name"]), cmp.Or(c.FamilyName, known["family_name"]), cmp.Or(c.Email, known["email"]))
}

// readDetails reads the form and looks for mistakes.
func readDetails(values url.Values) detailsInput {
	one := func(name string) string { return text.Normalize(web.One(values, name)) }
	in := newDetails(one("given_name"), one("family_name"), one("email"))
	in.Given.Error = checkName(in.Given.Value, "first name")
	in.Family.Error = checkName(in.Family.Value, "last name")
	switch fault := text.CheckEmail(in.Email.Value); {
	case in.Email.Value == "":
		in.Email.Error = "Enter your email address."
	case fault != "":
		in.Email.Error = "The email address " + fault + "."
	}
	return in
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
	Holder, Bank, Branch, Number, Suffix, Authority *input
	NumberError                                     string // of the four parts together
}

func (in accountInput) faulty() bool {
	return faulty(in.Holder, in.Bank, in.Branch, in.Number, in.Suffix, in.Authority)
}

// Parts lists the fields of the account number.
func (in accountInput) Parts() []*input { return []*input{in.Bank, in.Branch, in.Number, in.Suffix} }

func newAccount(holder string) accountInput {
	part := func(name, label string) *input {
		return &input{Name: name, Label: label, Mode: "numeric", Complete: "off"}
	}
	return accountInput{
		Holder: &input{Name: "account_holder_name", Label: "Account holder", Value: holder, Complete: "name",
			Hint: "The name on the account, as your bank writes it"},
		Bank: part("bank_code", "Bank"), Branch: part("branch_code", "Branch"), Number: part("account_number", "Account"),
		Suffix:    part("account_number_suffix", "Suffix"),
		Authority: &input{Name: "authority_confirmed", Label: "I can use this account on my own: no one else has to sign"},
	}
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
	in.Bank.Value, in.Branch.Value, in.Number.Value, in.Suffix.Value = n.Bank, n.Branch, n.Base, n.Suffix
}

// readAccount reads the form and looks for mistakes. The number is valid only if nothing is wrong.
func readAccount(values url.Values) (accountInput, bankaccount.Number) {
	in := newAccount(text.Normalize(web.One(values, "account_holder_name")))
	in.Holder.Error = checkName(in.Holder.Value, "name of the account holder")
	var parts []string
	for _, part := range in.Parts() {
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
	in.Bank.Error = in.NumberError
	if in.Authority.Value = web.One(values, "authority_confirmed"); in.Authority.Value == "" {
		in.Authority.Error = "Tick this if no one else has to sign. If someone does, use another account."
	}
	return in, number
}
