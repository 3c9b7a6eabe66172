package service_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

// begun opens a checkout whose payer has gone on to the bank.
func (w *world) begun(t *testing.T, order string) service.Opened {
	t.Helper()
	o := w.opened(t, order)
	if _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{From: "192.0.2.1"}); err != nil {
		t.Fatal(err)
	}
	return o
}

// setup returns what is on record of the setup of an order.
func (w *world) setup(t *testing.T, order string) checkout.Setup {
	t.Helper()
	return w.records(t)[order].Checkout.Setup
}

func mandate(m checkout.MandateStatus) checkout.Observation {
	o := fulfilled
	o.Mandate = m
	return o
}

// What a processor notifies is asked for each time, by billing request and by mandate, also of a provider that was switched off.
func TestANotificationHasTheProcessorAsked(t *testing.T) {
	for _, by := range []string{"billing request", "mandate"} {
		t.Run(by, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.setUp(t, w.opened(t, "ORDER-1").Token)
				w.setUp(t, w.opened(t, "ORDER-2").Token)
				w.processor.set(withMandate("MD-2", checkout.MandateSubmitted)) // another, with a mandate of its own
				if _, err := w.Refresh(t.Context(), w.records(t)["ORDER-2"].Checkout.ID); err != nil {
					t.Fatal(err)
				}
				id := map[string]string{"billing request": w.setup(t, "ORDER-1").BillingRequestID, "mandate": "MD-1"}[by]
				for n, status := range []checkout.MandateStatus{checkout.MandateSubmitted, checkout.MandateActive, checkout.MandateCancelled} {
					if status == checkout.MandateCancelled {
						off := kowhai()
						off.Provider.Active = false
						w.configure(t, off)
					}
					w.processor.set(mandate(status))
					w.notify(t, false, fmt.Sprint("EV", n), id)
					w.runFor(t, time.Second/2)
					if got := w.setup(t, "ORDER-1").Mandate; got != status {
						t.Errorf("after a notification the mandate is %s on record, want %s", got, status)
					}
				}
				if got := w.setup(t, "ORDER-2").Mandate; got != checkout.MandateSubmitted {
					t.Errorf("the mandate of the other order is %s", got)
				}
			})
		})
	}
}

func withMandate(id string, m checkout.MandateStatus) checkout.Observation {
	o := mandate(m)
	o.MandateID = id
	return o
}

// A processor keeps its accounts apart: it gets the account of the setup with each call.
func TestTheProcessorGetsTheAccount(t *testing.T) {
	w := newWorld(t)
	var got []checkout.Account
	w.processor.observes = func(a checkout.Account, s checkout.Setup) (checkout.Observation, error) {
		got = append(got, a)
		return s.Observation, nil
	}
	o := w.begun(t, "ORDER-1")
	refresh := func() {
		t.Helper()
		if _, err := w.Refresh(t.Context(), o.Checkout.ID); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	moved := kowhai()
	moved.Provider.AccountID = "acc-2"
	w.configure(t, moved)
	refresh()
	w.configure(t) // the provider is gone
	refresh()
	want := []checkout.Account{
		{ProviderCode: "KOWHAI", ID: "acc-1", Environment: catalogue.Sandbox},
		{ProviderCode: "KOWHAI", ID: "acc-2", Environment: catalogue.Sandbox},
		{ProviderCode: "KOWHAI", Environment: catalogue.Sandbox},
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked about %+v, want %+v", got, want)
	}
}

// asks makes the processor answer o, and returns the times at which it was asked.
func (w *world) asks(o checkout.Observation) *[]time.Time {
	var mu sync.Mutex
	var at []time.Time
	w.processor.mu.Lock()
	defer w.processor.mu.Unlock()
	w.processor.observes = func(checkout.Account, checkout.Setup) (checkout.Observation, error) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
		return o, nil
	}
	return &at
}

func TestASweepObservesSetupsWithoutPolls(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begun(t, "ORDER-1")
		w.processor.set(fulfilled)
		w.runFor(t, 59*time.Second)
		if w.setup(t, "ORDER-1").BillingRequest != checkout.BillingPending {
			t.Error("a setup is looked at before a minute is over")
		}
		w.runFor(t, 31*time.Second)
		if s := w.setup(t, "ORDER-1"); s.BillingRequest != checkout.BillingFulfilled || s.AccountMask != "01-0902-•••••89-00" {
			t.Errorf("after a minute and a half: %+v; want it fulfilled", s)
		}
	})
}

