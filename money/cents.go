// Package money holds the amounts, plans and dates of an interest-free payment
// plan: exact cents, instalments that sum to the principal, and the schedule of
// charges that follows from them. It does no I/O and reads no clock.
//
// All amounts are New Zealand dollars, held as whole cents (contract, section 8).
package money

import (
	"errors"
	"fmt"
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

// maxText is the length of the longest number that Parse reads, in bytes.
const maxText = 32

// Parse reads the text of a JSON number as an amount of dollars, exactly:
// "1250", "1250.00" and "1.25e3" are the same amount, and "-0" is zero. It uses no
// float, and never more time than 32 bytes take, however large the exponent. It
// returns one of the errors above.
func Parse(text string) (Cents, error) {
	if len(text) > maxText {
		return 0, ErrTooLong
	}
	n, ok := scan(text)
	switch {
	case !ok:
		return 0, ErrNotNumber
	case n.coefficient == 0:
		return 0, nil
	case n.negative:
		return 0, ErrNegative
	case n.exponent < -2:
		return 0, ErrFraction
	}
	c := shift(n.coefficient, n.exponent+2)
	if c > Max {
		return 0, ErrTooLarge
	}
	return c, nil
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

// number is a JSON number as it was written, ±coefficient × 10^exponent, with the
// zeros at the coefficient's end moved into the exponent.
type number struct {
	negative    bool
	coefficient Cents // some amount above Max if it is above Max
	exponent    int
}

// scan reads a text by the grammar of JSON numbers (RFC 8259, section 6).
func scan(text string) (n number, ok bool) {
	text, n.negative = strings.CutPrefix(text, "-")
	whole, rest := cutDigits(text)
	if whole == "" || whole[0] == '0' && len(whole) > 1 {
		return number{}, false
	}
	rest, pointed := strings.CutPrefix(rest, ".")
	fraction := ""
	if pointed {
		if fraction, rest = cutDigits(rest); fraction == "" {
			return number{}, false
		}
	}
	if n.exponent, ok = scanExponent(rest); !ok {
		return number{}, false
	}
	zeros := 0 // since the last digit that is not 0
	for _, digit := range []byte(whole + fraction) {
		if digit == '0' {
			zeros++
			continue
		}
		n.coefficient = shift(n.coefficient, zeros+1) + Cents(digit-'0')
		zeros = 0
	}
	n.exponent += zeros - len(fraction)
	return n, true
}

// scanExponent reads what follows the digits of a number: nothing, or a power of ten. A
// power that puts every coefficient out of bounds is reduced to a smaller power that still does.
func scanExponent(text string) (exponent int, ok bool) {
	if text == "" {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text, negative := strings.CutPrefix(text[1:], "-")
	if !negative {
		text, _ = strings.CutPrefix(text, "+")
	}
	digits, rest := cutDigits(text)
	if digits == "" || rest != "" {
		return 0, false
	}
	for _, digit := range []byte(digits) {
		exponent = min(10*exponent+int(digit-'0'), 10*maxText)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

// cutDigits cuts text after its leading ASCII digits.
func cutDigits(text string) (digits, rest string) {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

// shift returns c × 10^n, or some amount above Max if that is above Max. It takes
// no more than ten steps, and never overflows.
func shift(c Cents, n int) Cents {
	for ; n > 0 && 0 < c && c <= Max; n-- {
		c *= 10
	}
	return c
}
