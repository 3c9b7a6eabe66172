package gocardless_test

import (
	"context"
	"errors"
	"fmt"
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

// sharedAccount is an account at the simulator, in a bubble, that several processes use.
type sharedAccount struct {
	sim     *gocardlesstest.Simulator
	mu      sync.Mutex
	calls   map[time.Time]int // by minute
	refused int
}

// RoundTrip implements http.RoundTripper.
func (a *sharedAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(40 * time.Millisecond)
	w := httptest.NewRecorder()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	r.Host = r.URL.Host
	a.sim.ServeHTTP(w, r)
	a.count(w.Code)
	time.Sleep(40 * time.Millisecond)
	return w.Result(), nil
}

func (a *sharedAccount) count(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[time.Now().Truncate(time.Minute)]++
	if status == http.StatusTooManyRequests {
		a.refused++
	}
}

// process returns a process that uses the account, with a clock of its own: it looks at a billing request.
func (a *sharedAccount) process(t *testing.T, ahead time.Duration) (look func(checkout.Purpose) error) {
	p, err := gocardless.New(gocardless.Options{Environment: catalogue.Sandbox, Token: token, URL: "http://127.0.0.1", Transport: a,
		Now: func() time.Time { return time.Now().Add(ahead) }})
	if err != nil {
		t.Fatal(err)
	}
	request, err := p.Begin(t.Context(), start("a"))
	if err != nil {
		t.Fatal(err)
	}
	return func(purpose checkout.Purpose) error {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, err := p.Observe(ctx, checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: request.ID}, Purpose: purpose})
		return err
	}
}

// Processes know nothing of one another, and their clocks differ; together they keep within the account's limit: each goes by what
// GoCardless says is left of it. What a confirm waits for gets through.
func TestProcessesShareTheAccountsLimit(t *testing.T) {
	for _, processes := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := gocardlesstest.New(gocardlesstest.Options{Token: token, Creditors: []gocardlesstest.Creditor{{ID: account.ID}}, Now: time.Now})
				defer sim.Close()
				a := &sharedAccount{sim: sim, calls: map[time.Time]int{}}
				end := time.Now().Add(3 * time.Minute)
				var all sync.WaitGroup
				repeat := func(pause time.Duration, do func()) {
					all.Go(func() {
						for ; time.Now().Before(end); time.Sleep(pause) {
							do()
						}
					})
				}
				for i := range processes {
					look := a.process(t, time.Duration(i-1)*time.Hour)
					for range 12 {
						repeat(50*time.Millisecond, func() { _ = look(checkout.ForNotification) })
						repeat(50*time.Millisecond, func() { _ = look(checkout.ForPoll) })
					}
					repeat(time.Second, func() {
						if err := look(checkout.ForConfirm); err != nil {
							t.Errorf("for a confirm: %v", err)
						}
					})
				}
				all.Wait()
				for minute, n := range a.calls {
					if t.Logf("%d processes: %d calls", processes, n); n > 1000 {
						t.Errorf("%d calls in the minute of %s, want 1000 at most", n, minute)
					}
				}
				if a.refused > 0 {
					t.Errorf("%d calls were refused", a.refused)
				}
			})
		})
	}
}

// Another integration takes most of the account's limit at once: what a person waits for goes on with what is left.
func TestAConfirmTakesWhatAnotherIntegrationLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := gocardlesstest.New(gocardlesstest.Options{Token: token, Creditors: []gocardlesstest.Creditor{{ID: account.ID}}, Now: time.Now})
		defer sim.Close()
		a := &sharedAccount{sim: sim, calls: map[time.Time]int{}}
		look := a.process(t, 0)
		for range 900 {
			r := httptest.NewRequest(http.MethodGet, "/creditors", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("GoCardless-Version", gocardlesstest.Version)
			sim.ServeHTTP(httptest.NewRecorder(), r)
		}
		for n := range 20 {
			if err := look(checkout.ForConfirm); err != nil {
				t.Errorf("for confirm %d: %v", n, err)
			}
		}
		if err := look(checkout.ForNotification); !errors.Is(err, ports.ErrBusy) {
			t.Errorf("for a notification: %v, want %v", err, ports.ErrBusy)
		}
	})
}
