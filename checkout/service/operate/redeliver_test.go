package operate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const signing = "whsec_0123456789abcdefgh"

var errRefused = errors.New("answered 500")

// sent is one attempt.
type sent struct {
	events.Delivery
	attempt int
	env     catalogue.Environment
}

// receiver takes what its answer takes.
type receiver struct {
	env    catalogue.Environment
	all    *attempts
	answer func(events.Delivery) error
}

type attempts struct {
	mu  sync.Mutex
	got []sent
}

func (r receiver) Send(_ context.Context, _ catalogue.Destination, d events.Delivery, attempt int) (checkout.Answer, error) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	r.all.got = append(r.all.got, sent{d, attempt, r.env})
	return checkout.Answer{Status: 204}, r.answer(d)
}

// world is a desk over a store with the providers KOWHAI and RIMU, and what was sent.
type world struct {
	desk
	attempts attempts
	answer   func(events.Delivery) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{desk: newDesk(t), answer: func(events.Delivery) error { return nil }}
	w.Now = time.Now
	provider := func(code string) catalogue.Configuration {
		c := named(code, code)
		c.Provider.Destination = catalogue.Destination{URL: "https://hooks.example", Secret: signing}
		return c
	}
	w.configure(t, provider("KOWHAI"), provider("RIMU"))
	return w
}

func (w *world) sender(env catalogue.Environment) ports.Sender {
	return receiver{env, &w.attempts, func(d events.Delivery) error { return w.answer(d) }}
}

// one sends one event again.
func (w *world) one(ctx context.Context, id string) (result operate.Redelivered, err error) {
	err = w.Redeliver(ctx, id, w.sender, func(r operate.Redelivered) { result = r })
	return result, err
}

// settled stores a checkout whose event has this status, and returns the event.
func (w *world) settled(t *testing.T, provider, order string, status events.Status) events.Event {
	t.Helper()
	c := checkout.Checkout{ID: provider + "-" + order, ProviderCode: provider, OrderID: order, IdempotencyKey: provider + ":" + order}
	e := events.Created(events.Origin{RequestID: "req_1", Environment: "sandbox", CreatedAt: time.Now()},
		events.Subject{ProviderCode: provider, OrderID: order, CheckoutID: c.ID}, "dda", "contact")
	e.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	enqueue := checkout.JobEntry{Now: time.Now(), Hold: time.Second, Unsent: status == events.NotConfigured}
	must(t, w.store.InsertCheckout(t.Context(), checkout.Change{Next: c, Events: []events.Event{e}}, enqueue))
	switch status {
	case events.Delivered:
		w.settle(t, e, checkout.Outcome{State: checkout.JobDone, Attempts: 3, Failure: checkout.Failure{At: time.Now(), Reason: "answered 503"}})
	case events.Failed:
		w.settle(t, e, checkout.Outcome{State: checkout.JobDead, Attempts: 3, Failure: checkout.Failure{At: time.Now(), Reason: "answered 503"}})
	}
	return e
}

// settle stores the outcome of the first holder of an event.
func (w *world) settle(t *testing.T, e events.Event, o checkout.Outcome) {
	t.Helper()
	must(t, w.store.Settle(t.Context(), checkout.Lease{Job: checkout.DeliveryOf(e), Token: 1}, o, checkout.JobEntry{Now: time.Now()}, nil))
}

func (w *world) record(t *testing.T, id string) checkout.EventRecord {
	t.Helper()
	list, err := w.store.Jobs(t.Context(), checkout.JobFilter{ID: id}, 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("event %s: %+v, %v", id, list, err)
	}
	return checkout.EventOf(list[0])
}

