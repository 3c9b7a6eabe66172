package salesforce_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// throttling is a simulator in a bubble, whose API refuses calls while refuses says so.
type throttling struct {
	*salesforce.CRM
	sim     *salesforcetest.Simulator
	mu      sync.Mutex
	calls   int
	ahead   time.Duration         // the clock of the process
	refuses func() *http.Response // nil where the call is taken
}

func newThrottling(t *testing.T) *throttling {
	t.Helper()
	b := &throttling{sim: salesforcetest.New(salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret, Sandbox: true, Now: time.Now})}
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		time.Sleep(50 * time.Millisecond)
		b.mu.Lock()
		defer b.mu.Unlock()
		if strings.Contains(r.URL.Path, "/data/") {
			b.calls++
			if answer := b.refuses(); answer != nil {
				return answer, nil
			}
		}
		w := httptest.NewRecorder()
		r.Host = r.URL.Host
		b.sim.ServeHTTP(w, r)
		return w.Result(), nil
	})
	var err error
	b.CRM, err = salesforce.New(salesforce.Options{Environment: catalogue.Sandbox, URL: "http://127.0.0.1", ClientID: clientID,
		ClientSecret: clientSecret, Transport: transport, Now: func() time.Time { return time.Now().Add(b.ahead) }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// enrol has enrolments opened, some at once, each as its caller does: again after at most fifteen seconds. It returns how many are
// open in the end.
func (b *throttling) enrol(t *testing.T, n, atOnce int, lasts time.Duration) (open int) {
	end := time.Now().Add(lasts)
	attempts := make(chan struct{}, atOnce)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		e := enrolment()
		e.OrderID = fmt.Sprint("ENR-", i)
		all.Go(func() {
			for pause := time.Second; time.Now().Before(end); pause = min(2*pause, 15*time.Second) {
				attempts <- struct{}{}
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				_, err := b.Open(ctx, e)
				cancel()
				<-attempts
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					open++
					return
				}
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
	return open
}

// However many enrolments wait, a Salesforce that refuses calls for their number gets a call now and then. Once it takes calls
// again they come back little by little, and what waits is done.
func TestASalesforceThatThrottlesIsSpared(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"429":                    {http.StatusTooManyRequests, ""},
		"503":                    {http.StatusServiceUnavailable, "<html>"},
		"too many calls at once": {http.StatusForbidden, `[{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"ConcurrentRequests (Concurrent API Requests) Limit exceeded."}]`},
		"the limit of a day":     {http.StatusForbidden, `[{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"TotalRequests Limit exceeded."}]`},
	} {
		for _, waiting := range []int{20, 200} {
			t.Run(fmt.Sprint(name, " ", waiting), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newThrottling(t)
					b.refuses = func() *http.Response { return answered(answer.status, "", answer.body) }
					if open := b.enrol(t, waiting, waiting, time.Minute); open != 0 {
						t.Errorf("%d enrolments are open", open)
					}
					if b.calls > 40 {
						t.Errorf("%d calls of %d enrolments in a minute, want 20 that were under way and 20 more at most", b.calls, waiting)
					}
					t.Logf("%d enrolments, %d calls in a minute", waiting, b.calls)
					b.refuses, b.calls = func() *http.Response { return nil }, 0
					began := time.Now()
					if open := b.enrol(t, waiting, 8, time.Minute); open != waiting {
						t.Errorf("%d of %d enrolments are open a minute after Salesforce takes calls again", open, waiting)
					}
					t.Logf("%d calls in %s until all are open", b.calls, time.Since(began))
				})
			})
		}
	}
}

