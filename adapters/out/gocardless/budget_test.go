package gocardless_test

import (
	"context"
	"errors"
	"net/http"
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
	b, observe := refusing(t)
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

// A notification that was lost is made good within a minute, however long GoCardless says that it refuses calls.
func TestBackgroundGoesOnTwentySecondsAfterARefusal(t *testing.T) {
	b, observe := refusing(t)
	if err := observe(checkout.ForNotification); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("at the refusal: %v, want ErrBusy", err)
	}
	b.sim.Advance(14 * time.Second) // a call waits for five seconds
	if err := observe(checkout.ForNotification); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("after 14 seconds: %v, want ErrBusy", err)
	}
	b.sim.Advance(2 * time.Second)
	if err := observe(checkout.ForNotification); err != nil {
		t.Errorf("after 16 seconds: %v, want the call made within another five", err)
	}
}

// refusing returns a bench that refuses the next call, and the next ones for fifty seconds as it says, and a function that asks for a
// setup and waits for at most five seconds.
func refusing(t *testing.T) (b *bench, observe func(checkout.Purpose) error) {
	t.Helper()
	tenPast := time.Date(2027, 2, 1, 12, 0, 10, 0, time.UTC) // the limit has room again at the next whole minute
	b = newBench(t, func(s *gocardlesstest.Options, o *gocardless.Options) {
		s.Now = func() time.Time { return tenPast }
	})
	request := b.begin(t, "a")
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultRateLimit, Times: 1})
	return b, func(p checkout.Purpose) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := b.Observe(ctx, checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: request.ID}, Purpose: p})
		return err
	}
}

// A proxy before GoCardless may refuse calls too, in its own words.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 24, 1, 2, 3, 0, time.UTC)
	for _, tt := range []struct {
		name, header, value string
		want                time.Time
	}{
		{"seconds", "Retry-After", "30", now.Add(30 * time.Second)},
		{"a date", "Retry-After", "Tue, 24 Nov 2026 01:03:00 GMT", time.Date(2026, 11, 24, 1, 3, 0, 0, time.UTC)},
		{"GoCardless' own date", "RateLimit-Reset", "Tue, 24 Nov 2026 01:03:00 GMT", time.Date(2026, 11, 24, 1, 3, 0, 0, time.UTC)},
		{"nonsense", "Retry-After", "-soon", time.Time{}},
		{"nothing", "Date", "Tue, 24 Nov 2026 01:03:00 GMT", time.Time{}},
	} {
		header := make(http.Header)
		header.Set(tt.header, tt.value)
		if got := gocardless.RetryAfter(header, now); !got.Equal(tt.want) {
			t.Errorf("%s: RetryAfter(%s: %s) = %v, want %v", tt.name, tt.header, tt.value, got, tt.want)
		}
	}
}
