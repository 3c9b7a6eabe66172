package checkout_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A processor may put another mandate in the place of a living mandate. An answer from before that says no time, or an earlier one.
func TestAnotherMandateCountsSinceALaterTime(t *testing.T) {
	at := func(id string, m checkout.MandateStatus, since int64) checkout.Observation {
		o := checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: m, MandateID: id}
		if since > 0 {
			o.MandateSince = time.UnixMilli(since).UTC()
		}
		return o
	}
	former, other := at("MD1", checkout.MandateActive, 0), at("MD2", checkout.MandatePendingSubmission, 2)
	for _, tt := range []struct {
		name        string
		known, seen checkout.Observation
		taken       bool
	}{
		{"a replacement", former, other, true},
		{"the former, late", other, former, false},
		{"the end of the former, late", other, at("MD1", checkout.MandateCancelled, 1), false},
		{"another without a time", former, at("MD2", checkout.MandateActive, 0), false},
	} {
		c := checkout.Checkout{Setup: checkout.Setup{Try: 1, BillingRequestID: "BR1", Observation: tt.known}}
		if got := c.Observe(tt.seen, time.UnixMilli(3)); got.Changes() != tt.taken {
			t.Errorf("%s: %+v after %+v is taken: %v", tt.name, tt.seen, tt.known, got.Changes())
		}
	}
}

func TestTheConfirmFixesTheFirstDayOfCollection(t *testing.T) {
	day := func(n int) money.Date { return money.Date{Year: 2027, Month: time.February, Day: n} }
	for _, tt := range []struct {
		name              string
		status            checkout.Status
		known, seen, want money.Date
	}{
		{"the first answer", checkout.SetupRequired, money.Date{}, day(8), day(8)},
		{"a later answer before the confirm", checkout.SetupRequired, day(8), day(9), day(9)},
		{"an answer without a day", checkout.SetupRequired, day(8), money.Date{}, day(8)},
		{"a later answer after the confirm", checkout.Confirmed, day(8), day(9), day(8)},
		{"a day that was not known at the confirm", checkout.Confirmed, money.Date{}, day(9), money.Date{}},
	} {
		of := func(first money.Date) checkout.Observation {
			return checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission, MandateID: "MD1",
				AccountHolder: "Ana Tau", AccountMask: "••••8389", CompletedAt: time.Unix(1_800_000_000, 0).UTC(), FirstCharge: first}
		}
		c := checkout.Checkout{Status: tt.status, Setup: checkout.Setup{Try: 1, BillingRequestID: "BR1", Observation: of(tt.known)}}
		change := c.Observe(of(tt.seen), time.Unix(1_800_000_060, 0))
		if got := change.Next.Setup.FirstCharge; got != tt.want || change.Changes() != (tt.known != tt.want) {
			t.Errorf("%s: FirstCharge = %v, changes %v; want %v", tt.name, got, change.Changes(), tt.want)
		}
	}
}
