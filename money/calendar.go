package money

import (
	"fmt"
	"strings"
	"time"
)

// Calendar is the rule by which a collector of direct debits knows the days on which it takes payments. It is a fact of the
// collector, not of the banks: BECS NZ settles on every day of the year.
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
	for _, h := range holidays(d.Year) {
		if h.kept == d {
			return h.name
		}
	}
	return ""
}

type holiday struct {
	name string
	kept Date
}

// holidays returns the public holidays of the whole country in a year, on the days on which they are kept, by the Holidays Act 2003 and
// the Te Kāhui o Matariki Public Holiday Act 2022 as those stood on 22 November 2026.
func holidays(year int) []holiday {
	easter := easterSunday(year)
	day := func(month time.Month, day int) time.Time { return time.Date(year, month, day, 0, 0, 0, 0, time.UTC) }
	// Two holidays that follow each other keep two days: from a Saturday on the Monday, and from a Sunday on the Tuesday.
	ofTwo := func(t time.Time) time.Time {
		if w := t.Weekday(); w == time.Saturday || w == time.Sunday {
			return t.AddDate(0, 0, 2)
		}
		return t
	}
	monday := func(t time.Time) time.Time { // from a weekend on
		for w := t.Weekday(); w == time.Saturday || w == time.Sunday; w = t.Weekday() {
			t = t.AddDate(0, 0, 1)
		}
		return t
	}
	nthMonday := func(month time.Month, n int) time.Time {
		first := day(month, 1)
		return first.AddDate(0, 0, (8-int(first.Weekday()))%7+7*(n-1))
	}
	all := []holiday{
		{"New Year’s Day", DateOf(ofTwo(day(time.January, 1)))}, {"the day after New Year’s Day", DateOf(ofTwo(day(time.January, 2)))},
		{"Waitangi Day", DateOf(monday(day(time.February, 6)))},
		{"Good Friday", DateOf(easter.AddDate(0, 0, -2))}, {"Easter Monday", DateOf(easter.AddDate(0, 0, 1))},
		{"Anzac Day", DateOf(monday(day(time.April, 25)))},
		{"the King’s Birthday", DateOf(nthMonday(time.June, 1))}, {"Labour Day", DateOf(nthMonday(time.October, 4))},
		{"Christmas Day", DateOf(ofTwo(day(time.December, 25)))}, {"Boxing Day", DateOf(ofTwo(day(time.December, 26)))},
	}
	if days := strings.Fields(matariki); year >= firstMatariki && year-firstMatariki < len(days) {
		if t, err := time.Parse("2006-01-02", fmt.Sprintf("%d-%s", year, days[year-firstMatariki])); err == nil {
			all = append(all, holiday{"Matariki", DateOf(t)})
		}
	}
	return all
}

// matariki are the months and days of Matariki from 2022 to 2052, as the Act's schedule has them.
const (
	firstMatariki = 2022
	matariki      = "06-24 07-14 06-28 06-20 07-10 06-25 07-14 07-06 06-21 07-11 07-02 06-24 07-07 06-29 07-18 07-10 06-25 07-15 07-06 07-19 " +
		"07-11 07-03 06-24 07-07 06-29 07-19 07-03 06-25 07-15 06-30 06-21"
)

// easterSunday returns Easter Sunday of the Gregorian calendar.
func easterSunday(year int) time.Time {
	golden, century := year%19, year/100
	epact := (century - century/4 - (8*century+13)/25 + 19*golden + 15) % 30
	moon := epact - (epact/28)*(1-(epact/28)*(29/(epact+1))*((21-golden)/11)) // days of the full moon after 21 March
	weekday := (year + year/4 + moon + 2 - century + century/4) % 7
	sunday := moon - weekday
	month := 3 + (sunday+40)/44
	return time.Date(year, time.Month(month), sunday+28-31*(month/4), 0, 0, 0, 0, time.UTC)
}

// Payment is a charge of a schedule with its day of collection.
type Payment struct {
	Charge      // Due is the planned day
	Taken  Date // the first day from Due on on which the collector takes payments
}

// Moved says why the payment is not taken on its planned day, in the words of a list: "Monday 28 December is Boxing Day: taken
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
