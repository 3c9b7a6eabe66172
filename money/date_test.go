package money_test

import (
	"errors"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

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

func TestAddDays(t *testing.T) {
	for _, tt := range []struct {
		from string
		days int
		want string
	}{
		{"2027-01-31", 0, "2027-01-31"}, {"2027-01-31", 1, "2027-02-01"}, {"2028-02-28", 1, "2028-02-29"},
		{"2027-12-25", 10, "2028-01-04"}, {"2027-03-01", -1, "2027-02-28"},
	} {
		if got := date(t, tt.from).AddDays(tt.days).String(); got != tt.want {
			t.Errorf("%s.AddDays(%d) = %s, want %s", tt.from, tt.days, got, tt.want)
		}
	}
}

func TestBefore(t *testing.T) {
	for _, tt := range []struct {
		d, e string
		want bool
	}{
		{"2027-01-31", "2027-02-01", true}, {"2027-02-01", "2027-01-31", false}, {"2027-01-31", "2027-01-31", false},
		{"2026-12-31", "2027-01-01", true}, {"2028-01-01", "2027-12-31", false},
	} {
		if got := date(t, tt.d).Before(date(t, tt.e)); got != tt.want {
			t.Errorf("%s.Before(%s) = %v, want %v", tt.d, tt.e, got, tt.want)
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
