package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var errRefused = errors.New("receiver answered 500")

func TestARunMakesThreeIdenticalAttempts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answer = func(events.Delivery, int) error { return errRefused }
		start := time.Now()
		w.opened(t, "ORDER-1") // succeeds all the same
		got := w.receiver.got
		if len(got) != 3 {
			t.Fatalf("%d attempts, want 3", len(got))
		}
		for i, after := range []time.Duration{0, 250 * time.Millisecond, 1000 * time.Millisecond} {
			if got[i].attempt != i+1 || got[i].at.Sub(start) != after {
				t.Errorf("attempt %d after %s, want %d after %s", got[i].attempt, got[i].at.Sub(start), i+1, after)
			}
			if got[i].Event.ID != got[0].Event.ID || got[i].Signature != got[0].Signature || !bytes.Equal(got[i].Event.Body, got[0].Event.Body) {
				t.Errorf("attempt %d differs from the first", i+1)
			}
		}
		w.wantEvent(t, "ORDER-1", events.Failed, 3)
	})
}

func TestEachEventIsTriedThoughTheFormerFailed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		w.receiver.answer = func(d events.Delivery, _ int) error {
			time.Sleep(2 * time.Second) // as long as an attempt may take
			if d.Event.Name == events.CheckoutConfirmed {
				return errRefused
			}
			return nil
		}
		w.confirms(t, cmd)
		var statuses []events.Status
		for _, e := range w.records(t)["ORDER-1"].Events() {
			statuses = append(statuses, e.Status)
		}
		if want := []events.Status{events.Delivered, events.Failed, events.Delivered}; !slices.Equal(statuses, want) {
			t.Errorf("statuses %q, want %q", statuses, want)
		}
	})
}

// runFor runs the service's background work for a while.
func (w *world) runFor(t *testing.T, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	w.Run(ctx)
}

// crashed stores a checkout like a process that died before it delivered the event.
func (w *world) crashed(t *testing.T, order string) {
	t.Helper()
	w.crashedOf(t, "KOWHAI", order)
}

func (w *world) crashedOf(t *testing.T, provider, order string) {
	t.Helper()
	cmd := create(order)
	cmd.ProviderCode = checkout.Some(provider)
	now := time.Now().UTC()
	change := cmd.Reserve(checkout.Intent{}, provider+"-1-"+order, now)
	answer, err := change.Next.Opened(checkout.RecordIDs(catalogue.Sandbox, provider, order),
		checkout.Opening{Now: now, Environment: catalogue.Sandbox, Token: checkout.Token{Epoch: 1, Expires: now}})
	must(t, err)
	held := checkout.JobEntry{Now: w.clock.now().UTC(), Hold: 10 * time.Second}
	must(t, w.store.InsertCheckout(t.Context(), change.Answered(answer), held))
	w.receiver.got = nil
}

func TestWhatACrashCutOffIsTakenUpWithinFifteenSeconds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.crashed(t, "ORDER-1")
		w.runFor(t, 9*time.Second)
		if len(w.receiver.got) != 0 {
			t.Error("the committing request has the lease of its events for ten seconds")
		}
		w.runFor(t, 6*time.Second)
		if len(w.receiver.got) != 1 || w.records(t)["ORDER-1"].Events()[0].Status != events.Delivered {
			t.Errorf("%d delivered after fifteen seconds, want 1", len(w.receiver.got))
		}
	})
}

// However many processes run, one of them does each piece of work.
func TestOfManyProcessesOneDoesAJob(t *testing.T) {
	const many = 20
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, w *world, order string)
		done    func(w *world, mail *postbox) int
		want    int
	}{
		"an event that a crash left behind": {func(t *testing.T, w *world, order string) { w.crashed(t, order) },
			func(w *world, _ *postbox) int { return w.receiver.requests() }, many},
		"a notice": {func(t *testing.T, w *world, order string) { w.ready(t, order) },
			func(_ *world, mail *postbox) int { return len(mail.take()) }, many},
		"a look at a setup": {func(t *testing.T, w *world, order string) { w.begun(t, order) },
			func(w *world, _ *postbox) int { return w.processor.asked }, many},
		"a notification": {func(t *testing.T, w *world, order string) {
			w.begun(t, order)
			w.done(t, order, checkout.JobLook) // which would look too
			w.notify(t, true, "EV-"+order, w.setup(t, order).BillingRequestID)
		}, func(w *world, _ *postbox) int { return w.processor.asked }, many},
	} {
		t.Run(name, func(t *testing.T) {
			inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
				for n := range many {
					tt.prepare(t, w, fmt.Sprint("ORDER-", n))
				}
				w.processor.asked = 0
				w.receiver.answers(func(events.Delivery, int) error { time.Sleep(time.Second); return nil })
				mail.set(func(context.Context, checkout.PayerNotice) error { time.Sleep(5 * time.Second); return nil })
				var all sync.WaitGroup
				for range 8 {
					next := w.again(t)
					all.Go(func() { next.runFor(t, 100*time.Second) })
				}
				all.Wait()
				if got := tt.done(w, mail); got != tt.want {
					t.Errorf("it is done %d times for %d checkouts, want %d", got, many, tt.want)
				}
				w.wantNoReports(t)
			})
		})
	}
}

