package service_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// asks has the processor answer o from now on, and returns the times at which it is asked.
func (w *world) asks(o checkout.Observation) func() []time.Time {
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
	return func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(at)
	}
}

// mandate returns the observation of a complete setup whose mandate has a status.
func mandate(m checkout.MandateStatus) checkout.Observation {
	o := fulfilled
	o.Mandate = m
	return o
}

// becomes has the processor say that the mandate reached a status now and notify of it, and returns when what follows is done.
func (w *world) becomes(t *testing.T, m checkout.MandateStatus, reason string) {
	t.Helper()
	says := mandate(m)
	says.MandateSince, says.MandateReason = w.clock.now().UTC().Truncate(time.Millisecond), reason
	w.processor.set(says)
	w.notified(t, "MD-1")
	w.runFor(t, 15*time.Second)
}

// notified notifies the service of mandates, MD-…, and of billing requests.
func (w *world) notified(t *testing.T, ids ...string) {
	t.Helper()
	var all []checkout.Notification
	for _, id := range ids {
		n := checkout.Notification{BillingRequestID: id}
		if strings.HasPrefix(id, "MD") {
			n = checkout.Notification{MandateID: id}
		}
		all = append(all, n)
	}
	must(t, w.Notified(t.Context(), all))
}

// off switches the provider off.
func (w *world) off(t *testing.T) {
	t.Helper()
	c := kowhai()
	c.Provider.Active = false
	w.configure(t, c)
}

// Visits of the setup page are one entry of the timeline for each try and state.
func TestVisitsOfThePageAreOneMoment(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := w.begun(t, "ORDER-1")
		for range 10 {
			_, err := w.SetupPage(t.Context(), o.Token)
			must(t, err)
		}
		w.runFor(t, time.Second)
		var opened []checkout.Moment
		for _, m := range w.records(t)["ORDER-1"].Moments {
			if m.Kind == checkout.MomentOpened {
				opened = append(opened, m)
			}
		}
		if len(opened) != 1 || opened[0].Actor != checkout.ActorPayer || opened[0].Detail != string(checkout.PageOpen) || opened[0].Times != 10 {
			t.Errorf("the timeline has %+v, want one entry of ten visits", opened)
		}
	})
}

func TestWhatTheProcessorGetsToStartASetup(t *testing.T) {
	w := newWorld(t)
	branded := kowhai()
	branded.Provider.Branding.DisplayName = "Kōwhai"
	branded.Provider.EnrolmentOrigins = []string{"https://enrol.kowhai.example"}
	w.configure(t, branded)
	o := w.begun(t, "ORDER-1")
	w.presses(t, o) // a second press uses the billing request of the first
	got := w.processor.starts[1]
	if got.CheckoutID != o.Checkout.ID || got.ReturnURL != w.BaseURL()+service.ReturnPath+"?token="+o.Token || got.ProviderName != "Kōwhai" ||
		got.Student != o.Checkout.Student || got.Description != "Diploma in Business" || got.OrderID != "ORDER-1" ||
		got.First.Amount != 200_00 ||
		got.Account != (checkout.Account{ProviderCode: "KOWHAI", ID: "acc-1", Environment: catalogue.Sandbox}) || got.Key != w.processor.begins[0] {
		t.Errorf("the processor gets %+v", got)
	}
	w.processor.set(fulfilled)
	url, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
	if err != nil || url != o.SetupURL || len(w.processor.begins) != 2 {
		t.Errorf("when it is set up the payer goes to %q, %v, after %d requests; want the page", url, err, len(w.processor.begins))
	}
}

