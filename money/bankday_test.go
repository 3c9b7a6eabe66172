package money_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

func ExampleDate_NextBankDay() {
	christmas := money.Date{Year: 2026, Month: time.December, Day: 25} // a Friday: Boxing Day is kept on the Monday
	fmt.Println(christmas.NextBankDay().Long())
	// Output: Tuesday 29 December 2026
}

func TestNextBankDayPassesWeekendsAndHolidaysOfTheWholeCountry(t *testing.T) {
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
		if got := date(t, tt.day).NextBankDay(); got != date(t, tt.want) {
			t.Errorf("%s: the first bank day from %s is %s, want %s", tt.name, tt.day, got, tt.want)
		}
	}
}

// The whole country keeps eleven holidays in every year, no holiday on a weekend, and each of twelve regions keeps another.
func TestHolidaysAreThoseOfEveryYear(t *testing.T) {
	national, regional := map[int]int{}, map[int][]string{}
	var last money.Date
	for _, h := range money.Holidays() {
		if h.Day.Before(last) {
			t.Errorf("%s comes after %s", h.Day, last)
		}
		last = h.Day
		if day := time.Date(h.Day.Year, h.Day.Month, h.Day.Day, 0, 0, 0, 0, time.UTC).Weekday(); day == time.Saturday || day == time.Sunday {
			t.Errorf("%s, %s, is a %s", h.Day, h.Name, day)
		}
		if h.Region == "" {
			national[h.Day.Year]++
		} else {
			regional[h.Day.Year] = append(regional[h.Day.Year], h.Region)
		}
	}
	for year := 2026; year <= 2037; year++ {
		slices.Sort(regional[year])
		if national[year] != 11 || len(regional[year]) != 12 || len(slices.Compact(regional[year])) != 12 {
			t.Errorf("%d has %d holidays, and those of %q; want 11, and 12 regions", year, national[year], regional[year])
		}
	}
	if last.Year != 2037 {
		t.Errorf("the table ends on %s", last)
	}
}