func TestAConfirmDeliversAfterTheCreatesEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answer = func(d events.Delivery, _ int) error {
			if d.Event.Name == events.CheckoutCreated {
				time.Sleep(2 * time.Second)
				return errRefused
			}
			return nil
		}
		var all sync.WaitGroup
		all.Go(func() { w.opened(t, "ORDER-1") }) // stays with its event for seven seconds
		synctest.Wait()
		w.confirms(t, w.ready(t, "ORDER-1"))
		all.Wait()
		w.AwaitSent()
		want := []events.Name{events.CheckoutCreated, events.CheckoutCreated, events.CheckoutCreated,
			events.CheckoutConfirmed, events.AgreementGenerated}
		if got := w.receiver.names(); !slices.Equal(got, want) {
			t.Errorf("delivered %q, want %q", got, want)
		}
	})
}

func TestAnEventWhoseDestinationWentAwayIsNotConfigured(t *testing.T) {
	silent := kowhai()
	silent.Provider.Destination = catalogue.Destination{}
	for name, left := range map[string][]catalogue.Configuration{"the destination is removed": {silent}, "the provider is removed": nil} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.crashed(t, "ORDER-1")
				w.configure(t, left...)
				w.runFor(t, 15*time.Second)
				w.wantEvent(t, "ORDER-1", events.NotConfigured, 0)
				w.wantNoReports(t)
			})
		})
	}
}

func TestAHangingReceiverDelaysNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		healthy := kowhai()
		healthy.Provider.Code = "RIMU"
		w.configure(t, kowhai(), healthy)
		for i := range 200 {
			w.crashed(t, fmt.Sprint("ORDER-", i))
		}
		w.crashedOf(t, "RIMU", "ORDER-1")
		w.receiver.answer = func(d events.Delivery, _ int) error {
			if d.Event.ProviderCode == "KOWHAI" {
				time.Sleep(2 * time.Second)
				return errRefused
			}
			return nil
		}
		w.runFor(t, 15*time.Second)
		for _, d := range w.receiver.got {
			if d.Event.ProviderCode == "RIMU" {
				return
			}
		}
		t.Error("the healthy receiver got nothing within fifteen seconds")
	})
}

func TestAStoppingServiceMakesNoSecondAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		w.receiver.got = nil
		w.receiver.answer = func(events.Delivery, int) error { time.Sleep(2 * time.Second); return errRefused }
		w.runFor(t, time.Second)
		start := time.Now()
		w.confirms(t, cmd)
		if took := time.Since(start); took > 3*time.Second || len(w.receiver.got) != 1 {
			t.Errorf("the confirm took %s and %d attempts, want one attempt of two seconds", took, len(w.receiver.got))
		}
		w2 := w.again(t)
		w2.receiver.answer = nil
		w2.runFor(t, time.Second)
		w2.wantDelivered(t, "ORDER-1")
	})
}

func TestAStoppingServiceDoesNotWaitForAnEventInOtherHands(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.runFor(t, time.Second)
		w.receiver.answer = func(events.Delivery, int) error { time.Sleep(2 * time.Second); return nil }
		go w.Create(t.Context(), caller, create("ORDER-1"))
		synctest.Wait()
		opened, err := w.Create(t.Context(), caller, create("ORDER-1")) // a replay, while the event is on its way
		must(t, err)
		w.setUp(t, opened.Token)
		start := time.Now()
		w.confirms(t, confirm(opened))
		if took := time.Since(start); took > time.Second {
			t.Errorf("the confirm took %s, want no wait for the event of the create", took)
		}
		w.wantReport(t, service.OperationDeliver, service.Warning, "")
		time.Sleep(3 * time.Second) // until the first create has ended
		next := w.again(t)
		next.receiver.answer = nil
		next.runFor(t, 100*time.Millisecond) // the leases were released: nothing waits for their end
		w.wantDelivered(t, "ORDER-1")
	})
}

func TestARunEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay time.Duration
		w := newWorld(t, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
			if method == "Provider" {
				time.Sleep(delay)
			}
			return call(ctx)
		}))
		w.crashed(t, "ORDER-1")
		w.receiver.answer = func(events.Delivery, int) error { time.Sleep(2 * time.Second); return errRefused }
		delay = 9500 * time.Millisecond // of the ten seconds of a lease
		start := time.Now()
		w.runFor(t, 26*time.Second) // expired at second 10, leased at 12, sent at 21.5, to be ended at 22
		if len(w.receiver.got) != 1 {
			t.Errorf("%d attempts within %s, want one: after it the event may be leased to another process",
				len(w.receiver.got), time.Since(start))
		}
	})
}

// A process that stops between two attempts of the scheduler leaves the event to the next process.
func TestARunThatIsCutOffBetweenAttemptsIsTakenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.crashed(t, "ORDER-1")
		w.clock.forward(time.Minute)
		w.receiver.answer = func(events.Delivery, int) error { return errRefused }
		w.runFor(t, 100*time.Millisecond) // the second attempt would come after 250 ms
		w.wantEvent(t, "ORDER-1", events.Pending, 1, 1)
		if reported := w.reports.take(); len(reported) != 1 || reported[0].Operation != service.OperationSend || reported[0].RequestID != "req_1" {
			t.Errorf("reported %+v, want the failed attempt alone, with the request that the event follows from", reported)
		}
		w.receiver.answer = nil
		w.again(t).runFor(t, 15*time.Second)
		w.wantDelivered(t, "ORDER-1")
	})
}

// Of two processes that deliver an event, the one whose lease has expired settles nothing.
func TestAProcessWithoutTheLeaseSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, count := counted()
		w := newWorld(t, count)
		w.receiver.answer = func(d events.Delivery, _ int) error { // another takes the event while it is on its way
			w.take(t, d)
			return nil
		}
		w.opened(t, "ORDER-1")
		if e := w.records(t)["ORDER-1"].Events()[0]; e.Status != events.Pending || e.Attempts != 0 || n.all[service.CountDelivered] != 0 {
			t.Errorf("on record %s after %d attempts, counted %v; want it left to the other", e.Status, e.Attempts, n.all)
		}
		w.wantNoReports(t)
	})
}

// What another process has taken is delivered by that one before any later event of the checkout is.
func TestTheEventsOfACheckoutStayInOrderOverProcesses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		var settled time.Time
		w.receiver.answer = func(d events.Delivery, _ int) error {
			switch d.Event.Name {
			case events.CheckoutConfirmed: // another process has it from now on, and settles it later
				l := w.take(t, d)
				time.AfterFunc(3*time.Second, func() {
					settled = time.Now()
					if err := w.store.Settle(context.Background(), l, checkout.Outcome{State: checkout.JobDone, Attempts: 1}, checkout.JobEntry{Now: w.clock.now()}, nil); err != nil {
						t.Error(err)
					}
				})
			case events.AgreementGenerated:
				if settled.IsZero() {
					t.Error("the second event of the confirm is sent before the first is settled")
				}
			}
			return nil
		}
		w.confirms(t, cmd)
		for _, e := range w.records(t)["ORDER-1"].Events() {
			if e.Status != events.Delivered || e.Attempts != 1 {
				t.Errorf("%s is %s after %d attempts", e.Event.Name, e.Status, e.Attempts)
			}
		}
		w.wantNoReports(t)
	})
}

