package fakeprocessor_test

import (
	"context"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestBeginFindsTheBillingRequestOfAKey(t *testing.T) {
	begin := func(start ports.SetupStart) ports.BillingRequest {
		t.Helper()
		got, err := fakeprocessor.Processor{}.Begin(t.Context(), start)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := begin(ports.SetupStart{Key: "a", Token: "x.1&y", BaseURL: "https://pay.example"})
	if want := "https://pay.example/sandbox/processor/billing-requests?token=x.1%26y"; first.URL != want {
		t.Errorf("URL = %q, want %q", first.URL, want)
	}
	if again := begin(ports.SetupStart{Key: "a", Token: "other"}); again.ID != first.ID {
		t.Errorf("billing request of the same key = %q, want %q", again.ID, first.ID)
	}
	if other := begin(ports.SetupStart{Key: "b"}); other.ID == first.ID {
		t.Errorf("billing request of another key = %q too", other.ID)
	}
}

func TestObserve(t *testing.T) {
	at := time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	setup := func(mandate checkout.MandateStatus, completed time.Time) checkout.Setup {
		return checkout.Setup{Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilled,
			Mandate: mandate, Authorisation: checkout.CustomerInProgress,
			AccountHolder: "A NGATA", AccountTail: "89", CompletedAt: completed}}
	}
	seen := func(b checkout.BillingRequestStatus, m checkout.MandateStatus, a checkout.AuthorisationStatus) checkout.Observation {
		return checkout.Observation{BillingRequest: b, Mandate: m, Authorisation: a}
	}
	const fulfilled, progress = checkout.BillingFulfilled, checkout.CustomerInProgress
	for _, tt := range []struct {
		name  string
		setup checkout.Setup
		after time.Duration
		want  checkout.Observation
	}{
		{"not completed", checkout.Setup{}, time.Hour, seen(checkout.BillingPending, checkout.MandateNone, progress)},
		{"at completion", setup("", at), 0, seen(fulfilled, checkout.MandatePendingSubmission, progress)},
		{"the clock stepped back", setup("", at), -time.Hour, seen(fulfilled, checkout.MandatePendingSubmission, progress)},
		{"before a minute", setup("", at), time.Minute - 1, seen(fulfilled, checkout.MandatePendingSubmission, progress)},
		{"after a minute", setup("", at), time.Minute, seen(fulfilled, checkout.MandateSubmitted, progress)},
		{"before two minutes", setup("", at), 2*time.Minute - 1, seen(fulfilled, checkout.MandateSubmitted, progress)},
		{"after two minutes", setup("", at), 2 * time.Minute, seen(fulfilled, checkout.MandateActive, checkout.Authorised)},
		{"years later", setup("", at), 9e4 * time.Hour, seen(fulfilled, checkout.MandateActive, checkout.Authorised)},
		{"a failed mandate", setup(checkout.MandateFailed, at), time.Hour, seen(fulfilled, checkout.MandateFailed, progress)},
		{"a cancelled mandate", setup(checkout.MandateCancelled, at), time.Hour, seen(fulfilled, checkout.MandateCancelled, progress)},
		{"an expired mandate", setup(checkout.MandateExpired, at), time.Hour, seen(fulfilled, checkout.MandateExpired, progress)},
		{"a blocked mandate", setup(checkout.MandateBlocked, at), time.Hour, seen(fulfilled, checkout.MandateBlocked, progress)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fakeprocessor.Processor{}.Observe(t.Context(), tt.setup, at.Add(tt.after))
			want, told := tt.want, tt.setup
			want.AccountHolder, want.AccountTail, want.CompletedAt = told.AccountHolder, told.AccountTail, told.CompletedAt
			if err != nil || got != want {
				t.Errorf("Observe = %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestHoldersWhoseMandatesComeToNothing(t *testing.T) {
	at := time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		holder string
		after  time.Duration
		want   checkout.MandateStatus
	}{
		{"MANDATE FAILS", time.Minute - 1, checkout.MandatePendingSubmission},
		{"MANDATE FAILS", time.Minute, checkout.MandateFailed},
		{"MANDATE CANCELLED", time.Minute - 1, checkout.MandatePendingSubmission},
		{"MANDATE CANCELLED", time.Hour, checkout.MandateCancelled},
	} {
		setup := checkout.Setup{Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilled,
			Mandate: checkout.MandatePendingSubmission, AccountHolder: tt.holder, AccountTail: "89", CompletedAt: at}}
		got, err := fakeprocessor.Processor{}.Observe(t.Context(), setup, at.Add(tt.after))
		if err != nil || got.Mandate != tt.want || got.Authorisation != checkout.CustomerInProgress {
			t.Errorf("%s after %v: %+v, %v; want a mandate that is %s", tt.holder, tt.after, got, err, tt.want)
		}
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (fakeprocessor.Processor{}).Begin(ctx, ports.SetupStart{}); err != context.Canceled {
		t.Errorf("Begin: %v, want %v", err, context.Canceled)
	}
	if _, err := (fakeprocessor.Processor{}).Observe(ctx, checkout.Setup{}, time.Time{}); err != context.Canceled {
		t.Errorf("Observe: %v, want %v", err, context.Canceled)
	}
}