func TestAFinalStateEndsTheSweep(t *testing.T) {
	for _, tt := range []struct {
		name  string
		says  checkout.Observation
		looks int
	}{
		{"a dead mandate", mandate(checkout.MandateFailed), 1},
		{"a cancelled billing request", checkout.Observation{BillingRequest: checkout.BillingCancelled}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.begun(t, "ORDER-1")
				at := w.asks(tt.says)
				w.runFor(t, 12*time.Hour)
				job := w.jobs(t, "ORDER-1", checkout.JobLook)[0]
				if len(*at) != tt.looks || job.State != checkout.JobDone {
					t.Errorf("%d looks, and the job is %s; want %d, and it done", len(*at), job.State, tt.looks)
				}
			})
		})
	}
}

func TestASweepLooksAtProvidersThatAreOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := w.begun(t, "ORDER-1")
		off := kowhai()
		off.Provider.Active = false
		w.configure(t, off)
		w.processor.set(fulfilled)
		w.runFor(t, 100*time.Second)
		if s := w.setup(t, "ORDER-1"); s.BillingRequest != checkout.BillingFulfilled {
			t.Errorf("the setup of checkout %s is %s", o.Checkout.ID, s.BillingRequest)
		}
	})
}

// A processor that is down is asked again later, and each failure is reported as a warning.
func TestASweepGoesOnAfterAFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begun(t, "ORDER-1")
		w.processor.err = errors.New("connection refused")
		w.runFor(t, 100*time.Second)
		w.wantReport(t, service.OperationObserve, service.Warning, "")
		w.processor.err = nil
		w.processor.set(fulfilled)
		w.runFor(t, 2*time.Minute)
		if s := w.setup(t, "ORDER-1"); s.BillingRequest != checkout.BillingFulfilled {
			t.Errorf("later the setup is %s", s.BillingRequest)
		}
	})
}

// A processor that makes three remote calls is slow: polls are answered from the record, a confirm waits.
func TestASlowProcessor(t *testing.T) {
	for _, tt := range []struct {
		name        string
		takes       time.Duration
		poll, limit time.Duration // as configured; 0 for the usual
		polled      bool          // the poll knows what is new
		within      time.Duration // how long it takes
		confirmed   bool
		took        time.Duration
	}{
		{"two seconds", 2 * time.Second, 0, 0, false, time.Second, true, 2 * time.Second},
		{"just in time for a confirm", 5*time.Second - 1, 0, 0, false, time.Second, true, 5*time.Second - 1},
		{"too slow for a confirm", 5*time.Second + 1, 0, 0, false, time.Second, false, 5 * time.Second},
		{"a poll that may wait", 2 * time.Second, 3 * time.Second, 0, true, 2 * time.Second, true, 2 * time.Second},
		{"a confirm that may wait longer", 8 * time.Second, 0, 10 * time.Second, false, time.Second, true, 8 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(c *service.Config) { c.PollTimeout, c.ProcessorTimeout = tt.poll, tt.limit })
				cmd := w.ready(t, "ORDER-1")
				w.clock.forward(3 * time.Second) // nothing is remembered
				w.processor.set(mandate(checkout.MandateSubmitted))
				w.processor.takes = tt.takes

				start := time.Now()
				c, err := w.Checkout(t.Context(), caller, cmd.CheckoutID.Value)
				if took := time.Since(start); err != nil || took != tt.within || (c.Setup.Mandate == checkout.MandateSubmitted) != tt.polled {
					t.Errorf("a poll: mandate %s, %v after %s; want an answer after %s", c.Setup.Mandate, err, took, tt.within)
				}
				reported := w.reports.take()
				if tt.polled != (len(reported) == 0) {
					t.Errorf("reported %+v of a poll", reported)
				}

				start = time.Now()
				_, err = w.confirm(t, cmd)
				if took := time.Since(start); (err == nil) != tt.confirmed || took != tt.took {
					t.Errorf("a confirm: %v after %s; want it confirmed: %v, after %s", err, took, tt.confirmed, tt.took)
				}
				if !tt.confirmed {
					expect(t, err, checkout.CodeBusy)
				}
			})
		})
	}
}

