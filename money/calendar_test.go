package money_test

import (
	"errors"
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

func TestEveryDayIsReadBack(t *testing.T) {
	end := time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC)
	for day := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC); day.Before(end); day = day.AddDate(0, 0, 1) {
		want := money.DateOf(day)
		if got, err := money.ParseDate(want.String()); got != want || err != nil {
			t.Errorf("ParseDate(%q) = %v, %v", want, got, err)
		}
	}
}

// A direct caller can name any day: only the days that a request can name are valid.
func TestValidDatesAreThoseThatCanBeRead(t *testing.T) {
	for _, tt := range []struct {
		date money.Date
		want bool
	}{
		{money.Date{}, false},
		{money.Date{Year: 2000, Month: 1, Day: 1}, true},
		{money.Date{Year: 1999, Month: 12, Day: 31}, false},
		{money.Date{Year: 2199, Month: 12, Day: 31}, true},
		{money.Date{Year: 2200, Month: 1, Day: 1}, false},
		{money.Date{Year: 2028, Month: 2, Day: 29}, true},
		{money.Date{Year: 2027, Month: 2, Day: 29}, false},
		{money.Date{Year: 2027, Month: 2, Day: 30}, false},
		{money.Date{Year: 2027, Month: 13, Day: 1}, false},
		{money.Date{Year: 2027, Month: 0, Day: 1}, false},
		{money.Date{Year: 2027, Month: 1, Day: 0}, false},
		{money.Date{Year: 2027, Month: 1, Day: -1}, false},
		{money.Date{Year: 2027, Month: 1, Day: 32}, false},
		{money.Date{Year: 12345, Month: 1, Day: 1}, false},
		{money.Date{Year: -2027, Month: 1, Day: 1}, false},
	} {
		if got := tt.date.Valid(); got != tt.want {
			t.Errorf("%+v is valid: %v, want %v", tt.date, got, tt.want)
		}
		if back, err := money.ParseDate(tt.date.String()); (err == nil && back == tt.date) != tt.want {
			t.Errorf("%+v reads back as %+v, %v", tt.date, back, err)
		}
	}
}

func TestDateOfIsTheDayInTheTimesOwnZone(t *testing.T) {
	instant := time.Date(2027, time.January, 31, 12, 30, 0, 0, time.UTC)
	if got := money.DateOf(instant).String(); got != "2027-01-31" {
		t.Errorf("DateOf %v = %s, want 2027-01-31", instant, got)
	}
	auckland := instant.In(time.FixedZone("NZDT", 13*60*60))
	if got := money.DateOf(auckland).String(); got != "2027-02-01" {
		t.Errorf("DateOf %v = %s, want 2027-02-01", auckland, got)
	}
}

func TestOnlyTheZeroDateIsNoDay(t *testing.T) {
	if !(money.Date{}).IsZero() {
		t.Error("the zero date is a day")
	}
	if date(t, "2000-01-01").IsZero() {
		t.Error("1 January 2000 is no day")
	}
}

func TestAfter(t *testing.T) {
	tests := []struct {
		name, from string
		frequency  money.Frequency
		periods    int
		want       string
	}{
		{"no period", "2027-01-31", money.Monthly, 0, "2027-01-31"},
		{"a week", "2027-02-22", money.Weekly, 1, "2027-03-01"},
		{"a week over a leap day", "2028-02-28", money.Weekly, 1, "2028-03-06"},
		{"a year of weeks", "2027-01-01", money.Weekly, 52, "2027-12-31"},
		{"a fortnight over the year's end", "2027-12-25", money.Fortnightly, 1, "2028-01-08"},
		{"a missing day is the month's last", "2027-01-31", money.Monthly, 1, "2027-02-28"},
		{"a missing day of a leap year", "2028-01-30", money.Monthly, 1, "2028-02-29"},
		{"a missing day does not stick", "2027-01-31", money.Monthly, 2, "2027-03-31"},
		{"a month of thirty days", "2027-03-31", money.Monthly, 1, "2027-04-30"},
		{"a year of months from a leap day", "2028-02-29", money.Monthly, 12, "2029-02-28"},
		{"four years of months from a leap day", "2028-02-29", money.Monthly, 48, "2032-02-29"},
		{"over the year's end", "2027-12-31", money.Monthly, 1, "2028-01-31"},
		{"fifty years of months", "2199-12-31", money.Monthly, 600, "2249-12-31"},
		{"a month before", "2027-03-31", money.Monthly, -1, "2027-02-28"},
		{"a month before the year's start", "2027-01-15", money.Monthly, -1, "2026-12-15"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := date(t, tt.from).After(tt.frequency, tt.periods); got.String() != tt.want {
				t.Errorf("%s.After(%s, %d) = %s, want %s", tt.from, tt.frequency, tt.periods, got, tt.want)
			}
		})
	}
}

func TestAfterNeverGuessesAFrequency(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("After a frequency that is none returned")
		}
	}()
	date(t, "2027-01-31").After("weekly", 1)
}

func FuzzParseDate(f *testing.F) {
	for _, text := range []string{"2027-02-01", "2028-02-29", "2027-02-29", "1999-12-31", "2200-01-01", "2027-2-1", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := money.ParseDate(text)
		switch {
		case err != nil && !(errors.Is(err, money.ErrDate) && d.IsZero()):
			t.Errorf("ParseDate(%q) = %v, %v", text, d, err)
		case err == nil && (d.String() != text || d.Year < 2000 || d.Year > 2199):
			t.Errorf("ParseDate(%q) = %v", text, d)
		case err == nil && d.After(money.Weekly, 0) != d:
			t.Errorf("ParseDate(%q) = %v, which is no real day", text, d)
		}
	})
}

// date reads a date that is right.
func date(t testing.TB, text string) money.Date {
	t.Helper()
	d, err := money.ParseDate(text)
	if err != nil {
		t.Fatalf("ParseDate(%q): %v", text, err)
	}
	return d
}
