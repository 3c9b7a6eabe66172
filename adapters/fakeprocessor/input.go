package fakeprocessor

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/provider-checkout/provider-checkout/adapters/internal/page"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// maxHolder is the longest account holder's name, in characters.
const maxHolder = 255

// input is the form as the payer filled it in, with what is wrong with it.
type input struct {
	Holder, Account, Authority field
}

// field is one field of the form.
type field struct {
	Value string // as it was typed
	Error string // "" where nothing is wrong
}

// Ticked tells whether a box was ticked: the page's own says "yes", and those who try the
// sandbox with a script write what other forms do.
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

// read reads the form. The observation holds only if the input is not faulty.
func read(values url.Values) (input, checkout.Observation) {
	var in input
	in.Holder.Value, _ = page.One(values, "account_holder_name")
	in.Account.Value, _ = page.One(values, "account_number")
	in.Authority.Value, _ = page.One(values, "authority_confirmed")

	holder := norm.NFC.String(strings.TrimSpace(in.Holder.Value))
	in.Holder.Error = checkHolder(holder)
	account, err := checkout.ParseAccount(strings.TrimSpace(in.Account.Value))
	switch {
	case in.Account.Value == "":
		in.Account.Error = "Enter the account number."
	case err != nil:
		in.Account.Error = "The account number " + err.Error() + "."
	}
	if !in.Authority.Ticked() {
		in.Authority.Error = "You can go on only if you may operate the account alone."
	}
	if in.faulty() {
		return in, checkout.Observation{}
	}
	return in, checkout.Observation{
		BillingRequest: checkout.BillingFulfilled,
		Mandate:        checkout.MandatePendingSubmission,
		Authorisation:  checkout.CustomerInProgress,
		AccountHolder:  holder,
		AccountTail:    account.Tail(),
	}
}

// checkHolder says what is wrong with an account holder's name, or "".
func checkHolder(name string) string {
	switch {
	case name == "":
		return "Enter the name of the account holder."
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "The name of the account holder must not hold control characters."
	case utf8.RuneCountInString(name) > maxHolder:
		return "The name of the account holder must have at most 255 characters."
	}
	return ""
}