// The page shows the days on which payments will be collected, not planned days that have become too early.
func TestThePageShowsWhenPaymentsAreCollected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) { // the bubble's clock starts at midnight UTC, 2000-01-01
		day := func(m time.Month, d int) money.Date { return money.Date{Year: 2027, Month: m, Day: d} }
		w.clock.forward(time.Date(2027, 1, 20, 11, 30, 0, 0, time.UTC).Sub(w.clock.now())) // 21 January, half past midnight in Auckland
		cmd := create("ORDER-1")
		cmd.Frequency, cmd.First = checkout.Some("Monthly"), checkout.Some(day(1, 25))
		o, err := w.Create(t.Context(), caller, cmd)
		must(t, err)
		shows := func(what string, first, second money.Date) {
			t.Helper()
			page := w.page(t, o.Token)
			if page.Planned != day(1, 25) || page.Payments[0].Taken != first || page.Payments[1].Taken != second {
				t.Errorf("%s: planned for %s, the first two payments on %s and %s; want %s and %s", what, page.Planned,
					page.Payments[0].Taken, page.Payments[1].Taken, first, second)
			}
		}
		shows("ten days of notice", day(1, 31), day(2, 28))
		w.config.Terms.NoticeDays = 2
		w = w.again(t)
		shows("two days of notice are enough", day(1, 25), day(2, 25))
		_, err = w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{TermsID: w.page(t, o.Token).Disclosure().Name()})
		must(t, err)
		w.processor.set(fulfilled)
		w.config.Terms.NoticeDays = 0
		w = w.again(t)
		shows("what the payer consented to counts once it is set up", day(1, 25), day(2, 25))
		w.clock.forward(5 * 24 * time.Hour)
		shows("if it is confirmed today", day(1, 28), day(2, 28))
		w.confirms(t, confirm(o))
		w.clock.forward(30 * 24 * time.Hour)
		shows("as it was confirmed", day(1, 28), day(2, 28))
		if got := w.records(t)["ORDER-1"].Agreement.Payments(); got[0].Taken != day(1, 28) || got[1].Taken != day(2, 28) {
			t.Errorf("the agreement has %s and %s", got[0].Taken, got[1].Taken)
		}
	})
}

// Polls and pages together ask once in two seconds, one question at a time, and get one answer; nobody asks about what was not begun or
// where a processor notifies.
func TestTheProcessorIsAskedSeldom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := w.opened(t, "ORDER-1")
		w.page(t, o.Token)
		w.polls(t, o.Checkout.ID)
		if w.processor.asked != 0 {
			t.Errorf("before the setup was begun the processor was asked %d times", w.processor.asked)
		}
		w.setUp(t, o.Token)
		w.clock.forward(3 * time.Second)
		w.processor.set(mandate(checkout.MandateSubmitted))
		w.processor.takes, w.processor.asked, w.processor.atOnce = 500*time.Millisecond, 0, 0
		start := time.Now()
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				if c := w.polls(t, o.Checkout.ID); c.Setup.Mandate != checkout.MandateSubmitted {
					t.Errorf("a poll has the mandate %s", c.Setup.Mandate)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); w.processor.asked != 1 || took != 500*time.Millisecond {
			t.Errorf("a crowd of polls asked %d times and took %s", w.processor.asked, took)
		}
		w.processor.takes = 0
		for range 100 { // in ten seconds
			w.page(t, o.Token)
			w.polls(t, o.Checkout.ID)
			w.clock.forward(100 * time.Millisecond)
		}
		if n := w.processor.asked; n < 5 || n > 8 {
			t.Errorf("a hundred pages and polls in ten seconds asked %d times", n)
		}
		w.clock.forward(3 * time.Second)
		w.processor.err, w.processor.asked = errBroken, 0
		for range 10 {
			w.page(t, o.Token)
			w.polls(t, o.Checkout.ID)
		}
		if w.reports.take(); w.processor.asked != 1 {
			t.Errorf("a processor that fails was asked %d times", w.processor.asked)
		}
	})
}

// A processor that is slow or down: polls and pages are answered from the record within a second, a confirm is refused as busy.
func TestASlowProcessor(t *testing.T) {
	for takes, confirmed := range map[time.Duration]bool{2 * time.Second: true, 5*time.Second - 1: true, 5*time.Second + 1: false} {
		inWorld(t, func(t *testing.T, w *world) {
			cmd := w.ready(t, "ORDER-1")
			w.clock.forward(3 * time.Second) // nothing is remembered
			w.processor.set(mandate(checkout.MandateSubmitted))
			w.processor.takes = takes
			start := time.Now()
			if c := w.polls(t, cmd.CheckoutID.Value); time.Since(start) != time.Second || c.Setup.Mandate != checkout.MandatePendingSubmission {
				t.Errorf("it takes %s: a poll has the mandate %s after %s; want the record's after 1 s", takes, c.Setup.Mandate, time.Since(start))
			}
			w.wantReport(t, service.OperationObserve, service.Warning, context.DeadlineExceeded.Error())
			start = time.Now()
			_, err := w.confirm(t, cmd)
			if took := time.Since(start); took != min(takes, 5*time.Second) || checkout.Refused(err, checkout.CodeBusy) == confirmed {
				t.Errorf("it takes %s: a confirm: %v after %s; want it confirmed: %v", takes, err, took, confirmed)
			}
		})
	}
	inWorld(t, func(t *testing.T, w *world) {
		o := w.begun(t, "ORDER-1")
		w.processor.err = errBroken
		page := w.page(t, o.Token) // which must not say that nothing is set up
		if page.State != checkout.PageOpen || page.LastTry != checkout.TryUnknown {
			t.Errorf("while the processor is down: page %q, last try %q", page.State, page.LastTry)
		}
		w.wantReport(t, service.OperationObserve, service.Warning, errBroken.Error())
	})
}