// An event that another process takes over while earlier events are awaited is still sent before the events behind it.
func TestAnEventThatIsTakenOverWhileItWaitsStaysInOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		received, settled := make(chan struct{}), atomic.Bool{}
		w.receiver.answer = func(d events.Delivery, _ int) error {
			switch {
			case d.Event.Name == events.CheckoutCreated:
				<-received
			case d.Event.Name == events.AgreementGenerated && !settled.Load():
				t.Error("the second event of the confirm is sent before the first is settled")
			}
			return nil
		}
		var all sync.WaitGroup
		all.Go(func() { w.opened(t, "ORDER-1") })
		synctest.Wait()
		cmd := w.ready(t, "ORDER-1")
		all.Go(func() { w.confirms(t, cmd) })
		time.Sleep(2030 * time.Millisecond) // the leases of the confirm are extended next
		close(received)
		synctest.Wait()
		pending, err := w.store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: cmd.CheckoutID.Value, Kinds: []checkout.JobKind{checkout.JobDeliver},
			State: checkout.JobPending, OldestFirst: true}, 1)
		must(t, err)
		l := w.take(t, events.Delivery{Event: pending[0].Job.Event()})
		time.Sleep(time.Second)
		settled.Store(true)
		must(t, w.store.Settle(t.Context(), l, checkout.Outcome{State: checkout.JobDone, Attempts: 1}, checkout.JobEntry{Now: w.clock.now()}, nil))
		all.Wait()
		w.AwaitSent()
		w.wantDelivered(t, "ORDER-1")
	})
}

// A failure to release a lease is reported, unless another process holds the lease by now.
func TestALeaseThatCannotBeReleased(t *testing.T) {
	for name, tt := range map[string]struct {
		call  string // of the event that was tried, or of the one after it
		fails func() error
		want  bool
	}{
		"the store is broken":       {"Extend 1", faults["broken"], true},
		"another has it":            {"Extend 1", func() error { return ports.ErrNotFound }, false},
		"it is released":            {"Extend 1", nil, false},
		"the store is broken first": {"Settle 1", faults["broken"], true},
		"another has the first":     {"Settle 1", func() error { return ports.ErrNotFound }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, change := newFaulty()
				w := newWorld(t, change)
				cmd := w.ready(t, "ORDER-1")
				w.runFor(t, time.Second) // the service is stopping from now on
				w.receiver.answer = func(events.Delivery, int) error { return errRefused }
				store.arm(tt.call, tt.fails)
				w.confirms(t, cmd)
				var delivery []service.Failure
				for _, f := range w.reports.take() {
					if f.Operation == service.OperationDeliver {
						delivery = append(delivery, f)
					}
				}
				if len(delivery) != 1 || delivery[0].Severity != service.Warning || errors.Is(delivery[0].Err, errBroken) != tt.want ||
					errors.Is(delivery[0].Err, ports.ErrNotFound) {
					t.Errorf("reported %+v, want one warning that names the broken store: %v", delivery, tt.want)
				}
				if calls := store.called(); !slices.Contains(calls, "Settle 1") || !slices.Contains(calls, "Extend 1") {
					t.Errorf("called %q, want the leases of both events released", calls)
				}
			})
		})
	}
}

// A renewed lease is released too when the service stops.
func TestARenewedLeaseIsReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		w.runFor(t, time.Second) // the service is stopping from now on
		w.receiver.answer = func(d events.Delivery, _ int) error {
			if d.Event.Name == events.AgreementGenerated {
				return errRefused
			}
			time.Sleep(3 * time.Second)
			return nil
		}
		w.confirms(t, cmd)
		time.Sleep(2 * time.Second) // what the call left to the background ends
		synctest.Wait()
		next := w.again(t)
		next.receiver.answer = nil
		next.runFor(t, 100*time.Millisecond)
		w.wantDelivered(t, "ORDER-1")
	})
}

// A delivery run ends with its lease, even between two attempts: the event stays pending.
func TestALeaseThatEndsBetweenAttempts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answer = func(events.Delivery, int) error { time.Sleep(9900 * time.Millisecond); return errRefused }
		w.opened(t, "ORDER-1")
		w.wantEvent(t, "ORDER-1", events.Pending, 1, 1)
		w.receiver.answer = nil
		w.runFor(t, 2*time.Second)
		w.wantDelivered(t, "ORDER-1")
	})
}

// lease returns the token of the lease of the event that is being delivered, and how long it still lasts.
func (w *world) lease(t *testing.T, d events.Delivery) (token int64, left time.Duration) {
	t.Helper()
	pending, err := w.store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: d.Event.CheckoutID, Kinds: []checkout.JobKind{checkout.JobDeliver},
		State: checkout.JobPending, OldestFirst: true}, 10)
	if err != nil || len(pending) == 0 || pending[0].Job.ID != d.Event.ID {
		t.Fatalf("pending %+v, %v; want %s first", pending, err, d.Event.Name)
	}
	return pending[0].Token, pending[0].Due.Sub(w.clock.now())
}

