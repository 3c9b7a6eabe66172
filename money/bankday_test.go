package money_test

import (
	"fmt"
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

// Every year of the table has eleven days off between Monday and Friday besides its weekends.
func TestEveryYearHasElevenHolidays(t *testing.T) {
	for year, want := range map[int]int{2025: 0, 2026: 11, 2027: 11, 2028: 11, 2029: 11, 2030: 11, 2031: 11, 2032: 11, 2033: 11,
		2034: 11, 2035: 11, 2036: 11, 2037: 11, 2038: 0} {
		holidays := 0
		for d := (money.Date{Year: year, Month: time.January, Day: 1}); d.Year == year; d = d.AddDays(1) {
			weekday := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Weekday()
			if !d.IsBankDay() && weekday != time.Saturday && weekday != time.Sunday {
				holidays++
			}
		}
		if holidays != want {
			t.Errorf("%d has %d holidays, want %d", year, holidays, want)
		}
	}
}
