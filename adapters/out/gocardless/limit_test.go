package gocardless_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A lost notification is to be made good within a minute, however long GoCardless says that it refuses calls.
func TestARefusedCallHoldsTheNextBackForTwentySeconds(t *testing.T) {
	tenPast := time.Date(2027, 2, 1, 12, 0, 10, 0, time.UTC) // the limit has room again at the next whole minute
	b := newBench(t, func(s *gocardlesstest.Options, _ *gocardless.Options) {
		s.Now = func() time.Time { return tenPast }
	})
	request := b.begin(t, "a")
	observe := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := b.Observe(ctx, checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: request.ID}})
		return err
	}
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultRateLimit, Times: 1})
	before := b.sim.Statistics().Calls["GET /billing_requests/{id}"]
	if err := observe(); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("at the refusal: %v, want ErrBusy", err)
	}
	b.sim.Advance(14 * time.Second) // a call waits for five seconds
	if err := observe(); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("after 14 seconds: %v, want ErrBusy", err)
	}
	if got := b.sim.Statistics().Calls["GET /billing_requests/{id}"] - before; got != 1 {
		t.Errorf("%d calls, want the refused one alone", got)
	}
	b.sim.Advance(2 * time.Second)
	if err := observe(); err != nil {
		t.Errorf("after 16 seconds: %v, want the call made within another five", err)
	}
}

// inProcess is a transport to a simulator, in a bubble. It counts calls.
type inProcess struct {
	sim     *gocardlesstest.Simulator
	mu      sync.Mutex
	calls   map[time.Time]int // by minute
	refused int
}

func (p *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(80 * time.Millisecond)
	w := httptest.NewRecorder()
	r.Host = r.URL.Host
	p.sim.ServeHTTP(w, r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[time.Now().Truncate(time.Minute)]++
	if w.Code == http.StatusTooManyRequests {
		p.refused++
	}
	return w.Result(), nil
}

func TestAProcessKeepsWithinTheRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := gocardlesstest.New(gocardlesstest.Options{Token: token, Creditors: []gocardlesstest.Creditor{{ID: account.ID}}, Now: time.Now})
		defer sim.Close()
		transport := &inProcess{sim: sim, calls: map[time.Time]int{}}
		p, err := gocardless.New(gocardless.Options{Environment: catalogue.Sandbox, Token: token, URL: "http://127.0.0.1", Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		request, err := p.Begin(t.Context(), start("a"))
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(3 * time.Minute)
		var all sync.WaitGroup
		for range 24 {
			all.Go(func() {
				for time.Now().Before(end) {
					_, err := p.Observe(t.Context(), checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: request.ID}})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for minute, n := range transport.calls {
			if n > 1000 || minute.Before(end.Truncate(time.Minute)) && n < 800 {
				t.Errorf("%d calls in the minute of %s, want 1000 at most, and most of them", n, minute)
			}
		}
		if transport.refused > 0 {
			t.Errorf("%d calls were refused", transport.refused)
		}
	})
}

// A proxy before GoCardless may refuse calls too, in its own words.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 24, 1, 2, 3, 0, time.UTC)
	for _, tt := range []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "30", 30 * time.Second},
		{"a date", "Retry-After", "Tue, 24 Nov 2026 01:03:00 GMT", 57 * time.Second},
		{"GoCardless' own date", "RateLimit-Reset", "Tue, 24 Nov 2026 01:03:00 GMT", 57 * time.Second},
		{"a date that is past", "RateLimit-Reset", "Tue, 24 Nov 2026 01:02:00 GMT", 0},
		{"nonsense", "Retry-After", "-soon", 0},
		{"nothing", "Date", "Tue, 24 Nov 2026 01:03:00 GMT", 0},
	} {
		header := make(http.Header)
		header.Set(tt.header, tt.value)
		if got := gocardless.RetryAfter(header, now); got != tt.want {
			t.Errorf("%s: RetryAfter(%s: %s) = %v, want %v", tt.name, tt.header, tt.value, got, tt.want)
		}
	}
}