// An answer that is stored late revives no mandate whose end, without its time, was learned since the question; asked again the processor
// may say that it is reinstated.
func TestALateAnswerChangesNothing(t *testing.T) {
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
	for _, want := range []checkout.MandateStatus{checkout.MandateCancelled, checkout.MandateActive} {
		w.clock.forward(3 * time.Second)
		w.polls(t, cmd.CheckoutID.Value)
		if got := w.setup(t, "ORDER-1").Mandate; got != want {
			t.Errorf("the mandate is %s, want %s", got, want)
		}
	}
}

// Without a poll and without a notification the processor is asked after a minute, then less and less often, also of a provider that is
// off, until the answer is final.
func TestASetupIsLookedAtWithoutACaller(t *testing.T) {
	for name, tt := range map[string]struct {
		says         checkout.Observation
		least, most  int // looks in twelve hours
		state        checkout.JobState
		firstWithout time.Duration
	}{
		"a payer who does not finish":    {notBegun, 8, 16, checkout.JobPending, 59 * time.Second},
		"a dead mandate":                 {mandate(checkout.MandateFailed), 1, 1, checkout.JobDone, 59 * time.Second},
		"a cancelled billing request":    {checkout.Observation{BillingRequest: checkout.BillingCancelled}, 1, 1, checkout.JobDone, 59 * time.Second},
		"a processor that is at work":    {checkout.Observation{BillingRequest: checkout.BillingFulfilling}, 8, 16, checkout.JobPending, 59 * time.Second},
		"a mandate that is not in force": {fulfilled, 8, 16, checkout.JobPending, 59 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.begun(t, "ORDER-1")
				w.off(t)
				w.clock.forward(-5 * time.Second)
				at := w.asks(tt.says)
				w.runFor(t, tt.firstWithout)
				if n := len(at()); n != 0 {
					t.Errorf("%d looks within a minute", n)
				}
				w.runFor(t, 12*time.Hour)
				job := w.jobs(t, "ORDER-1", checkout.JobLook)[0]
				if n := len(at()); n < tt.least || n > tt.most || job.State != tt.state {
					t.Errorf("%d looks, and the job is %s; want from %d to %d, and it %s", n, job.State, tt.least, tt.most, tt.state)
				}
			})
		})
	}
}

// A notification names a setup by its billing request or its mandate, and the service asks the processor: once for many at a time, once more
// for a notification that comes during the question, and not at all for a stranger's.
func TestANotificationHasTheProcessorAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begun(t, "ORDER-1")
		id := w.setup(t, "ORDER-1").BillingRequestID
		at := w.asks(fulfilled)
		w.processor.takes = time.Second
		defer w.background(t)()
		w.notified(t, id, id, "BR-of-another", "MD-of-another")
		w.notified(t, id)
		time.Sleep(500 * time.Millisecond) // the question is under way
		w.notified(t, id)
		time.Sleep(5 * time.Second)
		if n := len(at()); n != 2 || w.setup(t, "ORDER-1").Mandate != checkout.MandatePendingSubmission {
			t.Errorf("%d questions, and on record is %+v", n, w.setup(t, "ORDER-1"))
		}
		w.notified(t, "MD-1")
		time.Sleep(5 * time.Second)
		if n := len(at()); n != 3 {
			t.Errorf("%d questions after another notification, want 3", n)
		}
		w.wantNoReports(t)
	})
	for way, busy := range map[string]bool{"busy": true, "broken": false, "panics": false} { // what cannot be stored is not acknowledged
		store, change := newFaulty()
		w := newWorld(t, change)
		w.ready(t, "ORDER-1")
		store.arm(func(string, int) error { return faults[way]() })
		if err := w.Notified(t.Context(), []checkout.Notification{{MandateID: "MD-1"}}); err == nil || checkout.Refused(err, checkout.CodeBusy) != busy {
			t.Errorf("%s: %v", way, err)
		}
	}
}