// Of many concurrent polls of a checkout one at a time asks the processor; all get its answer or the record's.
func TestManyPollsAtOnceAskOnce(t *testing.T) {
	for _, tt := range []struct {
		takes time.Duration
		want  checkout.MandateStatus
	}{
		{500 * time.Millisecond, checkout.MandateSubmitted},
		{2 * time.Second, checkout.MandatePendingSubmission},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			cmd := w.ready(t, "ORDER-1")
			w.clock.forward(3 * time.Second)
			w.processor.set(mandate(checkout.MandateSubmitted))
			w.processor.takes, w.processor.asked, w.processor.atOnce = tt.takes, 0, 0
			start := time.Now()
			var all sync.WaitGroup
			for range crowd {
				all.Go(func() {
					c, err := w.Checkout(t.Context(), caller, cmd.CheckoutID.Value)
					if err != nil || c.Setup.Mandate != tt.want {
						t.Errorf("a poll while the processor takes %s: mandate %s, %v; want %s", tt.takes, c.Setup.Mandate, err, tt.want)
					}
				})
			}
			all.Wait()
			p := w.processor
			if took := time.Since(start); p.atOnce != 1 || tt.takes < time.Second && p.asked != 1 || took != min(tt.takes, time.Second) {
				t.Errorf("%d polls of a processor that takes %s asked %d times, %d at once, and took %s", crowd, tt.takes, p.asked, p.atOnce, took)
			}
		})
	}
}

// An answer that is stored late does not revive a mandate whose end, without its time, was learned since the question; asked again
// the processor may say that it is reinstated.
func TestALateAnswerRevivesNoMandate(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	w.confirms(t, cmd)
	active := mandate(checkout.MandateActive)
	active.MandateSince = fulfilled.CompletedAt.Add(time.Hour)
	learned := false
	w.processor.observes = func(checkout.Account, checkout.Setup) (checkout.Observation, error) {
		if !learned {
			learned = true
			w.change(t, "ORDER-1", func(c *checkout.Checkout) {
				c.Setup.Mandate, c.Setup.MandateSince = checkout.MandateCancelled, time.Time{}
			})
		}
		return active, nil
	}
	id := w.records(t)["ORDER-1"].Checkout.ID
	_, err := w.Refresh(t.Context(), id)
	expect(t, err, checkout.CodeBusy)
	if got := w.setup(t, "ORDER-1").Mandate; got != checkout.MandateCancelled {
		t.Errorf("the mandate is %s again", got)
	}
	if got, err := w.Refresh(t.Context(), id); err != nil || got.Setup.Mandate != checkout.MandateActive {
		t.Errorf("asked again: mandate %s, %v; want it reinstated", got.Setup.Mandate, err)
	}
}

// If a payer begins a new setup while the processor answers for the previous one, that answer is dropped.
func TestAnAnswerForAPreviousSetupIsDropped(t *testing.T) {
	w := newWorld(t)
	o := w.begun(t, "ORDER-1")
	first := w.setup(t, "ORDER-1").BillingRequestID
	w.processor.observes = func(_ checkout.Account, s checkout.Setup) (checkout.Observation, error) {
		if s.BillingRequestID != first {
			return notBegun, nil
		}
		err := w.store.UpdateCheckout(t.Context(), o.Checkout.ID, checkout.JobEntry{}, func(c checkout.Checkout) (checkout.Change, error) {
			c.Setup.Try, c.Setup.BillingRequestID = 2, "BR-of-another-try"
			return checkout.Change{Next: c}, nil
		})
		return fulfilled, err
	}
	got, err := w.Refresh(t.Context(), o.Checkout.ID)
	if s := w.setup(t, "ORDER-1"); err != nil || s.BillingRequest != checkout.BillingPending || got.Setup != s {
		t.Errorf("refreshed to %+v, %v; on record %+v; want the new try as it is", got.Setup, err, s)
	}
	if d := w.records(t)["ORDER-1"]; len(d.Events()) != 1 || d.Events()[0].Event.Name != events.CheckoutCreated {
		t.Errorf("events %+v, want checkout.created alone", d.Events())
	}
}
