package gocardless_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

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
