package money_test

import (
	"fmt"
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
		{"after the table only weekends are known", "2099-12-25", "2099-12-25"},
	} {
		if got := money.BusinessDays.Next(date(t, tt.day)); got != date(t, tt.want) {
			t.Errorf("%s: the first business day from %s is %s, want %s", tt.name, tt.day, got, tt.want)
		}
	}
}

// The table agrees with the Acts: the days of each year are found again by their rules, but for Matariki, whose days are listed
// in Schedule 1 of its Act.
func TestHolidaysFollowTheActs(t *testing.T) {
	matariki := map[int]string{2026: "07-10", 2027: "06-25", 2028: "07-14", 2029: "07-06", 2030: "06-21", 2031: "07-11",
		2032: "07-02", 2033: "06-24", 2034: "07-07", 2035: "06-29", 2036: "07-18", 2037: "07-10"}
	for year, day := range matariki {
		on := func(month time.Month, day int) time.Time { return time.Date(year, month, day, 0, 0, 0, 0, time.UTC) }
		monday := func(month time.Month, nth int) time.Time { // the nth of the month
			first := on(month, 1)
			return first.AddDate(0, 0, (8-int(first.Weekday()))%7+7*(nth-1))
		}
		kept := func(at time.Time, onSunday int) time.Time { // a Saturday's on Monday, a Sunday's so many days later
			switch at.Weekday() {
			case time.Saturday:
				return at.AddDate(0, 0, 2)
			case time.Sunday:
				return at.AddDate(0, 0, onSunday)
			}
			return at
		}
		easter := easterSunday(year)
		want := map[string]bool{day: true}
		for _, at := range []time.Time{kept(on(1, 1), 2), kept(on(1, 2), 2), kept(on(2, 6), 1), easter.AddDate(0, 0, -2), easter.AddDate(0, 0, 1),
			kept(on(4, 25), 1), monday(6, 1), monday(10, 4), kept(on(12, 25), 2), kept(on(12, 26), 2)} {
			want[at.Format("01-02")] = true
		}
		for at := on(1, 1); at.Year() == year; at = at.AddDate(0, 0, 1) {
			weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
			d := money.Date{Year: at.Year(), Month: at.Month(), Day: at.Day()}
			if got, want := d.IsBusinessDay(), !weekend && !want[at.Format("01-02")]; got != want {
				t.Errorf("IsBusinessDay(%v) = %v, want %v", d, got, want)
			}
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