func TestAFailedEventIsSentAgainAsItIsAndSignedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e := w.settled(t, "KOWHAI", "ORDER-1", events.Failed)
		time.Sleep(24 * time.Hour)
		now := time.Now()
		result, err := w.one(t.Context(), e.ID)
		want := checkout.Redelivery{At: now, Delivered: true, Attempts: 1, Log: []checkout.Attempt{{At: now, Number: 1, Status: 204}}}
		if err != nil || result.Was != events.Failed || result.Left != "" || !reflect.DeepEqual(result.Outcome, want) {
			t.Fatalf("One = %+v, %v; want %+v", result, err, want)
		}
		got := w.attempts.got[0]
		if got.Event.ID != e.ID || !bytes.Equal(got.Event.Body, e.Body) || got.attempt != 1 || got.env != catalogue.Sandbox {
			t.Errorf("sent %+v, want the event as it is", got)
		}
		if got.Trace.ID() != e.Trace.ID() || got.Trace == e.Trace {
			t.Errorf("sent with the trace %q, want a span in %q", got.Trace, e.Trace)
		}
		if err := events.Verify(signing, got.Signature, e.Body, now, time.Second); err != nil {
			t.Errorf("the signature of the day after: %v", err)
		}
		if r := w.record(t, e.ID); r.Status != events.Delivered || r.Attempts != 3 {
			t.Errorf("on record %+v, want it delivered, and the service's own attempts as they were", r)
		}
		if list, err := w.store.Redeliveries(t.Context(), e.ID); err != nil || len(list) != 1 || !list[0].Delivered {
			t.Errorf("redeliveries %+v, %v; want it on record", list, err)
		}
		w.says(t, `"operation":"events redeliver"`, `"subject":"`+e.ID+`"`, "event "+e.ID+": delivered")
		moments, err := w.store.Moments(t.Context(), e.CheckoutID)
		if last := moments[len(moments)-1]; err != nil || last.Kind != checkout.MomentEventDelivered || last.Actor != "operator:Aroha" || last.Detail != "checkout.created "+e.ID {
			t.Errorf("the journal ends with %+v, %v", last, err)
		}
	})
}

func TestWhatIsSentAgainInVainIsOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e := w.settled(t, "KOWHAI", "ORDER-1", events.Failed)
		w.answer = func(events.Delivery) error { return errRefused }
		result, err := w.one(t.Context(), e.ID)
		if err != nil || result.Outcome.Delivered || result.Outcome.Attempts != 3 || result.Outcome.Failure != "answered 500" {
			t.Errorf("One = %+v, %v", result, err)
		}
		if r := w.record(t, e.ID); r.Status != events.Failed || r.Failure.Reason != "answered 500" {
			t.Errorf("on record %+v, want it failed for the new reason", r)
		}
	})
}

func TestADeliveredEventIsSentAgainWhenItIsNamed(t *testing.T) {
	w := newWorld(t)
	e := w.settled(t, "KOWHAI", "ORDER-1", events.Delivered)
	result, err := w.one(t.Context(), e.ID)
	if err != nil || result.Was != events.Delivered || !result.Outcome.Delivered || len(w.attempts.got) != 1 {
		t.Errorf("One = %+v, %v", result, err)
	}
}

func TestWhatIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	gone := w.settled(t, "GONE", "ORDER-3", events.Failed)
	for _, e := range []events.Event{w.settled(t, "KOWHAI", "ORDER-1", events.Pending), w.settled(t, "KOWHAI", "ORDER-2", events.NotConfigured), gone} {
		before := w.record(t, e.ID)
		result, err := w.one(t.Context(), e.ID)
		if err != nil || result.Left == "" || len(w.attempts.got) != 0 {
			t.Errorf("%s = %+v, %v; want nothing sent, and why", e.OrderID, result, err)
		}
		if after := w.record(t, e.ID); after.Status != before.Status || after.Failure != before.Failure {
			t.Errorf("%s became %+v", e.OrderID, after)
		}
	}
	if _, err := w.one(t.Context(), "evt_none"); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("an unknown event: %v, want %v", err, ports.ErrNotFound)
	}
	if recorded := w.recorded(t); len(recorded) > 0 {
		t.Errorf("recorded %q, though nothing was sent", recorded)
	}
}

