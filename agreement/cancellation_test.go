package agreement_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

func TestCancelUntil(t *testing.T) {
	for _, tt := range []struct {
		name        string
		sent        string
		workingDays int
		want        string
	}{
		{"two weeks without a holiday", "2027-03-01", 5, "2027-03-10"},
		{"one working day", "2027-03-01", 1, "2027-03-04"},
		{"sent on a Saturday", "2027-03-06", 5, "2027-03-16"},
		{"over Christmas, when 1 January is a Friday", "2026-12-21", 5, "2027-01-08"},
		{"on Christmas Eve", "2026-12-24", 5, "2027-01-13"},
		{"on a day after Christmas that is no public holiday", "2026-12-30", 5, "2027-01-13"},
		{"over Christmas, when 1 January is a Saturday", "2027-12-24", 5, "2028-01-13"},
		{"over Christmas, when 1 January is a Sunday", "2033-12-23", 5, "2034-01-12"},
		{"over Christmas, when 1 January is a Monday", "2028-12-22", 5, "2029-01-11"},
		{"over Waitangi Day", "2026-02-02", 5, "2026-02-12"},
		{"over a Waitangi Day that is kept on the Monday", "2027-02-01", 5, "2027-02-11"},
		{"over Easter", "2027-03-22", 5, "2027-04-02"},
		{"over an Anzac Day that is kept on the Monday", "2027-04-21", 5, "2027-05-03"},
		{"over Matariki", "2027-06-21", 5, "2027-07-01"},
		{"a regional anniversary is a working day", "2027-01-25", 5, "2027-02-03"}, // Auckland's, on Monday 1 February
		{"terms that do not say", "2027-03-01", 0, "0000-00-00"},
	} {
		day, err := time.Parse(time.DateOnly, tt.sent)
		if err != nil {
			t.Fatal(err)
		}
		if got := (agreement.Cancellation{WorkingDays: tt.workingDays}).Until(money.DateOf(day)); got.String() != tt.want {
			t.Errorf("%s: sent on %s, %d working days end on %s, want %s", tt.name, tt.sent, tt.workingDays, got, tt.want)
		}
	}
}

// Whatever the day, between it and the last day lie as many weekdays as the Act gives, or more, and the last day is no holiday.
func TestCancelUntilIsNeverTooSoon(t *testing.T) {
	for day := (money.Date{Year: 2026, Month: time.January, Day: 1}); day.Year < 2037; day = day.AddDays(1) {
		until := agreement.Cancellation{WorkingDays: 5}.Until(day)
		business := 0
		for d := day; d != until; {
			if d = d.AddDays(1); d.IsBusinessDay() {
				business++
			}
		}
		if business < 7 || business > 10 || !until.IsBusinessDay() {
			t.Fatalf("sent on %s a plan can be cancelled until %s, after %d business days; want 7, and up to 3 more over Christmas", day, until, business)
		}
	}
}

func TestRightsOfEmptyTerms(t *testing.T) {
	if rows := (agreement.Terms{}).Rights(); len(rows) != 0 {
		t.Errorf("empty terms give the rights %q", rows)
	}
	if rows := (agreement.Agreement{Version: "2020-01-01", Terms: terms()}).Rights(); rows != nil {
		t.Errorf("an agreement in unknown words gives the rights %q", rows)
	}
}
