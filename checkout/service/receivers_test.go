package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// answers has the receiver answer so from now on.
func (r *receiver) answers(answer func(events.Delivery, int) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// requests returns how many attempts were made.
func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// statuses returns how many events have each status, and checks that the attempts on record are the attempts made.
func (w *world) statuses(t *testing.T) map[events.Status]int {
	t.Helper()
	made := map[string]int{}
	w.receiver.mu.Lock()
	for _, d := range w.receiver.got {
		made[d.Event.ID]++
	}
	w.receiver.mu.Unlock()
	all := map[events.Status]int{}
	for order, r := range w.records(t) {
		for _, e := range r.Events() {
			all[e.Status]++
			if e.Attempts != made[e.Event.ID] || e.Attempts > events.MaxAttempts {
				t.Errorf("order %s: %d attempts on record, %d made", order, e.Attempts, made[e.Event.ID])
			}
		}
	}
	return all
}

// createAll creates a checkout for each of many orders at once, and returns how long the slowest took.
func (w *world) createAll(t *testing.T, many int) time.Duration {
	t.Helper()
	var slowest atomic.Int64
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			start := time.Now()
			if _, err := w.Create(t.Context(), caller, create(fmt.Sprint("ORDER-", i))); err != nil {
				t.Error(err)
			}
			for took := int64(time.Since(start)); ; {
				if was := slowest.Load(); took <= was || slowest.CompareAndSwap(was, took) {
					return
				}
			}
		})
	}
	all.Wait()
	return time.Duration(slowest.Load())
}

func TestASlowReceiverLosesNoEventToABurst(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.background(t)()
		var now, most atomic.Int64
		w.receiver.answers(func(events.Delivery, int) error {
			n := now.Add(1)
			most.Store(max(most.Load(), n))
			time.Sleep(time.Second)
			now.Add(-1)
			return nil
		})
		if took := w.createAll(t, 400); took > 3*time.Second {
			t.Errorf("a create took %s, want a second of waiting and a second of sending at most", took)
		}
		time.Sleep(30 * time.Second)
		if got := w.statuses(t); got[events.Delivered] != 400 || w.receiver.requests() != 400 {
			t.Errorf("%v after %d requests, want 400 delivered after as many", got, w.receiver.requests())
		}
		if n := most.Load(); n > 64 {
			t.Errorf("%d requests at once, want 64 at most", n)
		}
		w.wantNoReports(t)
	})
}

// Two providers whose receivers have one host: however much one has to send to its own, which hangs, the other's creates do
// not wait, and its events do not either.
func TestAHangingReceiverDelaysNoOtherProviderOfItsHost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		well := kowhai()
		well.Provider.Code, well.Provider.Destination.URL = "RIMU", "https://hooks.example/rimu"
		w.configure(t, kowhai(), well)
		stop := w.background(t)
		w.receiver.answers(func(d events.Delivery, _ int) error {
			if d.Event.ProviderCode == "KOWHAI" {
				time.Sleep(2 * time.Second)
				return errRefused
			}
			return nil
		})
		var hanging sync.WaitGroup
		hanging.Go(func() { w.createAll(t, 500) })
		for i := range 30 {
			time.Sleep(100 * time.Millisecond)
			start := time.Now()
			cmd := create(fmt.Sprint("WELL-", i))
			cmd.ProviderCode = checkout.Some("RIMU")
			if _, err := w.Create(t.Context(), service.Caller{ProviderCode: "RIMU"}, cmd); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != 0 {
				t.Errorf("a create of the other provider took %s", took)
			}
		}
		hanging.Wait()
		stop()
		w.statuses(t)
	})
}

func TestAProhibitedDestinationIsSettledAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(func(events.Delivery, int) error { return fmt.Errorf("%w: it is not https", ports.ErrProhibited) })
		start := time.Now()
		w.opened(t, "ORDER-1")
		if took := time.Since(start); took != 0 {
			t.Errorf("the create took %s", took)
		}
		e := w.records(t)["ORDER-1"].Events()[0]
		if e.Status != events.Failed || e.Attempts != 0 || !strings.HasSuffix(e.Failure.Reason, "it is not https") || e.Failure.At.IsZero() {
			t.Errorf("on record %+v, want it failed without an attempt, and why", e)
		}
		w.wantReport(t, service.OperationGiveUp, "", "it is not https")
		if w.receiver.requests() != 1 {
			t.Errorf("the sender was asked %d times, want once", w.receiver.requests())
		}
	})
}

func TestASenderWithoutRoomMakesNoAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(func(events.Delivery, int) error { return ports.ErrBusy })
		w.opened(t, "ORDER-1")
		w.wantEvent(t, "ORDER-1", events.Pending, 0, 1)
		w.receiver.answers(nil)
		w.runFor(t, 2*time.Second) // its lease was given up
		w.wantEvent(t, "ORDER-1", events.Delivered, 1)
		w.wantNoReports(t)
	})
}

// A run that was cut short is gone on with: the numbers of its attempts are not used again.
func TestARunThatWasCutShortIsGoneOnWith(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(func(events.Delivery, int) error { return errRefused })
		w.crashed(t, "ORDER-1")
		w.clock.forward(time.Minute)
		w.runFor(t, 100*time.Millisecond) // the second attempt would come after 250 ms
		next := w.again(t)
		next.runFor(t, 10*time.Second)
		var numbers []int
		for _, d := range w.receiver.got {
			numbers = append(numbers, d.attempt)
		}
		if got := w.statuses(t); !slices.Equal(numbers, []int{1, 2, 3}) || got[events.Failed] != 1 {
			t.Errorf("attempts %d, then %v; want 1, 2 and 3, then failed", numbers, got)
		}
		if e := w.records(t)["ORDER-1"].Events()[0]; e.Failure.Reason != errRefused.Error() || e.Failure.At.IsZero() {
			t.Errorf("on record %+v, want why it failed", e.Failure)
		}
	})
}

// A site may have few workers that call the API and receive its events: then no worker is free for an event while all wait for
// answers.
func TestASiteWithFewWorkersIsNotLockedUp(t *testing.T) {
	for _, tt := range []struct{ workers, enrolments int }{{1, 1}, {8, 16}} {
		t.Run(fmt.Sprintf("%d workers, %d enrolments", tt.workers, tt.enrolments), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				workers := make(chan struct{}, tt.workers)
				w.receiver.answers(func(events.Delivery, int) error {
					select {
					case workers <- struct{}{}:
						<-workers
						return nil
					case <-time.After(2 * time.Second):
						return context.DeadlineExceeded
					}
				})
				page := func(call func()) { // a page of the site that makes a call
					workers <- struct{}{}
					start := time.Now()
					call()
					if took := time.Since(start); took > 2500*time.Millisecond {
						t.Errorf("a call took %s, want 2.5 s at most", took)
					}
					<-workers
				}
				var all sync.WaitGroup
				var bank sync.Mutex // the fake processor has one answer for all
				for i := range tt.enrolments {
					all.Go(func() {
						var opened service.Opened
						page(func() { opened = w.opened(t, fmt.Sprint("ORDER-", i)) })
						bank.Lock()
						w.setUp(t, opened.Token)
						bank.Unlock()
						page(func() { w.confirms(t, confirm(opened)) })
					})
				}
				all.Wait()
				// Three attempts may all find no worker free; an operator sends such an event again.
				for order, r := range w.records(t) {
					for _, e := range r.Events() {
						if e.Status != events.Delivered && e.Status != events.Failed {
							t.Errorf("%s: %s is %s, want no event that waits", order, e.Event.Name, e.Status)
						}
					}
				}
			})
		})
	}
}
