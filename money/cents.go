// Package money holds the amounts, plans and dates of an interest-free payment
// plan: exact cents, instalments that sum to the principal, and the schedule of
// charges that follows from them. It does no I/O and reads no clock.
//
// All amounts are New Zealand dollars, held as whole cents (contract, section 8).
package money

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cents is an amount of New Zealand dollars in whole cents.
type Cents int64

// Max is the largest amount that the service takes: $9,999,999.99.
const Max Cents = 9_999_999_99

// The errors of Parse for a text that is not an amount, in the order in which they are checked.
// Each completes a sentence that starts with a field's name: "pricing.course_price must be …".
var (
	ErrTooLong   = errors.New("must be written in at most 32 characters")
	ErrNotNumber = errors.New("must be a number of dollars, such as 1250.00")
	ErrNegative  = errors.New("must not be negative")
	ErrFraction  = errors.New("must be a whole number of cents")
	ErrTooLarge  = errors.New("must be at most 9999999.99")
)

const (
	maxText   = 32 // bytes of the longest number that Parse reads
	maxDigits = 9  // of an amount in cents: Max is the largest number that has so many
)

// Parse reads the text of a JSON number as an amount of dollars, exactly:
// "1250", "1250.00" and "1.25e3" are the same amount, and "-0" is zero. It uses no
// float, and never more time than 32 bytes take, however large the exponent. It
// returns one of the errors above.
func Parse(text string) (Cents, error) {
	if len(text) > maxText {
		return 0, ErrTooLong
	}
	if strings.Trim(text, "0123456789-+.eE") != "" || !json.Valid([]byte(text)) {
		return 0, ErrNotNumber
	}
	text, negative := strings.CutPrefix(text, "-")
	digits, exponent := scan(text)
	switch {
	case digits == "":
		return 0, nil
	case negative:
		return 0, ErrNegative
	case exponent < -2:
		return 0, ErrFraction
	case len(digits)+exponent+2 > maxDigits:
		return 0, ErrTooLarge
	}
	var c Cents
	for _, digit := range []byte(digits) {
		c = 10*c + Cents(digit-'0')
	}
	for range exponent + 2 {
		c *= 10
	}
	return c, nil
}

// scan reads a JSON number that is not negative: it is digits × 10^exponent, where digits have no zeros around them, and are
// empty for zero.
func scan(text string) (digits string, exponent int) {
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		exponent, _ = strconv.Atoi(text[at+1:]) // the nearest int if it is too large for an int
		exponent = min(max(exponent, -10*maxText), 10*maxText)
		text = text[:at]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent += len(digits) - len(fraction)
	digits = strings.TrimRight(digits, "0")
	return digits, exponent - len(digits)
}

// String formats c in dollars with two decimals: "1250.00", "-0.05".
func (c Cents) String() string {
	sign, size := "", uint64(c)
	if c < 0 {
		sign, size = "-", -size // correct for the smallest Cents too, whose negation overflows
	}
	return fmt.Sprintf("%s%d.%02d", sign, size/100, size%100)
}

// Dollars formats c for people: "$1,250.00", "-$0.05".
func (c Cents) Dollars() string {
	text, negative := strings.CutPrefix(c.String(), "-")
	for i := len(text) - len("000.00"); i > 0; i -= len("000") {
		text = text[:i] + "," + text[i:]
	}
	if negative {
		return "-$" + text
	}
	return "$" + text
}
