// Package money holds the amounts, plans and dates of an interest-free payment
// plan: exact cents, instalments that sum to the principal, and the schedule of
// charges that follows from them. It does no I/O and reads no clock.
//
// All amounts are New Zealand dollars, held as whole cents (contract, section 8).
package money

import (
	"errors"
	"fmt"
)

// Cents is an amount of New Zealand dollars in whole cents.
type Cents int64

// Max is the largest amount that the service takes: $9,999,999.99.
const Max Cents = 9_999_999_99

// What Parse says of a text that is not an amount. Each reads on from a field's
// name: "pricing.course_price must be …".
var (
	ErrNotNumber = errors.New("must be a number of dollars, such as 1250.00")
	ErrFraction  = errors.New("must be a whole number of cents")
	ErrNegative  = errors.New("must not be negative")
	ErrTooLarge  = errors.New("must be at most 9999999.99")
)

// maxText is the longest number, in bytes, that Parse looks at.
const maxText = 32

// Parse reads the text of a JSON number as an amount of dollars, exactly:
// "1250", "1250.00" and "1.25e3" are the same amount. No float is involved, and
// a text of any size costs no more than its first 32 bytes. It returns one of
// the errors above.
func Parse(text string) (Cents, error) { panic("todo") }

// String writes c in dollars with two decimals: "1250.00", "-0.05".
func (c Cents) String() string { return fmt.Sprint(int64(c)) }
