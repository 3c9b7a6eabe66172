package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var errAnswered500 = errors.New("receiver answered 500")

// answers500 is a receiver that takes a time and refuses.
func answers500(takes time.Duration) func(events.Delivery, int) error {
	return func(events.Delivery, int) error { time.Sleep(takes); return errAnswered500 }
}

// An event has three attempts with one signature, at the contract's delays, within the request; then it failed, with its reason.
func TestAnEventHasThreeIdenticalAttempts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(answers500(0))
		start := time.Now()
		w.opened(t, "ORDER-1") // succeeds all the same
		w.wantEvent(t, "ORDER-1", events.Failed, 3, 3)
		got := w.receiver.got
		for i, after := range []time.Duration{0, 250 * time.Millisecond, 1000 * time.Millisecond} {
			if got[i].attempt != i+1 || got[i].at.Sub(start) != after {
				t.Errorf("attempt %d after %s, want %d after %s", got[i].attempt, got[i].at.Sub(start), i+1, after)
			}
			if got[i].Event.ID != got[0].Event.ID || got[i].Signature != got[0].Signature || !bytes.Equal(got[i].Event.Body, got[0].Event.Body) {
				t.Errorf("attempt %d differs from the first", i+1)
			}
		}
		r := w.records(t)["ORDER-1"]
		noted := slices.ContainsFunc(r.Moments, func(m checkout.Moment) bool {
			return m.Kind == checkout.MomentEventFailed && strings.Contains(m.Detail, errAnswered500.Error())
		})
		if f := r.Events()[0].Failure; f.Reason != errAnswered500.Error() || f.At.IsZero() || !noted {
			t.Errorf("on record %+v, and the timeline is %+v", f, r.Moments)
		}
		for i, f := range w.reports.take() {
			if f.Operation != service.OperationSend || f.Severity != service.Warning || f.Attempt != i+1 || f.EventID != got[0].Event.ID {
				t.Errorf("reported %+v", f)
			}
		}
	})
}

// An operator's retry is another round: the same id and body, a fresh signature, and the attempts count on.
func TestARetriedEventIsTheSameEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(answers500(0))
		w.opened(t, "ORDER-1")
		w.clock.forward(time.Hour)
		j := w.jobs(t, "ORDER-1", checkout.JobDeliver)[0].Job
		for _, want := range [][]int{{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7}} {
			j.CreatedAt = w.clock.now().UTC()
			if n, err := w.store.Enqueue(t.Context(), []checkout.Job{j}, nil); n != 1 || err != nil {
				t.Fatalf("%d jobs armed, %v", n, err)
			}
			w.runFor(t, 5*time.Second)
			if got := w.receiver.attempts(); !slices.Equal(got, want) {
				t.Errorf("attempts %d, want %d", got, want)
			}
			w.receiver.answers(nil)
		}
		first, last := w.receiver.got[0], w.receiver.latest()
		if last.Event.ID != first.Event.ID || !bytes.Equal(last.Event.Body, first.Event.Body) || last.Signature == first.Signature {
			t.Errorf("sent again %+v, the first was %+v", last, first)
		}
		w.wantEvent(t, "ORDER-1", events.Delivered, 7)
	})
}

// Without a destination an event is on record and never sent, also where the destination or the provider goes away later.
func TestAnEventWithoutADestinationIsNotSent(t *testing.T) {
	silent := kowhai()
	silent.Provider.Destination = catalogue.Destination{}
	inWorld(t, func(t *testing.T, w *world) {
		w.configure(t, silent)
		w.confirmed(t, "ORDER-1")
		w.configure(t, kowhai())
		w.runFor(t, time.Minute)
		for _, e := range w.records(t)["ORDER-1"].Events() {
			if e.Status != events.NotConfigured || w.receiver.requests() > 0 {
				t.Errorf("%s is %s, and the receiver got %d", e.Event.Name, e.Status, w.receiver.requests())
			}
		}
	})
	for _, left := range [][]catalogue.Configuration{{silent}, nil} {
		inWorld(t, func(t *testing.T, w *world) {
			w.crashed(t, "KOWHAI", "ORDER-1")
			w.configure(t, left...)
			w.runFor(t, 15*time.Second)
			w.wantEvent(t, "ORDER-1", events.NotConfigured, 0, 0)
			w.wantNoReports(t)
		})
	}
}

