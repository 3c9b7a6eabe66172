package checkout_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestLastTrySaysWhatBecameOfIt(t *testing.T) {
	const pending, fulfilled, cancelled = checkout.BillingPending, checkout.BillingFulfilled, checkout.BillingCancelled
	set := observed(fulfilled, checkout.MandateSubmitted)
	set.AccountHolder, set.AccountMask, set.CompletedAt = "A NGATA", "01-0902-•••••89-00", time.Unix(1, 0)
	for _, tt := range []struct {
		name        string
		seen        checkout.Observation
		kept        checkout.Setback
		want        checkout.LastTry
		unexplained bool
	}{
		{"not done at the processor", observed(pending, ""), checkout.NoSetback, checkout.TryUnfinished, true},
		{"refused for the place", observed(pending, ""), checkout.SetbackPlace, checkout.TryNotServed, true},
		{"failed, and may be tried again", observed(pending, ""), checkout.SetbackFailure, checkout.TryFailed, true},
		{"cancelled", observed(cancelled, ""), checkout.NoSetback, checkout.TryCancelled, true},
		{"cancelled because it failed", observed(cancelled, ""), checkout.SetbackFailure, checkout.TryFailed, true},
		{"refused for the place, then cancelled", observed(cancelled, ""), checkout.SetbackPlace, checkout.TryCancelled, true},
		{"finished by the payer", observed(checkout.BillingReadyToFulfil, ""), checkout.SetbackPlace, checkout.TryNone, false},
		{"being made", observed(checkout.BillingFulfilling, ""), checkout.SetbackPlace, checkout.TryNone, false},
		{"without an account", observed(fulfilled, checkout.MandatePendingSubmission), checkout.NoSetback, checkout.TryNone, false},
		{"set up", set, checkout.SetbackFailure, checkout.TryNone, false},
		{"a failed mandate", observed(fulfilled, checkout.MandateFailed), checkout.SetbackFailure, checkout.TryMandateFailed, false},
		{"a cancelled mandate", observed(fulfilled, checkout.MandateCancelled), checkout.NoSetback, checkout.TryMandateCancelled, false},
		{"a blocked mandate", observed(fulfilled, checkout.MandateBlocked), checkout.NoSetback, checkout.TryMandateBlocked, false},
		{"an expired mandate", observed(fulfilled, checkout.MandateExpired), checkout.NoSetback, checkout.TryMandateExpired, false},
	} {
		setup := checkout.Setup{Try: 1, BillingRequestID: "BR1", Observation: tt.seen}
		if got := setup.LastTry(tt.kept); got != tt.want || setup.Unexplained() != tt.unexplained {
			t.Errorf("%s: %q, unexplained %t; want %q, %t", tt.name, got, setup.Unexplained(), tt.want, tt.unexplained)
		}
	}
	if setup := (checkout.Setup{Observation: observed(pending, "")}); setup.LastTry(checkout.SetbackPlace) != checkout.TryNone || setup.Unexplained() {
		t.Errorf("a setup that was not begun: %q, want none", setup.LastTry(checkout.SetbackPlace))
	}
}

// Without an answer only what the payer may have done meanwhile is unknown: what ended has ended.
func TestLastTryWithoutAnAnswer(t *testing.T) {
	for try, want := range map[checkout.LastTry]checkout.LastTry{
		checkout.TryUnfinished: checkout.TryUnknown, checkout.TryNone: checkout.TryNone,
		checkout.TryCancelled: checkout.TryCancelled, checkout.TryMandateFailed: checkout.TryMandateFailed,
	} {
		if got := try.Unanswered(); got != want {
			t.Errorf("%q without an answer is %q, want %q", try, got, want)
		}
	}
}