// A Salesforce that takes ten calls a second gets little more, and gives most of them.
func TestCallsStayNearWhatSalesforceTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newThrottling(t)
		second, taken, refused := time.Time{}, 0, 0
		b.refuses = func() *http.Response {
			if now := time.Now().Truncate(time.Second); !now.Equal(second) {
				second, taken = now, 0
			}
			if taken++; taken > 10 {
				refused++
				return answered(http.StatusTooManyRequests, "", "")
			}
			return nil
		}
		open := b.enrol(t, 400, 8, 2*time.Minute)
		t.Logf("%d calls, %d of them refused, %d enrolments", b.calls, refused, open)
		if open < 400 || refused > b.calls/5 {
			t.Errorf("%d enrolments are open after %d calls, %d of them refused", open, b.calls, refused)
		}
	})
}

// The clock of a process is set back while calls are spaced: that holds no call up, and answers close the gap as ever.
func TestAClockThatIsSetBackHoldsNoCallUp(t *testing.T) {
	for _, back := range []time.Duration{0, time.Second, 5 * time.Minute, 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newThrottling(t)
				b.refuses = func() *http.Response { return answered(http.StatusServiceUnavailable, "", "") }
				b.enrol(t, 20, 20, time.Minute)
				b.refuses, b.ahead = func() *http.Response { return nil }, -back
				if open := b.enrol(t, 20, 8, time.Minute); open != 20 {
					t.Errorf("%d of 20 enrolments are open a minute after Salesforce takes calls again", open)
				}
			})
		})
	}
}

// A call that is refused now and then says nothing of the number of calls: the others go on as before.
func TestALoneRefusalSlowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newThrottling(t)
		b.refuses = func() *http.Response {
			if b.calls%20 == 0 {
				return answered(http.StatusServiceUnavailable, "", "")
			}
			return nil
		}
		began := time.Now()
		if open := b.enrol(t, 400, 8, time.Minute); open != 400 || time.Since(began) > 10*time.Second {
			t.Errorf("%d enrolments are open after %s, want 400 after 10 s at most", open, time.Since(began))
		}
	})
}

// Salesforce goes away a moment after it was found ready, and comes back.
func TestReadyIsACallEachTime(t *testing.T) {
	for _, kind := range []salesforcetest.FaultKind{salesforcetest.FaultReset, salesforcetest.FaultHTML} {
		t.Run(string(kind), func(t *testing.T) {
			b := newBench(t)
			if err := b.Ready(t.Context()); err != nil {
				t.Fatalf("Ready: %v", err)
			}
			b.sim.Arm(salesforcetest.Fault{Kind: kind})
			for range 3 {
				if err := b.Ready(t.Context()); err == nil {
					t.Error("Ready, though Salesforce is away")
				}
			}
			b.sim.Disarm()
			b.sim.Advance(time.Second)
			if err := b.Ready(t.Context()); err != nil {
				t.Errorf("Ready after it is back: %v", err)
			}
		})
	}
}

// That Salesforce was ready a moment ago says nothing once a call has failed: the next Ready signs in, and counts.
func TestAFailedCallIsAReasonToLook(t *testing.T) {
	b := newBench(t)
	if err := b.Ready(t.Context()); err != nil {
		t.Fatalf("Ready: %v", err)
	}
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultError, Path: "/services/data/v61.0/*"})
	if _, err := b.Agreed(t.Context(), key); err == nil {
		t.Fatal("Agreed, though every call fails")
	}
	if err := b.Ready(t.Context()); err == nil {
		t.Error("Ready, though every call of the API fails")
	}
}

// The day's calls are used up by another client, and then some are free again.
func TestCreatesGoOnSoonAfterTheDaysCallsAreFree(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultRequestLimit})
	for range 9 {
		if _, err := b.Open(t.Context(), enrolment()); !errors.Is(err, ports.ErrBusy) {
			t.Fatalf("Open: %v, want %v", err, ports.ErrBusy)
		}
	}
	if n := b.sim.Statistics().Faults[salesforcetest.FaultRequestLimit]; n != 4 {
		t.Errorf("%d calls were refused, want three and one look", n)
	}
	b.sim.Disarm()
	b.sim.Advance(20 * time.Second)
	b.opened(t)
}
