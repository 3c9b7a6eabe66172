package gocardless_test

import (
	"strings"
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

// What GoCardless refuses to cancel is looked at: what has ended is done, and what lives is an error.
func TestCancelTakesForDoneOnlyWhatHasEnded(t *testing.T) {
	for _, status := range []string{"failed", "cancelled", "expired", "blocked"} {
		b := newBench(t)
		request := b.begin(t, "a")
		b.complete(t, request.URL, "M O'BRIEN")
		seen := b.observe(t, request.ID, checkout.Observation{})
		if err := b.sim.MoveMandate(request.ID, status, ""); err != nil {
			t.Fatal(err)
		}
		q := checkout.SetupQuery{Setup: checkout.Setup{Try: 1, BillingRequestID: request.ID, Observation: seen}}
		if err := b.Cancel(t.Context(), q); err != nil {
			t.Errorf("Cancel of a mandate that is %s: %v", status, err)
		}
		if got := b.observe(t, request.ID, seen); string(got.Mandate) != status {
			t.Errorf("the mandate is %s, want %s as it was", got.Mandate, status)
		}
	}
}

// The mandate that GoCardless put in the place of that on record is cancelled.
func TestCancelFollowsAMandateToItsReplacement(t *testing.T) {
	b := newBench(t)
	request := b.begin(t, "a")
	b.complete(t, request.URL, "M O'BRIEN")
	seen := b.observe(t, request.ID, checkout.Observation{})
	if err := b.sim.MoveMandate(request.ID, "replaced", ""); err != nil {
		t.Fatal(err)
	}
	q := checkout.SetupQuery{Setup: checkout.Setup{Try: 1, BillingRequestID: request.ID, Observation: seen}}
	if err := b.Cancel(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := b.observe(t, request.ID, seen); got.Mandate != checkout.MandateCancelled || got.MandateID == seen.MandateID {
		t.Errorf("after the cancel the mandate is %+v, want the replacement of %s cancelled", got, seen.MandateID)
	}
	calls := b.sim.Statistics().Calls
	if n := calls["POST /mandates/{id}/actions/cancel"]; n != 1 || calls["POST /billing_requests/{id}/actions/cancel"] != 0 {
		t.Errorf("calls %v, want one cancel of the mandate", calls)
	}
}

// The fulfilment of a billing request may hang. It is neither cancelled nor fulfilled then, and the cancel says so.
func TestCancelOfABillingRequestThatIsBeingFulfilledIsAnErrorUntilItHasEnded(t *testing.T) {
	b := newBench(t)
	request := b.begin(t, "a")
	b.complete(t, request.URL, "MANDATE LATE")
	q := checkout.SetupQuery{Setup: checkout.Setup{Try: 1, BillingRequestID: request.ID}}
	if err := b.Cancel(t.Context(), q); err == nil || !strings.Contains(err.Error(), "no mandate yet") {
		t.Fatalf("Cancel of a billing request without its mandate: %v, want an error", err)
	}
	b.sim.Advance(time.Minute)
	if err := b.Cancel(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := b.observe(t, request.ID, checkout.Observation{}); got.Mandate != checkout.MandateCancelled {
		t.Errorf("in the end %+v, want a cancelled mandate", got)
	}
}
