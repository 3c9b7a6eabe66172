package service_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var errAnswered500 = errors.New("receiver answered 500")

// answers500 is a receiver that takes a time and refuses.
func answers500(takes time.Duration) func(events.Delivery, int) error {
	return func(events.Delivery, int) error { time.Sleep(takes); return errAnswered500 }
}

// An event is never sent whose destination, or whose provider, goes away before the first attempt.
func TestAnEventWhoseDestinationGoesAwayIsNotSent(t *testing.T) {
	silent := kowhai()
	silent.Provider.Destination = catalogue.Destination{}
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
