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
		name string
		seen checkout.Observation
		want checkout.LastTry
	}{
		{"not done at the processor", observed(pending, ""), checkout.TryUnfinished},
		{"cancelled", observed(cancelled, ""), checkout.TryCancelled},
		{"finished by the payer", observed(checkout.BillingReadyToFulfil, ""), checkout.TryNone},
		{"being made", observed(checkout.BillingFulfilling, ""), checkout.TryNone},
		{"without an account", observed(fulfilled, checkout.MandatePendingSubmission), checkout.TryNone},
		{"set up", set, checkout.TryNone},
		{"a failed mandate", observed(fulfilled, checkout.MandateFailed), checkout.TryMandateFailed},
		{"a cancelled mandate", observed(fulfilled, checkout.MandateCancelled), checkout.TryMandateCancelled},
		{"a blocked mandate", observed(fulfilled, checkout.MandateBlocked), checkout.TryMandateBlocked},
		{"an expired mandate", observed(fulfilled, checkout.MandateExpired), checkout.TryMandateExpired},
	} {
		setup := checkout.Setup{Try: 1, BillingRequestID: "BR1", Observation: tt.seen}
		if got := setup.LastTry(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if setup := (checkout.Setup{Observation: observed(pending, "")}); setup.LastTry() != checkout.TryNone {
		t.Errorf("a setup that was not begun: %q, want none", setup.LastTry())
	}
}

// The payer reads why a mandate has ended: by the code of the scheme at the end of the processor's, or by the status.
func TestEndingSaysWhyAMandateIsDead(t *testing.T) {
	for _, tt := range []struct {
		mandate checkout.MandateStatus
		reason  string
		want    string
	}{
		{checkout.MandateActive, "DISHONOUR-AC04", ""},
		{checkout.MandateFailed, "DISHONOUR-AC04", "The bank says that the account is closed."},
		{checkout.MandateFailed, "AC04", "The bank says that the account is closed."},
		{checkout.MandateFailed, "DISHONOUR-ZZ99", "The bank or the payment processor did not accept it."},
		{checkout.MandateCancelled, "", "It was cancelled: by the account holder, by the bank or by the payment processor."},
		{checkout.MandateBlocked, "", "The payment processor has stopped it."},
		{checkout.MandateExpired, "", "It has expired."},
	} {
		if got := (checkout.Observation{Mandate: tt.mandate, MandateReason: tt.reason}).Ending(); got != tt.want {
			t.Errorf("%s for %q: %q, want %q", tt.mandate, tt.reason, got, tt.want)
		}
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