// A destination that may not be used fails at once; a sender that cannot try makes no attempt, and tries later.
func TestWhatIsNotSentIsNoAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(func(events.Delivery, int) error { return fmt.Errorf("10.0.0.1: %w", ports.ErrProhibited) })
		w.opened(t, "ORDER-1")
		w.wantEvent(t, "ORDER-1", events.Failed, 0, 1)
	})
	inWorld(t, func(t *testing.T, w *world) {
		busy := true
		w.receiver.answers(func(events.Delivery, int) error {
			if busy {
				return ports.ErrBusy
			}
			return nil
		})
		w.opened(t, "ORDER-1")
		w.wantEvent(t, "ORDER-1", events.Pending, 0, 1)
		busy = false
		w.runFor(t, 5*time.Second)
		w.wantEvent(t, "ORDER-1", events.Delivered, 1)
	})
}

// A process that died has the lease of its events for ten seconds; within fifteen another sends them.
func TestWhatACrashCutOffIsTakenUpWithinFifteenSeconds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.crashed(t, "KOWHAI", "ORDER-1")
		w.runFor(t, 9*time.Second)
		if n := w.receiver.requests(); n != 0 {
			t.Errorf("%d requests while the lease lasts", n)
		}
		w.runFor(t, 6*time.Second)
		w.wantEvent(t, "ORDER-1", events.Delivered, 1, 1)
	})
}

// Events of a checkout are sent in their order, one at a time, though an earlier one takes long, fails or is in other hands.
func TestTheEventsOfACheckoutStayInOrder(t *testing.T) {
	want := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated}
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(func(d events.Delivery, _ int) error {
			if d.Event.Name == events.CheckoutCreated {
				time.Sleep(4 * time.Second)
			}
			return nil
		})
		defer w.background(t)()
		start := time.Now()
		cmd := w.ready(t, "ORDER-1") // its event goes on for a second and a half
		if took := time.Since(start); took != 2500*time.Millisecond {
			t.Errorf("the create took %s, want 2.5 s", took)
		}
		w.confirms(t, cmd)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the confirm was answered after %s", took)
		}
		time.Sleep(5 * time.Second)
		if got := w.receiver.names(); !slices.Equal(got, want) {
			t.Errorf("sent %q, want %q", got, want)
		}
		w.wantDelivered(t, "ORDER-1")
	})
}

// Of two processes that send an event, the one whose lease is over settles nothing.
func TestAProcessWithoutTheLeaseSettlesNothing(t *testing.T) {
	n, count := counted()
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(func(events.Delivery, int) error { w.taken(t, checkout.JobDeliver); return nil })
		w.opened(t, "ORDER-1")
		if w.wantEvent(t, "ORDER-1", events.Pending, 0, 1); n.all[service.CountDelivered] != 0 {
			t.Errorf("counted %v", n.all)
		}
		w.wantNoReports(t)
	}, count)
}

