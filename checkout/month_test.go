package checkout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A month has what was accepted, due or withdrawn in it, by New Zealand's calendar.
func TestMonthLine(t *testing.T) {
	zone := time.FixedZone("NZDT", 13*60*60)
	month, err := checkout.ParseMonth("2026-12", zone)
	if err != nil {
		t.Fatal(err)
	}
	utc := func(text string) time.Time {
		at, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	day := func(m time.Month, d int) money.Date { return money.Date{Year: 2026, Month: m, Day: d} }
	agreed := func(accepted string, change func(*checkout.Checkout), due ...money.Date) checkout.Concluded {
		c := checkout.Concluded{Agreement: agreement.Agreement{Number: "PPA-1", AcceptedAt: utc(accepted),
			Pricing: money.Pricing{Principal: 100_00, Upfront: 20_00}}, Checkout: checkout.Checkout{Status: checkout.Confirmed}}
		c.Checkout.Confirmation = checkout.Confirmation{AgreementNumber: "PPA-1", AgreementID: "a"}
		c.Checkout.Setup.Mandate = checkout.MandateActive
		for _, d := range due {
			c.Agreement.Schedule = append(c.Agreement.Schedule, money.Charge{Due: d, Amount: 10_00})
		}
		if change != nil {
			change(&c.Checkout)
		}
		return c
	}
	withdrawn := func(at string, mandate checkout.MandateStatus) func(*checkout.Checkout) {
		return func(c *checkout.Checkout) { c.End.At, c.Setup.Mandate = utc(at), mandate }
	}
	for _, tt := range []struct {
		name        string
		c           checkout.Concluded
		ok          bool
		financed    money.Cents
		charges     int
		differences []string
	}{
		{"accepted in the last hour before it", agreed("2026-11-30 10:59", nil), false, 0, 0, nil},
		{"accepted in its first hour", agreed("2026-11-30 11:00", nil), true, 100_00, 0, nil},
		{"accepted in its last hour", agreed("2026-12-31 10:59", nil), true, 100_00, 0, nil},
		{"accepted after it", agreed("2026-12-31 11:00", nil), false, 0, 0, nil},
		{"due in it", agreed("2026-11-01 00:00", nil, day(11, 30), day(12, 1), day(12, 31)), true, 0, 2, nil},
		{"due before it", agreed("2026-11-01 00:00", nil, day(11, 30)), false, 0, 0, nil},
		{"withdrawn in it", agreed("2026-11-01 00:00", withdrawn("2026-12-09 12:00", checkout.MandateCancelled), day(12, 9), day(12, 10)), true, 0, 1, nil},
		{"withdrawn before it", agreed("2026-11-01 00:00", withdrawn("2026-11-09 12:00", checkout.MandateCancelled), day(12, 9)), false, 0, 0, nil},
		{"withdrawn with a mandate that lives", agreed("2026-12-01 00:00", withdrawn("2026-12-09 12:00", checkout.MandateActive)), true, 100_00, 0,
			[]string{"withdrawn, and the mandate is active"}},
		{"a mandate that ended", agreed("2026-12-01 00:00", func(c *checkout.Checkout) { c.Setup.Mandate = checkout.MandateFailed }), true, 100_00, 0,
			[]string{"mandate failed"}},
		{"without a mandate, and not in the CRM", agreed("2026-12-01 00:00", func(c *checkout.Checkout) {
			c.Setup.Mandate, c.Confirmation.AgreementID = "", ""
		}), true, 100_00, 0, []string{"not in the CRM", "no mandate"}},
		{"another number", agreed("2026-12-01 00:00", func(c *checkout.Checkout) { c.Confirmation.AgreementNumber = "PPA-2" }), true, 100_00, 0,
			[]string{"the checkout has another agreement number"}},
	} {
		line, ok := month.Line(tt.c)
		if ok != tt.ok || line.Financed != tt.financed || line.Charges != tt.charges || line.Due != money.Cents(10_00*tt.charges) ||
			ok && !slices.Equal(line.Differences, tt.differences) {
			t.Errorf("%s: %+v, %v; want %v, financed %v, %d charges and the differences %q", tt.name, line, ok, tt.ok, tt.financed, tt.charges, tt.differences)
		}
	}
	if _, err := checkout.ParseMonth("2026-13", zone); err == nil {
		t.Error("2026-13 is a month")
	}
}

// Whatever the clocks of New Zealand do at its ends, a month has every moment before its end, and no later moment.
func TestAMonthEndsAtMidnightInNewZealand(t *testing.T) {
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	for first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); first.Year() < 2046; first = first.AddDate(0, 1, 0) {
		month, err := checkout.ParseMonth(first.Format("2006-01"), zone)
		if err != nil {
			t.Fatal(err)
		}
		began := month.Ends().In(zone).AddDate(0, -1, 0)
		for _, tt := range []struct {
			at time.Time
			is bool
		}{{began.Add(-time.Millisecond), false}, {began, true}, {month.Ends().Add(-time.Millisecond), true}, {month.Ends(), false}} {
			agreed := checkout.Concluded{Agreement: agreement.Agreement{AcceptedAt: tt.at.UTC()}}
			if _, is := month.Line(agreed); is != tt.is {
				t.Errorf("%s has what was accepted at %s: %v", first.Format("2006-01"), tt.at, is)
			}
		}
	}
}
