package money

import (
	"errors"
	"fmt"
	"time"
)

// Date is a calendar day, without a time or a zone. The zero Date is not a day.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ErrDate is the error of ParseDate for a text that is not a date. It completes a sentence that starts with a field's name.
var ErrDate = errors.New("must be a real date from 2000 to 2199, written YYYY-MM-DD")

// ParseDate reads a real day written exactly as YYYY-MM-DD, from 2000 to 2199. Its
// only error is ErrDate.
func ParseDate(text string) (Date, error) {
	if len(text) != len(time.DateOnly) {
		return Date{}, ErrDate
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || !DateOf(t).Valid() {
		return Date{}, ErrDate
	}
	return DateOf(t), nil
}

// Valid reports whether d is a real day from 2000 to 2199, as a request may name one.
func (d Date) Valid() bool {
	return 2000 <= d.Year && d.Year <= 2199 && DateOf(d.midnight()) == d
}

// DateOf returns the day that t falls on in t's own location.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// String formats d as YYYY-MM-DD.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// Long formats d for people: "Monday 1 February 2027".
func (d Date) Long() string { return d.midnight().Format("Monday 2 January 2006") }

// IsZero reports whether d is the zero Date.
func (d Date) IsZero() bool { return d == Date{} }

// After returns the day that is n periods of f after d. A month's missing day is its
// last: one month after 31 January is 28 or 29 February, two months after it 31 March.
// It panics if f is not valid, because a guessed due date would be worse.
func (d Date) After(f Frequency, n int) Date {
	switch f {
	case Weekly:
		return d.AddDays(7 * n)
	case Fortnightly:
		return d.AddDays(14 * n)
	case Monthly:
		month := Date{d.Year, d.Month, 1}.midnight().AddDate(0, n, 0)
		last := month.AddDate(0, 1, -1).Day()
		return Date{month.Year(), month.Month(), min(d.Day, last)}
	}
	panic(fmt.Sprintf("money: %q is no frequency", f))
}

// AddDays returns the day that is n days after d.
func (d Date) AddDays(n int) Date { return DateOf(d.midnight().AddDate(0, 0, n)) }

// Before reports whether d is an earlier day than e.
func (d Date) Before(e Date) bool { return d.midnight().Before(e.midnight()) }

// midnight returns the start of d in UTC, where every day has one.
func (d Date) midnight() time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)
}
