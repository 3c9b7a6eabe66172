package salesforce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// answered is an answer of the API.
func answered(status int, limit, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "Sforce-Limit-Info": {limit}},
		Body: io.NopCloser(bytes.NewReader([]byte(body)))}
}

// When few calls are left, enrolments that are confirmed still complete, and new ones wait.
func TestTheLastCallsAreKeptForCompletions(t *testing.T) {
	b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) { sim.DailyLimit = 100 })
	records := b.opened(t)
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	left, of, known := b.Limit()
	for ; left > 10; left, of, known = b.Limit() {
		if _, err := b.Agreed(t.Context(), key); !errors.Is(err, ports.ErrNotFound) {
			t.Fatalf("Agreed: %v", err)
		}
	}
	if of != 100 || !known || b.sim.Statistics().Usage != 90 {
		t.Errorf("Limit() = %d, %d, %v; want 10, 100, true", left, of, known)
	}
	second := enrolment()
	second.OrderID = "ENR-2"
	wantBusy := func(calls int) {
		t.Helper()
		before := b.sim.Statistics().Usage
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got, err := b.Open(t.Context(), second); !errors.Is(err, ports.ErrBusy) {
					t.Errorf("Open = %+v, %v; want %v", got, err, ports.ErrBusy)
				}
				if err := b.Ready(t.Context()); !errors.Is(err, ports.ErrBusy) {
					t.Errorf("Ready = %v, want %v", err, ports.ErrBusy)
				}
			})
		}
		all.Wait()
		if used := b.sim.Statistics().Usage - before; used != calls {
			t.Errorf("%d calls were spent on refusals, want %d", used, calls)
		}
	}
	wantBusy(0)
	if _, err := b.Complete(t.Context(), completion(records)); err != nil {
		t.Errorf("Complete: %v", err)
	}
	b.sim.Advance(10 * time.Minute)
	wantBusy(1) // one looks again for all
	b.sim.Advance(24 * time.Hour)
	if _, err := b.Open(t.Context(), second); err != nil {
		t.Errorf("Open on the next day: %v", err)
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("Ready on the next day: %v", err)
	}
}

func TestReadinessIsAskedForOnceAMinute(t *testing.T) {
	b := newBench(t)
	for minute := range 2 {
		for range 5 {
			if err := b.Ready(t.Context()); err != nil {
				t.Errorf("Ready: %v", err)
			}
			b.sim.Advance(11 * time.Second)
		}
		if used := b.sim.Statistics().Usage; used != minute+1 {
			t.Errorf("%d calls in minute %d, want one a minute", used, minute+1)
		}
		b.sim.Advance(5 * time.Second)
	}
}

func TestTheLimitIsReadFromAnyAnswer(t *testing.T) {
	for header, want := range map[string]string{
		"api-usage=18/15000": "14982 15000 true",
		"api-usage=25/5000; per-app-api-usage=17/250(appName=sample)": "4975 5000 true",
		"per-app-api-usage=17/250(appName=sample)":                    "0 0 false",
		"api-usage=5001/5000":                                         "0 5000 true",
		"api-usage=-1/5000":                                           "0 0 false",
		"api-usage=1/0":                                               "0 0 false",
		"api-usage=1":                                                 "0 0 false",
		"":                                                            "0 0 false",
	} {
		c := over(t, func(*http.Request) *http.Response { return answered(http.StatusBadRequest, header, "[]") })
		if _, err := c.Agreed(t.Context(), key); err == nil {
			t.Error("Agreed is no error")
		}
		left, of, known := c.Limit()
		if got := fmt.Sprint(left, of, known); got != want {
			t.Errorf("%q: Limit() = %s, want %s", header, got, want)
		}
	}
}

// A limit that is used up stays so for hours. A call that comes when too many are under way is soon good.
func TestALimitOfTheDayIsNotTriedAgain(t *testing.T) {
	for message, calls := range map[string]int{"TotalRequests Limit exceeded.": 1,
		"ConcurrentRequests (Concurrent API Requests) Limit exceeded.": 4} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			var retried []salesforce.Retry
			c := over(t, func(*http.Request) *http.Response {
				sent++
				return answered(http.StatusForbidden, "", `[{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"`+message+`"}]`)
			}, func(o *salesforce.Options) {
				o.Retried = func(kind salesforce.Retry) { retried = append(retried, kind) }
			})
			_, err := c.Agreed(t.Context(), key)
			var refused *checkout.CRMRefusal
			if !errors.Is(err, ports.ErrBusy) || errors.As(err, &refused) || sent != calls {
				t.Errorf("%s: %v after %d calls, want %v after %d", message, err, sent, ports.ErrBusy, calls)
			}
			if !slices.Equal(retried, slices.Repeat([]salesforce.Retry{salesforce.RetryLimit}, calls-1)) {
				t.Errorf("%s: the retries are %q, want each a %s", message, retried, salesforce.RetryLimit)
			}
			if err := c.Ready(t.Context()); !errors.Is(err, ports.ErrBusy) {
				t.Errorf("%s: Ready = %v, want %v", message, err, ports.ErrBusy)
			}
		})
	}
}

func TestAtMostTwentyCallsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		underWay, most := 0, 0
		end := make(chan struct{})
		c := over(t, func(*http.Request) *http.Response {
			mu.Lock()
			underWay++
			most = max(most, underWay)
			mu.Unlock()
			<-end
			mu.Lock()
			defer mu.Unlock()
			underWay--
			return answered(http.StatusBadRequest, "", "[]")
		})
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() { _, _ = c.Agreed(t.Context(), key) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Agreed(ctx, key); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Agreed that waits for 20 calls = %v, want %v", err, context.DeadlineExceeded)
		}
		close(end)
		all.Wait()
		if most != 20 {
			t.Errorf("%d calls were under way at once, want 20", most)
		}
	})
}
