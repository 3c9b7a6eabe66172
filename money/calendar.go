package money

import (
	"errors"
	"fmt"
	"time"
)

// Calendar determines the days on which a collector of direct debits takes payments. It is a fact of the collector, not of the
// banks: BECS NZ settles on every day of the year.
type Calendar string

const (
	EveryDay     Calendar = "every_day"
	BusinessDays Calendar = "business_days" // see Date.IsBusinessDay
)

// Valid reports whether c is one of the calendars above.
func (c Calendar) Valid() bool { return c == EveryDay || c == BusinessDays }

// Collects reports whether a payment is taken on d. The zero Calendar is EveryDay.
func (c Calendar) Collects(d Date) bool { return c != BusinessDays || d.IsBusinessDay() }

// Next returns d, or the first day after it on which payments are taken.
func (c Calendar) Next(d Date) Date {
	for !c.Collects(d) {
		d = d.AddDays(1)
	}
	return d
}

// IsBusinessDay reports whether d is neither a Saturday, a Sunday nor a public holiday of the whole country. A regional holiday is
// a business day.
func (d Date) IsBusinessDay() bool {
	weekday := d.midnight().Weekday()
	return weekday != time.Saturday && weekday != time.Sunday && d.Holiday() == ""
}

// Holiday returns the name of the public holiday of the whole country that is kept on d; "" for any other day. After 2052 it does not
// know Matariki.
func (d Date) Holiday() string {
	for _, h := range holidays {
		if h.from <= d.Month && d.Month <= h.until && h.kept(d.Year) == d {
			return h.name
		}
	}
	return ""
}

// holidays are the public holidays of the whole country, with the months in which they may be kept and the days on which they are, by the
// Holidays Act 2003 and the Te Kāhui o Matariki Public Holiday Act 2022 as those stood on 22 November 2026.
var holidays = []struct {
	name        string
	from, until time.Month
	kept        func(year int) Date
}{
	{"New Year’s Day", time.January, time.January, moved(time.January, 1, 2)},
	{"the day after New Year’s Day", time.January, time.January, moved(time.January, 2, 2)},
	{"Waitangi Day", time.February, time.February, moved(time.February, 6, 1)},
	{"Good Friday", time.March, time.April, func(year int) Date { return easterSunday(year).AddDays(-2) }},
	{"Easter Monday", time.March, time.April, func(year int) Date { return easterSunday(year).AddDays(1) }},
	{"Anzac Day", time.April, time.April, moved(time.April, 25, 1)},
	{"the King’s Birthday", time.June, time.June, nthMonday(time.June, 1)},
	{"Matariki", time.June, time.July, matarikiIn},
	{"Labour Day", time.October, time.October, nthMonday(time.October, 4)},
	{"Christmas Day", time.December, time.December, moved(time.December, 25, 2)},
	{"Boxing Day", time.December, time.December, moved(time.December, 26, 2)},
}

// moved is the rule for a holiday that is kept on the Monday where it falls on a Saturday, and so many days later where it falls on a Sunday: a
// day, or two where the holiday before it is kept on that Monday.
func moved(month time.Month, day, sunday int) func(int) Date {
	return func(year int) Date {
		d := Date{year, month, day}
		switch d.midnight().Weekday() {
		case time.Saturday:
			return d.AddDays(2)
		case time.Sunday:
			return d.AddDays(sunday)
		}
		return d
	}
}

func nthMonday(month time.Month, n int) func(int) Date {
	return func(year int) Date {
		first := Date{year, month, 1}
		return first.AddDays((8-int(first.midnight().Weekday()))%7 + 7*(n-1))
	}
}

// matarikiIn returns the day of Matariki in a year; the zero date where it is not known.
func matarikiIn(year int) Date {
	at := 6 * (year - firstMatariki)
	if at < 0 || at >= len(matariki) {
		return Date{}
	}
	two := func(text string) int { return 10*int(text[0]-'0') + int(text[1]-'0') }
	return Date{year, time.Month(two(matariki[at:])), two(matariki[at+3:])}
}

// matariki are the months and days of Matariki from 2022 to 2052, as the Act's schedule has them.
const (
	firstMatariki = 2022
	matariki      = "06-24 07-14 06-28 06-20 07-10 06-25 07-14 07-06 06-21 07-11 07-02 06-24 07-07 06-29 07-18 07-10 06-25 07-15 07-06 07-19 " +
		"07-11 07-03 06-24 07-07 06-29 07-19 07-03 06-25 07-15 06-30 06-21"
)

func easterSunday(year int) Date {
	golden, century := year%19, year/100
	epact := (century - century/4 - (8*century+13)/25 + 19*golden + 15) % 30
	moon := epact - (epact/28)*(1-(epact/28)*(29/(epact+1))*((21-golden)/11)) // days of the full moon after 21 March
	weekday := (year + year/4 + moon + 2 - century + century/4) % 7
	return Date{year, time.March, 28}.AddDays(moon - weekday)
}

// Payment is a charge of a schedule with its day of collection.
type Payment struct {
	Charge      // Due is the planned day
	Taken  Date // the first day from Due on on which the collector takes payments
}

// Moved gives the reason why the payment is not taken on its planned day, in the words of a list: "Monday 28 December is Boxing Day: taken
// Tuesday 29". It is "" for a payment that is taken on its planned day.
func (p Payment) Moved() string {
	if p.Taken == p.Due {
		return ""
	}
	why, taken := "not a business day", p.Taken.midnight().Format("Monday 2")
	if name := p.Due.Holiday(); name != "" {
		why = name
	}
	if p.Taken.Month != p.Due.Month {
		taken = p.Taken.midnight().Format("Monday 2 January")
	}
	return fmt.Sprintf("%s is %s: taken %s", p.Due.midnight().Format("Monday 2 January"), why, taken)
}

// Payments returns each charge of a schedule with the day on which a collector with this calendar takes it, where nothing may be
// taken before the day earliest. A schedule that starts on that day or later is planned as it is due. Otherwise it starts on
// earliest and keeps one period between charges, so that charges whose due dates have passed are not taken on one day.
func (c Calendar) Payments(charges []Charge, f Frequency, earliest Date) []Payment {
	payments := make([]Payment, len(charges))
	for i, charge := range charges {
		if charges[0].Due.Before(earliest) {
			charge.Due = earliest.After(f, i)
		}
		payments[i] = Payment{charge, c.Next(charge.Due)}
	}
	return payments
}

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