// take has another process, which has been told that the lease is over, lease the event that is being delivered.
func (w *world) take(t *testing.T, d events.Delivery) checkout.Lease {
	t.Helper()
	taken, err := w.store.Lease(t.Context(), checkout.JobQuery{Now: w.clock.now().Add(time.Minute), For: 10 * time.Second,
		Kinds: []checkout.JobKind{checkout.JobDeliver}, ID: d.Event.ID, Limit: 1})
	if err != nil || len(taken) != 1 {
		t.Fatalf("another process takes %+v, %v; want %s", taken, err, d.Event.Name)
	}
	must(t, w.store.Extend(t.Context(), taken[0], w.clock.now(), 10*time.Second))
	return taken[0]
}

// An event is leased for ten seconds: to the request that commits it, and to the process that takes it over. The lease
// of an event that has to wait is extended if less is left than a delivery run takes.
func TestHowLongAnEventIsLeased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.receiver.answer = func(d events.Delivery, _ int) error {
			if token, left := w.lease(t, d); token != 1 || left != 10*time.Second {
				t.Errorf("in the request the event has token %d for %s, want 1 for 10 s", token, left)
			}
			return nil
		}
		w.opened(t, "ORDER-1")
		w.crashed(t, "ORDER-2")
		w.receiver.answer = func(d events.Delivery, _ int) error {
			if token, left := w.lease(t, d); token != 2 || left != 10*time.Second {
				t.Errorf("in recovery the event has token %d for %s, want 2 for 10 s", token, left)
			}
			return nil
		}
		w.runFor(t, 15*time.Second)
		if len(w.receiver.got) != 1 {
			t.Errorf("%d events were recovered, want one", len(w.receiver.got))
		}
	})
	for takes, want := range map[time.Duration]time.Duration{2 * time.Second: 8 * time.Second, 2*time.Second + time.Millisecond: 10 * time.Second} {
		inWorld(t, func(t *testing.T, w *world) {
			cmd := w.ready(t, "ORDER-1")
			w.receiver.answer = func(d events.Delivery, _ int) error {
				if d.Event.Name == events.CheckoutConfirmed {
					time.Sleep(takes)
					return nil
				}
				if token, left := w.lease(t, d); token != 1 || left != want {
					t.Errorf("after %s the next event has token %d for %s, want 1 for %s", takes, token, left, want)
				}
				return nil
			}
			w.confirms(t, cmd)
		})
	}
}

// A delivery waits at most 35 s for its turn: another process may keep the lease of an earlier event and never settle it.
func TestADeliveryDoesNotWaitForEver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		holding, stop := context.WithCancel(t.Context())
		defer stop()
		w.receiver.answer = func(d events.Delivery, _ int) error { // another takes the event of the create, and keeps it
			l := w.take(t, d)
			go func() {
				for sleep := time.NewTicker(5 * time.Second); holding.Err() == nil; {
					select {
					case <-holding.Done():
					case <-sleep.C:
						if err := w.store.Extend(context.Background(), l, w.clock.now(), 10*time.Second); err != nil {
							t.Error(err)
						}
					}
				}
			}()
			return nil
		}
		cmd := w.ready(t, "ORDER-1")
		w.receiver.answer = nil
		start := time.Now()
		w.confirms(t, cmd)
		if took := time.Since(start); took != 2500*time.Millisecond {
			t.Errorf("the confirm took %s, want 2.5 s", took)
		}
		w.AwaitSent()
		if took := time.Since(start); took != 35*time.Second {
			t.Errorf("the delivery took %s, want 35 s", took)
		}
		reported := w.reports.take()
		if len(reported) != 1 || reported[0].Operation != service.OperationDeliver || reported[0].Severity != service.Error || !errors.Is(reported[0].Err, context.DeadlineExceeded) {
			t.Errorf("reported %+v, want an error of the delivery", reported)
		}
		for _, e := range w.records(t)["ORDER-1"].Events() {
			if e.Status != events.Pending {
				t.Errorf("%s is %s, want it pending", e.Event.Name, e.Status)
			}
		}
		stop()
		w.runFor(t, 12*time.Second)
		w.wantDelivered(t, "ORDER-1")
	})
}
