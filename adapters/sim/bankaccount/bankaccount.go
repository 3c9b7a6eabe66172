// Package bankaccount reads New Zealand bank account numbers for the simulated processors, and decides what becomes of a direct
// debit on an account for tests.
package bankaccount

import (
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Number is the number of a New Zealand bank account.
type Number struct {
	Bank   string // 2 digits
	Branch string // 4
	Base   string // 7
	Suffix string // 2 or 3
}

// Example is a number that Parse accepts, for forms to show.
const Example = "01-0902-0068389-00"

// written is a number as people write it: with a hyphen, spaces or nothing between the parts. A suffix is below 100.
var written = regexp.MustCompile(`^ *(\d{2}) *-? *(\d{4}) *-? *(\d{7}) *-? *(0?\d{2}) *$`)

// banks are the numbers of the banks whose check digits follow the commonest rule, and otherBanks of the rest, any of whose accounts
// is accepted.
const (
	banks      = "01 02 03 04 06 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 27 30 35 38"
	otherBanks = "05 08 09 25 26 28 29 31 33 88"
)

// Parse reads an account number. fault is a sentence for the payer that says what is wrong with it, or "".
func Parse(text string) (n Number, fault string) {
	parts := written.FindStringSubmatch(text)
	if parts == nil {
		return Number{}, "The account number must be 15 or 16 digits, such as " + Example + "."
	}
	n = Number{parts[1], parts[2], parts[3], parts[4]}
	switch {
	case strings.Contains(otherBanks, n.Bank):
		return n, ""
	case !strings.Contains(banks, n.Bank):
		return Number{}, "The account number must begin with the number of a New Zealand bank."
	case !n.checks():
		return Number{}, "Check the account number: one of its digits is wrong." // payers know of no check digits
	}
	return n, ""
}

// checks reports whether the check digits are right by the rule that Inland Revenue publishes (its RWT and NRWT specification, "bank
// account number validation", algorithms A and B). A base of zeros is no account.
func (n Number) checks() bool {
	digits, weights := n.Branch+n.Base, [...]int{6, 3, 7, 9, 0, 10, 5, 8, 4, 2, 1}
	if n.Base >= "0990000" {
		clear(weights[:len(n.Branch)])
	}
	sum := 0
	for i, weight := range weights {
		sum += int(digits[i]-'0') * weight
	}
	return sum%11 == 0 && n.Base != "0000000"
}

// Mask returns the number as it is kept and shown: as banks write it, with all but the last two digits of the base hidden.
func (n Number) Mask() agreement.AccountMask {
	hidden := len(n.Base) - 2
	base := strings.Repeat(agreement.HiddenDigit, hidden) + n.Base[hidden:]
	return agreement.AccountMask(strings.Join([]string{n.Bank, n.Branch, base, n.Suffix}, "-"))
}

// Fate is the end of a direct debit that is set up on an account for tests.
type Fate struct {
	SetupFails bool                   // there is no mandate
	Mandate    checkout.MandateStatus // a minute after the setup; "" for an account without a fate
	Reason     string                 // the scheme's code, or ""
}

// fates has the fates of the suffixes of Example's account.
var fates = map[string]Fate{
	"01": {Mandate: checkout.MandateFailed, Reason: "NEGATIVE_ACKNOWLEDGEMENT-AC05"},
	"02": {Mandate: checkout.MandateFailed, Reason: "DISHONOUR-AC05"},
	"03": {Mandate: checkout.MandateFailed, Reason: "DISHONOUR-AC03"},
	"04": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AC04"},
	"05": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AC05"},
	"06": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AG01"},
	"07": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-BE05"},
	"08": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AM04"},
	"09": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-MS01"},
	"10": {Mandate: checkout.MandateBlocked},
	"11": {Mandate: checkout.MandateExpired},
	"12": {SetupFails: true},
}

// Fate returns the fate of an account. Of a suffix of three digits the last two count.
func (n Number) Fate() Fate {
	if strings.Join([]string{n.Bank, n.Branch, n.Base, "00"}, "-") != Example {
		return Fate{}
	}
	return fates[n.Suffix[len(n.Suffix)-2:]]
}