// However many processes run, one of them sends each event, and a receiver that hangs delays no other.
func TestAHangingReceiverDelaysNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const many = 200
		healthy := kowhai()
		healthy.Provider.Code = "RIMU"
		w.configure(t, kowhai(), healthy)
		for i := range many {
			w.crashed(t, "KOWHAI", fmt.Sprint("ORDER-", i))
		}
		for i := range many {
			w.crashed(t, "RIMU", fmt.Sprint("RIMU-", i))
		}
		var mu sync.Mutex
		got := map[string]int{}
		w.receiver.answers(func(d events.Delivery, _ int) error {
			mu.Lock()
			got[d.Event.ProviderCode]++
			mu.Unlock()
			if d.Event.ProviderCode == "KOWHAI" {
				time.Sleep(2 * time.Second)
			}
			return nil
		})
		w.clock.forward(time.Minute)
		stops := []func(){w.background(t), w.again(t).background(t), w.again(t).background(t)}
		time.Sleep(2 * time.Second)
		mu.Lock()
		if got["RIMU"] != many {
			t.Errorf("within two seconds the healthy receiver got %d events, want %d", got["RIMU"], many)
		}
		mu.Unlock()
		time.Sleep(time.Minute)
		for _, stop := range stops {
			stop()
		}
		if got["KOWHAI"] != many || got["RIMU"] != many {
			t.Errorf("sent %v, want each event once", got)
		}
		w.wantNoReports(t)
	})
}

// A service that stops makes no second attempt, waits for the one under way, and leaves its jobs to the next process at once.
func TestAServiceThatStopsDrains(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answers(answers500(2 * time.Second))
		stop := w.background(t)
		go w.Create(t.Context(), caller, create("ORDER-1"))
		time.Sleep(time.Second)
		start := time.Now()
		stop()
		if took := time.Since(start); took != time.Second || w.receiver.requests() != 1 {
			t.Errorf("the service took %s to stop, and made %d attempts; want the rest of one attempt", took, w.receiver.requests())
		}
		w.wantEvent(t, "ORDER-1", events.Pending, 1)
		cmd := w.ready(t, "ORDER-2") // a call that is still served
		w.receiver.answers(nil)
		next := w.again(t)
		next.runFor(t, 100*time.Millisecond)
		next.confirms(t, cmd)
		w.wantDelivered(t, "ORDER-1")
		w.wantDelivered(t, "ORDER-2")
	})
}

// A provider reads its own events, the oldest first, a page at a time, of all orders or of one.
func TestAProviderListsItsEvents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rimu := kowhai()
		rimu.Provider.Code = "RIMU"
		w.configure(t, kowhai(), rimu)
		w.crashed(t, "RIMU", "ORDER-1")
		w.clock.forward(time.Minute)
		w.confirmed(t, "ORDER-1")
		w.opened(t, "ORDER-2")
		list := func(l checkout.List) (names []string, next checkout.Cursor) {
			t.Helper()
			page, err := w.Events(t.Context(), caller, l)
			must(t, err)
			for _, e := range page {
				names, next = append(names, string(e.Event.Name)), e.Cursor
				if e.Event.ProviderCode != "KOWHAI" || e.Status != events.Delivered || e.Attempts != 1 {
					t.Errorf("listed %+v", e)
				}
			}
			return names, next
		}
		all, _ := list(checkout.List{})
		first, next := list(checkout.List{Limit: checkout.Some(3)})
		rest, end := list(checkout.List{After: checkout.Some(next)})
		want := []string{"checkout.created", "checkout.confirmed", "agreement.generated", "checkout.created"}
		if !slices.Equal(all, want) || !slices.Equal(slices.Concat(first, rest), want) || len(first) != 3 {
			t.Errorf("listed %q, and %q then %q", all, first, rest)
		}
		if of, _ := list(checkout.List{OrderID: checkout.Some("ORDER-2")}); len(of) != 1 {
			t.Errorf("of ORDER-2 %q", of)
		}
		for _, none := range []checkout.List{{After: checkout.Some(end)}, {OrderID: checkout.Some("ORDER-3")}} {
			if got, _ := list(none); len(got) != 0 {
				t.Errorf("listed %q for %+v, want nothing", got, none)
			}
		}
		_, err := w.Events(t.Context(), caller, checkout.List{After: checkout.Some(checkout.Cursor("nothing"))})
		expect(t, err, checkout.CodeValidation)
		w.clock.forward(401 * 24 * time.Hour)
		if old, _ := list(checkout.List{}); len(old) != 0 {
			t.Errorf("after 401 days it lists %q", old)
		}
	})
}
