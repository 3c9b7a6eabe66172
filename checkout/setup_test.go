package checkout_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func observed(b checkout.BillingRequestStatus, m checkout.MandateStatus) checkout.Observation {
	return checkout.Observation{BillingRequest: b, Mandate: m, Authorisation: checkout.CustomerInProgress}
}

func TestObservationsMayComeLate(t *testing.T) {
	const pending, fulfilled = checkout.BillingPending, checkout.BillingFulfilled
	tests := []struct {
		name        string
		known, seen checkout.Observation
		taken       bool
	}{
		{"a mandate goes on", observed(fulfilled, checkout.MandatePendingSubmission), observed(fulfilled, checkout.MandateSubmitted), true},
		{"a mandate skips a status", observed(fulfilled, checkout.MandatePendingSubmission), observed(fulfilled, checkout.MandateActive), true},
		{"a mandate does not go back", observed(fulfilled, checkout.MandateActive), observed(fulfilled, checkout.MandateSubmitted), false},
		{"a mandate does not vanish", observed(fulfilled, checkout.MandateActive), observed(fulfilled, ""), false},
		{"a mandate dies from any status", observed(fulfilled, checkout.MandateActive), observed(fulfilled, checkout.MandateCancelled), true},
		{"a dead mandate stays dead", observed(fulfilled, checkout.MandateFailed), observed(fulfilled, checkout.MandateActive), false},
		{"an unknown word is taken as news", observed(fulfilled, checkout.MandateActive), observed(fulfilled, "suspended_by_payer"), true},
		{"and may be taken back", observed(fulfilled, "suspended_by_payer"), observed(fulfilled, checkout.MandateActive), true},
		{"a fulfilled request is not pending again", observed(fulfilled, checkout.MandatePendingSubmission), observed(pending, checkout.MandatePendingSubmission), false},
		{"a request is fulfilled", observed(pending, ""), observed(fulfilled, checkout.MandatePendingSubmission), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := checkout.Checkout{Setup: checkout.Setup{BillingRequestID: "BR1", Observation: tt.known}}
			want := tt.known
			if tt.taken {
				want = tt.seen
			}
			if got := c.Observe(tt.seen, noon).Next.Setup.Observation; got != want {
				t.Errorf("Observe = %+v, want %+v", got, want)
			}
		})
	}
}

func TestAMandateThatDiesBeforeTheConfirmOpensTheSetupAgain(t *testing.T) {
	c, cmd := ready(t)
	confirmed, err := cmd.Decide(c, latest, prepared(c, cmd))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateCancelled, checkout.MandateExpired, checkout.MandateBlocked} {
		dead := c.Observe(observed(checkout.BillingFulfilled, m), noon).Next
		if dead.SetupComplete() || dead.NextTry() != 2 {
			t.Errorf("%s: complete %v, next try %d; want false, 2", m, dead.SetupComplete(), dead.NextTry())
		}
		again := dead.Begun(2, "BR2", agreement.Consent{}).Next
		if again.Setup.AccountTail != "" || again.NextTry() != 2 || again.Setup.Mandate.Dead() {
			t.Errorf("%s: the second try starts with %+v", m, again.Setup)
		}
		if !confirmed.Next.Observe(observed(checkout.BillingFulfilled, m), noon).Next.SetupComplete() {
			t.Errorf("%s: after the confirm the setup stays complete", m)
		}
	}
}

func TestBegunAndObserveTakeEffectOnce(t *testing.T) {
	c, _ := ready(t)
	if got := c.Begun(2, "BR2", agreement.Consent{}).Next.Setup; got != c.Setup {
		t.Errorf("beginning a complete setup: %+v", got)
	}
	other := c.Setup.Observation
	other.AccountHolder, other.AccountTail, other.CompletedAt = "B", "11", noon.Add(day)
	if got := c.Observe(other, noon.Add(day)).Next.Setup; got != c.Setup {
		t.Errorf("completing a complete setup: %+v", got)
	}
	dead := c.Observe(observed(checkout.BillingFulfilled, checkout.MandateFailed), noon).Next
	if got := dead.Observe(other, noon).Next.Setup; got != dead.Setup {
		t.Errorf("completing a dead setup that was not begun again: %+v", got)
	}
	create := parseCreate(t, legacyBody)
	fresh := create.Open(create.Intent(), opening(t)).Next
	if got := fresh.Observe(other, noon).Next; got.SetupComplete() || got.Setup != fresh.Setup {
		t.Errorf("a setup that was not begun is completed: %+v", got.Setup)
	}
	if begun := fresh.Begun(1, "BR1", agreement.Consent{}).Next; begun.NextTry() != 1 || begun.Begun(2, "BR2", agreement.Consent{}).Next.Setup.BillingRequestID != "BR1" {
		t.Error("a begun try is gone on with, not begun anew")
	}
}

func TestConsentIsThatOfThePayerWhoLastWentOn(t *testing.T) {
	at := time.Date(2027, 1, 20, 21, 0, 0, 0, time.UTC)
	known := agreement.Consent{At: at, From: "192.0.2.1", Terms: "2026-11-21/2/0123456789abcdef", NoticeDays: 2}
	with := func(change func(*agreement.Consent)) agreement.Consent { c := known; change(&c); return c }
	for _, tt := range []struct {
		name    string
		next    agreement.Consent
		replace bool
	}{
		{"another payer's", with(func(c *agreement.Consent) { c.At, c.From = at.Add(time.Second), "2001:db8::1" }), true},
		{"other terms", with(func(c *agreement.Consent) { c.At, c.Terms = at.Add(time.Second), "2026-11-21/3/fedcba9876543210" }), true},
		{"the same again, a minute later", with(func(c *agreement.Consent) { c.At = at.Add(time.Minute) }), true},
		{"the same again, at once", with(func(c *agreement.Consent) { c.At = at.Add(time.Minute - 1) }), false},
		{"an earlier one, that was overtaken", with(func(c *agreement.Consent) { c.At, c.From = at.Add(-1), "2001:db8::1" }), false},
		{"one to terms that are not known", agreement.Consent{At: at.Add(time.Hour), From: "2001:db8::1"}, false},
	} {
		open := checkout.Checkout{}.Begun(1, "BR1", known).Next
		open.Setup.Authorisation = "Customer Called" // what the processor said meanwhile
		want := open.Setup
		if tt.replace {
			want.Consent = tt.next
		}
		if got := open.Begun(1, "BR1", tt.next).Next.Setup; got != want {
			t.Errorf("%s: setup = %+v, want %+v", tt.name, got, want)
		}
	}
	c, _ := ready(t)
	if got := c.Begun(c.NextTry(), "BR9", known).Next; got.Setup != c.Setup {
		t.Errorf("setup = %+v after its completion, want %+v", got.Setup, c.Setup)
	}
	dead := c.Observe(observed(checkout.BillingFulfilled, checkout.MandateFailed), noon).Next
	if got := dead.Begun(2, "BR2", known).Next.Setup.Consent; got != known {
		t.Errorf("consent of the second try = %+v, want %+v", got, known)
	}
}
