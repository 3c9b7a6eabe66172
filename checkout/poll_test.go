package checkout_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestAProviderPollsLessTheLongerThePayerIsAway(t *testing.T) {
	created := time.Date(2026, time.November, 20, 4, 0, 0, 0, time.UTC)
	c := checkout.Checkout{Status: checkout.SetupRequired, CreatedAt: created, Tokens: []checkout.Token{{Epoch: 1, Expires: created.Add(time.Hour)}}}
	left := c
	left.Setup.Consent.At = created.Add(48 * time.Hour)
	replayed := func(at time.Duration) checkout.Checkout {
		return left.Renew(keyring(t), created.Add(at), 7*24*time.Hour, "provider:key", "req_1").Next
	}
	confirmed := c
	confirmed.Status = checkout.Confirmed
	setUp := func(mandate checkout.MandateStatus) checkout.Checkout {
		done := c
		done.Setup.Observation = checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: mandate,
			AccountHolder: "Aroha Ngata", AccountMask: "01-****-*****89-00", CompletedAt: created}
		return done
	}
	for _, tt := range []struct {
		name  string
		c     checkout.Checkout
		after time.Duration
		want  time.Duration
	}{
		{"at once", c, 0, 2 * time.Second},
		{"by a clock that is behind", c, -time.Hour, 2 * time.Second},
		{"after a quarter of an hour", c, 15 * time.Minute, time.Minute},
		{"after a day", c, 24 * time.Hour, 15 * time.Minute},
		{"once the payer went on to the processor days later", left, 48*time.Hour + time.Minute, 2 * time.Second},
		{"once a create has renewed the link", replayed(96 * time.Hour), 96*time.Hour + time.Minute, 2 * time.Second},
		{"a quarter of an hour after a create has renewed the link", replayed(96 * time.Hour), 96*time.Hour + 15*time.Minute, time.Minute},
		{"once it is confirmed", confirmed, 0, 0},
		{"once it can be confirmed", setUp(checkout.MandatePendingSubmission), 0, 0},
		{"while the mandate is suspended", setUp("suspended_by_payer"), 0, 15 * time.Minute},
		{"once the mandate is consumed", setUp("consumed"), 0, 15 * time.Minute},
		{"while the mandate awaits an approval", setUp("pending_customer_approval"), 0, 15 * time.Minute},
		{"once the mandate has failed", setUp(checkout.MandateFailed), 0, 2 * time.Second},
	} {
		if got := tt.c.NextPoll(created.Add(tt.after)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := c.LinkExpires(); !got.Equal(created.Add(time.Hour)) {
		t.Errorf("the link expires at %s", got)
	}
	if got := confirmed.LinkExpires(); !got.IsZero() {
		t.Errorf("the link of a confirmed checkout expires at %s", got)
	}
}