// The events that failed since the time are sent, once, and the rest is left if a receiver takes nothing.
func TestEveryFailedEventSinceATimeIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		early := w.settled(t, "KOWHAI", "EARLY", events.Failed)
		w.settled(t, "KOWHAI", "TAKEN", events.Delivered)
		time.Sleep(time.Hour)
		since := time.Now()
		for i := range 40 {
			w.settled(t, "KOWHAI", fmt.Sprint("ORDER-", i), events.Failed)
			w.settled(t, "RIMU", fmt.Sprint("ORDER-", i), events.Failed)
		}
		w.answer = func(d events.Delivery) error {
			if d.Event.ProviderCode == "RIMU" {
				return errRefused
			}
			return nil
		}
		var all []operate.Redelivered
		each := func(r operate.Redelivered) { all = append(all, r) }
		more, err := w.RedeliverFailed(t.Context(), since, "", w.sender, each)
		if err != nil || more || len(all) != 80 {
			t.Fatalf("%d results, more %t, %v; want 80", len(all), more, err)
		}
		delivered, left := 0, 0
		for _, r := range all {
			if r.Outcome.Delivered {
				delivered++
			}
			if r.Left != "" {
				left++
			}
		}
		if delivered != 40 || left < 20 {
			t.Errorf("%d delivered and %d left, want the 40 of KOWHAI, and most of RIMU's left after a few", delivered, left)
		}
		if r := w.record(t, early.ID); r.Status != events.Failed {
			t.Errorf("the event of an hour before is %s", r.Status)
		}
		all = nil
		if _, err := w.RedeliverFailed(t.Context(), since, "KOWHAI", w.sender, each); err != nil || len(all) != 0 {
			t.Errorf("again, of KOWHAI: %d results, %v; want none", len(all), err)
		}
		w.says(t, `"operation":"events redeliver"`, `"subject":"failed since `+events.Timestamp(since)+`"`, ": delivered")
	})
}

func TestTheEventsOfACheckoutAreSentInTheirOrder(t *testing.T) {
	w := newWorld(t)
	first := w.settled(t, "KOWHAI", "ORDER-1", events.Failed)
	second := events.Confirmed(events.Origin{CreatedAt: time.Now()}, events.Subject{ProviderCode: "KOWHAI", OrderID: "ORDER-1",
		CheckoutID: first.CheckoutID}, "dda", "agreement")
	err := w.store.UpdateCheckout(t.Context(), first.CheckoutID, checkout.JobEntry{Now: time.Now(), Hold: time.Second},
		func(c checkout.Checkout) (checkout.Change, error) {
			return checkout.Change{Next: c, Events: []events.Event{second}}, nil
		})
	must(t, err)
	w.settle(t, second, checkout.Outcome{State: checkout.JobDead, Attempts: 3})
	if _, err := w.RedeliverFailed(t.Context(), time.Time{}, "", w.sender, func(operate.Redelivered) {}); err != nil {
		t.Fatal(err)
	}
	var names []events.Name
	for _, s := range w.attempts.got {
		names = append(names, s.Event.Name)
	}
	if want := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed}; !slices.Equal(names, want) {
		t.Errorf("sent %q, want %q", names, want)
	}
}

// An operator who interrupts the command finds on record what was sent.
func TestARedeliveryThatIsInterruptedIsOnRecord(t *testing.T) {
	w := newWorld(t)
	e := w.settled(t, "KOWHAI", "ORDER-1", events.Failed)
	ctx, cancel := context.WithCancel(t.Context())
	w.answer = func(events.Delivery) error { cancel(); return ctx.Err() }
	result, err := w.one(ctx, e.ID)
	if err != nil || result.Outcome.Delivered || result.Outcome.Attempts != 1 {
		t.Errorf("One = %+v, %v", result, err)
	}
	if list, err := w.store.Redeliveries(t.Context(), e.ID); err != nil || len(list) != 1 || list[0].Attempts != 1 {
		t.Errorf("redeliveries %+v, %v; want the attempt on record", list, err)
	}
}
