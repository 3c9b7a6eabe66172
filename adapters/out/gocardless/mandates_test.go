package gocardless_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// A mandate lives on after the setup: from its first end on each change comes with its time and the bank's reason.
func TestObservationFollowsAMandateThroughItsLife(t *testing.T) {
	b := newBench(t)
	request := b.begin(t, "a")
	b.complete(t, request.URL, "M O'BRIEN")
	stored := checkout.Checkout{Setup: checkout.Setup{Try: 1, BillingRequestID: request.ID}}
	look := func() checkout.Setup {
		t.Helper()
		stored = stored.Observe(b.observe(t, request.ID, stored.Setup.Observation), b.sim.Now()).Next
		return stored.Setup
	}
	look()
	for _, tt := range []struct {
		move, reason string
		want         checkout.MandateStatus
		collectable  bool
	}{
		{"submitted", "", checkout.MandateSubmitted, true},
		{"cancelled", "DISHONOUR-AG01", checkout.MandateCancelled, false},
		{"reinstated", "", checkout.MandateActive, true},
		{"failed", "NEGATIVE_ACKNOWLEDGEMENT-AC05", checkout.MandateFailed, false},
		{"blocked", "", checkout.MandateBlocked, false},
	} {
		b.sim.Advance(time.Hour)
		if err := b.sim.MoveMandate(request.ID, tt.move, tt.reason); err != nil {
			t.Fatal(err)
		}
		got := look()
		age := b.sim.Now().Sub(got.MandateSince)
		timed := got.MandateSince.IsZero() == (tt.want == checkout.MandateSubmitted) && (got.MandateSince.IsZero() || age < time.Minute && age > -time.Second)
		if tt.move != "reinstated" && got.Mandate != tt.want || got.Mandate.Dead() == tt.collectable || got.MandateReason != tt.reason || !timed {
			t.Errorf("after %s: %s for %q since %v, at %v; want %s for %q", tt.move, got.Mandate, got.MandateReason, got.MandateSince,
				b.sim.Now(), tt.want, tt.reason)
		}
	}

	request = b.begin(t, "b")
	b.complete(t, request.URL, "M O'BRIEN")
	stored = checkout.Checkout{Setup: checkout.Setup{Try: 1, BillingRequestID: request.ID}}
	first := look().MandateID
	b.sim.Advance(time.Hour)
	if err := b.sim.MoveMandate(request.ID, "replaced", ""); err != nil {
		t.Fatal(err)
	}
	if got := look(); got.MandateID == first || got.Mandate.Dead() {
		t.Errorf("after its replacement the mandate is %+v, want another than %s that lives", got.Observation, first)
	}
}

// A mandate that ended, was reinstated and ended again between two looks has ended since the second end.
func TestAMandateThatEndedAgainHasEndedSinceALaterTime(t *testing.T) {
	b := newBench(t)
	request := b.begin(t, "a")
	b.complete(t, request.URL, "M O'BRIEN")
	known := checkout.Observation{}
	for _, moves := range [][]string{{"cancelled"}, {"reinstated", "cancelled"}} {
		for _, to := range moves {
			b.sim.Advance(time.Hour)
			if err := b.sim.MoveMandate(request.ID, to, ""); err != nil {
				t.Fatal(err)
			}
		}
		known = b.observe(t, request.ID, known)
		if age := b.sim.Now().Sub(known.MandateSince); !known.Mandate.Dead() || age > time.Minute || age < -time.Second {
			t.Errorf("after %s it is %s since %s, at %s", moves, known.Mandate, known.MandateSince, b.sim.Now())
		}
	}
}
