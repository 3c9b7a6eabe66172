package money

import "time"

// Date is a day of the calendar, without a time or a zone. The zero Date is no day.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate reads a real day written exactly as YYYY-MM-DD, from 2000 to 2199.
func ParseDate(text string) (Date, error) { panic("todo") }

// DateOf returns the day that t falls on in t's own location.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// String writes d as YYYY-MM-DD.
func (d Date) String() string { panic("todo") }

// Long writes d for a reader: "Monday 1 February 2027".
func (d Date) Long() string { panic("todo") }

// IsZero tells whether d is no day.
func (d Date) IsZero() bool { return d == Date{} }

// After returns the day that is n periods of f after d. A month's missing day is its
// last: one month after 31 January is 28 or 29 February, two months after it 31 March.
func (d Date) After(f Frequency, n int) Date { panic("todo") }
