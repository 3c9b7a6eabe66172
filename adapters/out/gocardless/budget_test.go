package gocardless_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// After a refusal for the rate limit the background waits, and goes on as soon as a call for a person shows that there is
// room again.
func TestBackgroundWaitsAfterARefusalUntilACallIsTaken(t *testing.T) {
	tenPast := time.Date(2027, 2, 1, 12, 0, 10, 0, time.UTC) // the limit has room again at the next whole minute
	b := newBench(t, func(s *gocardlesstest.Options, o *gocardless.Options) {
		s.Now = func() time.Time { return tenPast }
	})
	request := b.begin(t, "a")
	observe := func(p checkout.Purpose) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := b.Observe(ctx, checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: request.ID}, Purpose: p})
		return err
	}
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultRateLimit, Times: 1})
	before := b.sim.Statistics().Calls["GET /billing_requests/{id}"]
	for range 3 {
		if err := observe(checkout.ForNotification); !errors.Is(err, ports.ErrBusy) {
			t.Errorf("in the background: %v, want ErrBusy", err)
		}
	}
	if got := b.sim.Statistics().Calls["GET /billing_requests/{id}"] - before; got > 1 {
		t.Errorf("%d calls after a refusal, want none but the refused one", got)
	}
	for _, p := range []checkout.Purpose{checkout.ForPayer, checkout.ForNotification} {
		if err := observe(p); err != nil {
			t.Errorf("for purpose %d: %v", p, err)
		}
	}
}
