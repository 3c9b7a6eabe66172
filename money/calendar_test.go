package money_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

func ExampleCalendar_Next() {
	christmas := money.Date{Year: 2026, Month: time.December, Day: 25} // a Friday: Boxing Day is kept on the Monday
	fmt.Println(money.BusinessDays.Next(christmas).Long())
	// Output: Tuesday 29 December 2026
}

func TestBusinessDaysPassWeekendsAndHolidaysOfTheWholeCountry(t *testing.T) {
	for _, tt := range []struct{ name, day, want string }{
		{"a working day is one", "2026-11-24", "2026-11-24"},
		{"a Saturday", "2026-11-28", "2026-11-30"},
		{"a Sunday", "2026-11-29", "2026-11-30"},
		{"a holiday of a region is one", "2027-01-25", "2027-01-25"},
		{"Waitangi Day on a Saturday is kept on the Monday", "2027-02-06", "2027-02-09"},
		{"Easter", "2027-03-26", "2027-03-30"},
		{"Anzac Day on a Sunday is kept on the Monday", "2027-04-25", "2027-04-27"},
		{"Matariki", "2027-06-25", "2027-06-28"},
		{"the turn of a year whose first days are a weekend", "2028-01-01", "2028-01-05"},
		{"the turn of a year that no table has", "2037-12-31", "2037-12-31"},
		{"its first day", "2038-01-01", "2038-01-05"},
		{"Christmas of a far year", "2099-12-25", "2099-12-29"},
	} {
		if got := money.BusinessDays.Next(date(t, tt.day)); got != date(t, tt.want) {
			t.Errorf("%s: the first business day from %s is %s, want %s", tt.name, tt.day, got, tt.want)
		}
	}
}

// The holidays are kept as they are published, as months and days in the order of the names. Of two that follow each other on a weekend, the
// Sunday's is kept on the Tuesday.
func TestHolidaysAreKeptOnThePublishedDays(t *testing.T) {
	names := []string{"New Year’s Day", "the day after New Year’s Day", "Waitangi Day", "Good Friday", "Easter Monday",
		"Anzac Day", "the King’s Birthday", "Matariki", "Labour Day", "Christmas Day", "Boxing Day"}
	for year, published := range map[int]string{
		2026: "01-01 01-02 02-06 04-03 04-06 04-27 06-01 07-10 10-26 12-25 12-28",
		2027: "01-01 01-04 02-08 03-26 03-29 04-26 06-07 06-25 10-25 12-27 12-28",
		2028: "01-03 01-04 02-07 04-14 04-17 04-25 06-05 07-14 10-23 12-25 12-26",
		2029: "01-01 01-02 02-06 03-30 04-02 04-25 06-04 07-06 10-22 12-25 12-26",
		2030: "01-01 01-02 02-06 04-19 04-22 04-25 06-03 06-21 10-28 12-25 12-26",
		2031: "01-01 01-02 02-06 04-11 04-14 04-25 06-02 07-11 10-27 12-25 12-26",
		2032: "01-01 01-02 02-06 03-26 03-29 04-26 06-07 07-02 10-25 12-27 12-28",
		2033: "01-03 01-04 02-07 04-15 04-18 04-25 06-06 06-24 10-24 12-27 12-26",
		2034: "01-03 01-02 02-06 04-07 04-10 04-25 06-05 07-07 10-23 12-25 12-26",
		2035: "01-01 01-02 02-06 03-23 03-26 04-25 06-04 06-29 10-22 12-25 12-26",
		2036: "01-01 01-02 02-06 04-11 04-14 04-25 06-02 07-18 10-27 12-25 12-26",
		2037: "01-01 01-02 02-06 04-03 04-06 04-27 06-01 07-10 10-26 12-25 12-28",
		2052: "01-01 01-02 02-06 04-19 04-22 04-25 06-03 06-21 10-28 12-25 12-26",
	} {
		want := map[string]string{}
		for i, day := range strings.Fields(published) {
			want[day] = names[i]
		}
		for at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == year; at = at.AddDate(0, 0, 1) {
			d, weekend := money.DateOf(at), at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
			if got, want := d.Holiday(), want[at.Format("01-02")]; got != want || d.IsBusinessDay() != (got == "" && !weekend) {
				t.Errorf("%v is %q, want %q", d, got, want)
			}
		}
	}
}

func TestEasterFollowsAnotherRule(t *testing.T) {
	for year := 2000; year < 2200; year++ {
		if at := easterSunday(year).AddDate(0, 0, -2); money.DateOf(at).Holiday() != "Good Friday" {
			t.Errorf("%v is not Good Friday", at)
		}
	}
}

// easterSunday returns Easter Sunday of a year, by the anonymous Gregorian rule.
func easterSunday(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	return time.Date(year, time.Month((h+l-7*m+114)/31), (h+l-7*m+114)%31+1, 0, 0, 0, 0, time.UTC)
}

// No payment of a plan that begins within three years is taken before the first lawful day, or on a day on which its collector takes no
// payments, and no two are taken on one day.
func TestEveryPaymentIsTakenOnALawfulDayOfItsOwn(t *testing.T) {
	numbers := []int{1, 2, 5, 13, 52}
	for _, f := range []money.Frequency{money.Weekly, money.Fortnightly, money.Monthly} {
		for _, calendar := range []money.Calendar{money.EveryDay, money.BusinessDays} {
			for start := range 3 * 365 {
				first := money.Date{Year: 2026, Month: time.December, Day: 1}.AddDays(start)
				for _, number := range numbers {
					plan := money.Plan{Frequency: f, First: first, Instalments: money.Instalments{Number: number, Regular: 1_00, Final: 1_00}}
					earliest := calendar.Next(first.AddDays(start%40 - 20)) // before the planned day, and behind it
					charges := money.Schedule(0, plan)
					var before money.Date
					for i, p := range calendar.Payments(charges, f, earliest) {
						if p.Taken.Before(earliest) || !calendar.Collects(p.Taken) || i > 0 && !before.Before(p.Taken) {
							t.Fatalf("%s, %d from %v, not before %v, %s: payment %d is taken on %v, after one on %v", f, number, first, earliest,
								calendar, i+1, p.Taken, before)
						}
						before = p.Taken
					}
				}
			}
		}
	}
}
