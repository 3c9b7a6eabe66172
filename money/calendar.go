package money

import (
	"fmt"
	"slices"
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

// Holiday returns the name of the public holiday of the whole country that is kept on d; "" for any other day.
func (d Date) Holiday() string {
	_, day, _ := strings.Cut(d.String(), "-")
	if i := slices.Index(strings.Fields(holidays[d.Year]), day); i >= 0 {
		return holidayNames[i]
	}
	return ""
}

// holidayNames are the names of the days of each year in holidays.
var holidayNames = [...]string{"New Year’s Day", "the day after New Year’s Day", "Waitangi Day", "Good Friday", "Easter Monday",
	"Anzac Day", "the King’s Birthday", "Matariki", "Labour Day", "Christmas Day", "Boxing Day"}

// holidays are the public holidays of the whole country from 2026 to 2037 as months and days, in the order of holidayNames, as
// they are kept when one falls on a weekend, by the Holidays Act 2003 and the Te Kāhui o Matariki Public Holiday Act 2022 as
// those stood on 22 November 2026. In later years only weekends are known.
var holidays = map[int]string{
	2026: "01-01 01-02 02-06 04-03 04-06 04-27 06-01 07-10 10-26 12-25 12-28",
	2027: "01-01 01-04 02-08 03-26 03-29 04-26 06-07 06-25 10-25 12-27 12-28",
	2028: "01-03 01-04 02-07 04-14 04-17 04-25 06-05 07-14 10-23 12-25 12-26",
	2029: "01-01 01-02 02-06 03-30 04-02 04-25 06-04 07-06 10-22 12-25 12-26",
	2030: "01-01 01-02 02-06 04-19 04-22 04-25 06-03 06-21 10-28 12-25 12-26",
	2031: "01-01 01-02 02-06 04-11 04-14 04-25 06-02 07-11 10-27 12-25 12-26",
	2032: "01-01 01-02 02-06 03-26 03-29 04-26 06-07 07-02 10-25 12-27 12-28",
	2033: "01-03 01-04 02-07 04-15 04-18 04-25 06-06 06-24 10-24 12-26 12-27",
	2034: "01-02 01-03 02-06 04-07 04-10 04-25 06-05 07-07 10-23 12-25 12-26",
	2035: "01-01 01-02 02-06 03-23 03-26 04-25 06-04 06-29 10-22 12-25 12-26",
	2036: "01-01 01-02 02-06 04-11 04-14 04-25 06-02 07-18 10-27 12-25 12-26",
	2037: "01-01 01-02 02-06 04-03 04-06 04-27 06-01 07-10 10-26 12-25 12-28",
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
