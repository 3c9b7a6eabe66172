// Package bankaccount reads New Zealand bank account numbers and checks their check digits, by the rule that Inland
// Revenue publishes for them (its RWT and NRWT specification, "bank account number validation").
package bankaccount

import (
	"errors"
	"strings"
	"unicode"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Number is a New Zealand bank account number whose bank is known and whose check digits are right.
type Number struct {
	Bank   string // 2 digits
	Branch string // 4
	Base   string // 7
	Suffix string // 2 or 3
}

// Example is a number that Parse accepts, for forms to show.
const Example = "01-0902-0068389-00"

// The errors of Parse, in the order in which it checks. Each message continues a
// field's name.
var (
	ErrFormat      = errors.New("must be 15 or 16 digits, such as " + Example)
	ErrBank        = errors.New("must begin with the number of a New Zealand bank")
	ErrZero        = errors.New("must not be all zeros")
	ErrCheckDigits = errors.New("has a mistake in it: its check digits do not match")
)

// Parse reads an account number as people write it: 2-4-7-2/3 ASCII digits, with a
// hyphen, spaces or nothing between them. It returns one of the errors above. Any branch is
// accepted, since the published lists of branches are out of date; so is every number of
// the banks that publish no check digits.
func Parse(text string) (Number, error) {
	n, ok := split(text)
	switch {
	case !ok:
		return Number{}, ErrFormat
	case n.BankName() == "":
		return Number{}, ErrBank
	case strings.Trim(n.Base, "0") == "":
		return Number{}, ErrZero // its sum may well be right
	case !n.checks():
		return Number{}, ErrCheckDigits
	}
	return n, nil
}

// Tidy returns an account number with the separators that people copy from a statement or a message replaced by the
// spaces and hyphens that Parse reads, and with digits of any script or width as ASCII digits.
func Tidy(number string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '0' + digit(r)
		case unicode.IsSpace(r):
			return ' '
		case r == '.' || r == '/' || r == '\u2212' || unicode.Is(unicode.Pd, r):
			return '-'
		case unicode.Is(unicode.Cf, r): // marks of direction and soft hyphens, which are invisible
			return -1
		}
		return r
	}, number))
}

// digit returns the value of a digit. Unicode has the digits of a script one after the other, from zero.
func digit(r rune) (value rune) {
	for unicode.IsDigit(r - value - 1) {
		value++
	}
	return value % 10
}

// Sentence returns what a form says of an account number that Parse has refused.
func Sentence(err error) string {
	if errors.Is(err, ErrCheckDigits) {
		return "Check the account number: one of its digits is wrong." // payers know of no check digits
	}
	return "The account number " + err.Error() + "."
}

// Mask returns the number as it is kept and shown: as banks write it, with all but the last two digits of the base hidden.
func (n Number) Mask() agreement.AccountMask {
	hidden := len(n.Base) - 2
	base := strings.Repeat(agreement.HiddenDigit, hidden) + n.Base[hidden:]
	return agreement.AccountMask(strings.Join([]string{n.Bank, n.Branch, base, n.Suffix}, "-"))
}

// BankName returns the name of the bank that now owns the number; "Bank 26" where its name is not on public record; ""
// if there is no such bank.
func (n Number) BankName() string {
	switch n.Bank {
	case "01", "04", "06", "11", "25":
		return "ANZ"
	case "02", "08":
		return "BNZ"
	case "03", "13", "14", "16", "17", "18", "19", "20", "21", "22", "23", "27":
		return "Westpac"
	case "05":
		return "China Construction Bank"
	case "09":
		return "Reserve Bank of New Zealand"
	case "10":
		return "ICBC"
	case "12", "24":
		return "ASB"
	case "15":
		return "TSB"
	case "30":
		return "HSBC"
	case "31":
		return "Citibank"
	case "38":
		return "Kiwibank"
	case "88":
		return "Bank of China"
	case "26", "28", "29", "33", "35":
		return "Bank " + n.Bank
	}
	return ""
}

// split splits a text into the parts of an account number.
func split(text string) (n Number, ok bool) {
	rest := strings.Trim(text, " ")
	for _, part := range []struct {
		digits *string
		size   int
	}{{&n.Bank, 2}, {&n.Branch, 4}, {&n.Base, 7}} {
		if len(rest) < part.size || !allDigits(rest[:part.size]) {
			return Number{}, false
		}
		*part.digits, rest = rest[:part.size], trimSeparator(rest[part.size:])
	}
	n.Suffix = rest
	return n, allDigits(rest) && (len(rest) == 2 || len(rest) == 3 && rest[0] == '0') // a suffix is below 100
}

// trimSeparator trims the separator before a part: spaces, with at most one hyphen among them.
func trimSeparator(text string) string {
	return strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(text, " "), "-"), " ")
}

// allDigits reports whether text is ASCII digits and nothing else.
func allDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// weights is one algorithm of Inland Revenue's rule for bank account numbers: the digits,
// times their weights, sum to a multiple of the modulus.
type weights struct {
	branch  [4]int
	base    [7]int
	suffix  [3]int
	modulus int
	fold    bool // add a product's digits, and the digits of that sum
}

// checks reports whether the check digits are right by the algorithm of the bank, named by
// its letter in the rule.
func (n Number) checks() bool {
	switch n.Bank {
	case "05", "31", "88": // X
		return true
	case "08": // D
		return n.sums(weights{base: [7]int{7, 6, 5, 4, 3, 2, 1}, modulus: 11})
	case "09": // E
		return n.sums(weights{base: [7]int{0, 0, 0, 5, 4, 3, 2}, suffix: [3]int{0, 0, 1}, modulus: 11, fold: true})
	case "25", "33": // F
		return n.sums(weights{base: [7]int{1, 7, 3, 1, 7, 3, 1}, modulus: 10})
	case "26", "28", "29": // G
		return n.sums(weights{base: [7]int{1, 3, 7, 1, 3, 7, 1}, suffix: [3]int{3, 7, 1}, modulus: 10, fold: true})
	}
	w := weights{base: [7]int{0, 10, 5, 8, 4, 2, 1}, modulus: 11} // B
	if n.Base < "0990000" {
		w.branch = [4]int{6, 3, 7, 9} // A
	}
	return n.sums(w)
}

// sums reports whether the weighted digits sum to a multiple of the modulus.
func (n Number) sums(w weights) bool {
	sum := 0
	add := func(digits string, weights []int) {
		weights = weights[len(weights)-len(digits):] // a suffix of two digits has a zero before it
		for i, weight := range weights {
			product := int(digits[i]-'0') * weight
			if w.fold {
				product = digitSum(digitSum(product))
			}
			sum += product
		}
	}
	add(n.Branch, w.branch[:])
	add(n.Base, w.base[:])
	add(n.Suffix, w.suffix[:])
	return sum%w.modulus == 0
}

// digitSum adds the digits of a product below 100.
func digitSum(product int) int { return product/10 + product%10 }

// Fate is the end of what is set up on an account for tests.
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
	if example, _ := Parse(Example); n.Bank != example.Bank || n.Branch != example.Branch || n.Base != example.Base {
		return Fate{}
	}
	return fates[n.Suffix[len(n.Suffix)-2:]]
}
