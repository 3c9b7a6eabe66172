package service_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// page returns the page of a payer who comes back from the processor, or who opens the link before.
func (w *world) page(t *testing.T, token string) service.SetupPage {
	t.Helper()
	page, err := w.ReturnPage(t.Context(), token)
	must(t, err)
	return page
}

// A mandate that died after the page showed that the setup is done opens the page again.
func TestTheSetupPageTakesBackWhatIsNoLongerTrue(t *testing.T) {
	w := newWorld(t)
	o := w.opened(t, "ORDER-1")
	w.setUp(t, o.Token)
	if page := w.page(t, o.Token); page.State != checkout.PageDone || page.Completed.IsZero() {
		t.Errorf("page %q, completed %s; want it done", page.State, page.Completed)
	}
	w.clock.forward(3 * time.Second)
	w.processor.set(mandate(checkout.MandateCancelled))
	if page := w.page(t, o.Token); page.State != checkout.PageOpen {
		t.Errorf("page %q over a dead mandate, want it open", page.State)
	}
}

// The link is in an e-mail, and scanners of e-mails open links: whatever the state, the processor hears nothing of it, and nothing but the
// visit is on record.
func TestALinkThatIsOpenedAsksNothingAndStoresNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := w.begun(t, "ORDER-1")
		for _, tt := range []struct {
			says          checkout.Observation
			before, after checkout.PageState // the payer comes back
		}{
			{notBegun, checkout.PageOpen, checkout.PageOpen},
			{checkout.Observation{BillingRequest: checkout.BillingFulfilling, Authorisation: checkout.CustomerInProgress}, checkout.PageOpen, checkout.PageSettling},
			{fulfilled, checkout.PageSettling, checkout.PageDone},
			{mandate(checkout.MandateFailed), checkout.PageDone, checkout.PageOpen},
		} {
			w.processor.set(tt.says)
			opens := func(want checkout.PageState) {
				t.Helper()
				before, asked := w.records(t), w.processor.asked
				for range 10 {
					if page, err := w.SetupPage(t.Context(), o.Token); err != nil || page.State != want || page.LastTry == checkout.TryUnfinished {
						t.Errorf("the processor says %+v: page %q, last try %q, %v; want it %q", tt.says, page.State, page.LastTry, err, want)
					}
				}
				if after := w.records(t); !reflect.DeepEqual(before, after) || w.processor.asked != asked {
					t.Errorf("the processor says %+v: it was asked %d times, and the record became\n%+v, it was\n%+v", tt.says, w.processor.asked-asked, after, before)
				}
			}
			opens(tt.before)
			time.Sleep(3 * time.Second)
			w.page(t, o.Token)
			opens(tt.after)
		}
	})
}

func TestTheSetupPageAsksSeldomAndOnlyWhereThereIsSomethingToAsk(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := w.opened(t, "ORDER-1")
		for range 10 {
			w.page(t, o.Token)
		}
		if w.processor.asked != 0 {
			t.Errorf("before the setup was begun the page asked %d times", w.processor.asked)
		}

		o = w.begun(t, "ORDER-2")
		w.processor.asked = 0
		for range 10 {
			w.page(t, o.Token)
		}
		if w.processor.asked != 1 {
			t.Errorf("ten pages asked %d times, want once", w.processor.asked)
		}
		if _, err := w.Checkout(t.Context(), caller, o.Checkout.ID); err != nil || w.processor.asked != 1 {
			t.Errorf("a poll after them asked again: %d times, %v", w.processor.asked, err)
		}
		w.clock.forward(2 * time.Second)
		w.page(t, o.Token)
		if w.processor.asked != 2 {
			t.Errorf("two seconds later the page asked %d times, want twice in all", w.processor.asked)
		}

		off := kowhai()
		off.Provider.Active = false
		w.configure(t, off)
		if page := w.page(t, o.Token); page.State != checkout.PageNotEnabled || w.processor.asked != 2 {
			t.Errorf("of a provider that is off: page %q, asked %d times; want no question", page.State, w.processor.asked)
		}
	})
}

// A second tab, or a scanner of mails, has opened the page a moment before the payer finished at the processor.
func TestAReturningPayerSeesWhatTheSetupLedTo(t *testing.T) {
	for name, later := range map[string]time.Duration{"the link works": 0, "the link has expired": 8 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			o := w.begun(t, "ORDER-1")
			w.clock.forward(later)
			if page := w.page(t, o.Token); page.State == checkout.PageDone {
				t.Fatalf("page %q before the payer has finished", page.State)
			}
			w.clock.forward(time.Millisecond)
			w.processor.set(fulfilled)
			if page := w.page(t, o.Token); page.State != checkout.PageDone {
				t.Errorf("page %q, last try %q, want what is so by now", page.State, page.LastTry)
			}
		})
	}
}

// Whoever opens a page again and again does not have the processor asked each time.
func TestTheSetupPageAsksALimitedNumberOfTimesInARow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := w.begun(t, "ORDER-1")
		w.processor.asked = 0
		for range 100 { // in ten seconds
			w.page(t, o.Token)
			w.clock.forward(100 * time.Millisecond)
		}
		if w.processor.asked > 15 {
			t.Errorf("a hundred pages in ten seconds asked %d times, want 15 at most", w.processor.asked)
		}
	})
}

func TestTheSetupPageIsShownThoughTheProcessorIsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o := w.opened(t, "ORDER-1")
		w.setUp(t, o.Token)
		w.clock.forward(3 * time.Second)
		for name, fail := range map[string]func(){
			"down":  func() { w.processor.err = errors.New("connection refused") },
			"hangs": func() { w.processor.takes = time.Hour },
		} {
			fail()
			start := time.Now()
			page := w.page(t, o.Token)
			if took := time.Since(start); page.State != checkout.PageDone || took > time.Second {
				t.Errorf("%s: page %q after %s, want the record's within a second", name, page.State, took)
			}
			reported := w.reports.take()
			if len(reported) != 1 || reported[0].Operation != service.OperationObserve || reported[0].Severity != service.Warning || reported[0].CheckoutID != o.Checkout.ID {
				t.Errorf("%s: reported %+v, want one warning of this checkout", name, reported)
			}
		}
	})
}

// The page shows the days on which payments will be collected, not planned days that have become too early.
func TestTheSetupPageShowsWhenPaymentsAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble's clock starts at midnight UTC, 2000-01-01
		w := newWorld(t)
		day := func(y int, m time.Month, d int) money.Date { return money.Date{Year: y, Month: m, Day: d} }
		w.clock.forward(time.Until(time.Date(2027, 1, 20, 11, 30, 0, 0, time.UTC))) // 21 January, half past midnight in Auckland
		cmd := create("ORDER-1")
		cmd.Frequency, cmd.First = checkout.Some("Monthly"), checkout.Some(day(2027, 1, 25))
		o, err := w.Create(t.Context(), caller, cmd)
		must(t, err)
		early := func(what string, first, second money.Date) {
			t.Helper()
			page := w.page(t, o.Token)
			if page.Planned != day(2027, 1, 25) || page.Payments[0].Taken != first || page.Payments[1].Taken != second {
				t.Errorf("%s: planned for %s, the first two payments on %s and %s; want %s and %s", what, page.Planned,
					page.Payments[0].Taken, page.Payments[1].Taken, first, second)
			}
		}
		early("ten days of notice end on a Sunday, on which payments are taken too", day(2027, 1, 31), day(2027, 2, 28))

		short := kowhai()
		short.Provider.NoticeDays = 2
		w.configure(t, short)
		early("two days of notice are enough", day(2027, 1, 25), day(2027, 2, 25))

		shown := w.page(t, o.Token).Disclosure()
		if _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{TermsID: shown.Name()}); err != nil {
			t.Fatal(err)
		}
		w.processor.set(fulfilled)
		w.configure(t, kowhai())
		early("what the payer consented to counts once it is set up", day(2027, 1, 25), day(2027, 2, 25))

		w.clock.forward(5 * 24 * time.Hour)
		early("if it is confirmed today", day(2027, 1, 28), day(2027, 2, 28))
		w.confirms(t, confirm(o))
		w.clock.forward(30 * 24 * time.Hour)
		early("as it was confirmed", day(2027, 1, 28), day(2027, 2, 28))
		agreed := w.records(t)["ORDER-1"].Agreement
		if got := agreed.Payments(); got[0].Taken != day(2027, 1, 28) || got[1].Taken != day(2027, 2, 28) {
			t.Errorf("the agreement has %s and %s, the page 28 January and 28 February", got[0].Taken, got[1].Taken)
		}
	})
}

// A second press uses the billing request of the first; a new one is made only after a mandate died.
func TestASetupAttemptHasOneBillingRequest(t *testing.T) {
	w := newWorld(t)
	o := w.begun(t, "ORDER-1")
	key := func(try string) string {
		return checkout.NaturalKey(catalogue.Sandbox, "KOWHAI", "ORDER-1", "billing request "+try)
	}
	begin := func() {
		t.Helper()
		w.presses(t, o)
	}
	begin()
	w.processor.set(mandate(checkout.MandateFailed))
	begin()
	begin()
	if got := w.processor.begins; !reflect.DeepEqual(got, []string{key("1"), key("1"), key("2"), key("2")}) {
		t.Errorf("billing requests under %q, want the first key twice and the second twice", got)
	}
	w.processor.set(fulfilled)
	url, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
	if err != nil || url != "https://pay.example/api/dd-setup?token="+o.Token || len(w.processor.begins) != 4 {
		t.Errorf("when it is set up the payer goes to %q, %v, after %d requests; want the page", url, err, len(w.processor.begins))
	}
}

func TestWhatTheProcessorGetsToStartASetup(t *testing.T) {
	w := newWorld(t)
	branded := kowhai()
	branded.Provider.Branding.DisplayName = "Kōwhai"
	branded.Provider.EnrolmentOrigins = []string{"https://enrol.kowhai.example"}
	w.configure(t, branded)
	o := w.begun(t, "ORDER-1")
	got := w.processor.starts[0]
	if got.CheckoutID != o.Checkout.ID || got.ReturnURL != w.BaseURL()+service.ReturnPath+"?token="+o.Token || got.ProviderName != "Kōwhai" || got.Student != o.Checkout.Student ||
		got.Description != "Diploma in Business" || !reflect.DeepEqual(got.FrameOrigins, branded.Provider.EnrolmentOrigins) ||
		got.Account.ID != "acc-1" || got.Account.ProviderCode != "KOWHAI" || got.Account.Environment != catalogue.Sandbox {
		t.Errorf("the processor gets %+v", got)
	}
}

// The payer who comes back from the bank sees what the processor reports, even without a poll in between.
func TestTheSetupPageShowsWhatTheProcessorSays(t *testing.T) {
	for _, tt := range []struct {
		name  string
		says  checkout.Observation
		state checkout.PageState
		want  checkout.LastTry
	}{
		{"the payer has not finished", notBegun, checkout.PageOpen, checkout.TryUnfinished},
		{"it was cancelled", checkout.Observation{BillingRequest: checkout.BillingCancelled}, checkout.PageOpen, checkout.TryCancelled},
		{"the processor has not finished", checkout.Observation{BillingRequest: checkout.BillingFulfilling}, checkout.PageSettling, checkout.TryNone},
		{"it is set up", fulfilled, checkout.PageDone, checkout.TryNone},
		{"the mandate died", mandate(checkout.MandateFailed), checkout.PageOpen, checkout.TryMandateFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				o := w.begun(t, "ORDER-1")
				w.processor.set(tt.says)
				for range 3 { // answers are kept for two seconds
					page := w.page(t, o.Token)
					if page.State != tt.state || page.LastTry != tt.want || page.Checkout.Setup.BillingRequest != tt.says.BillingRequest {
						t.Errorf("page %q, last try %q with %+v; want %q and %q", page.State, page.LastTry, page.Checkout.Setup.Observation, tt.state, tt.want)
					}
				}
				if got := w.records(t)["ORDER-1"].Checkout.Setup.Observation; got != tt.says {
					t.Errorf("the page stored\n%+v, want\n%+v", got, tt.says)
				}
			})
		})
	}
}

// The payer may have finished while the processor cannot be asked: then the page must not say that nothing is set up.
func TestTheSetupPageClaimsNothingWhileTheProcessorIsDown(t *testing.T) {
	w := newWorld(t)
	o := w.opened(t, "ORDER-1")
	if page := w.page(t, o.Token); page.LastTry != checkout.TryNone {
		t.Errorf("before the first try the page says %q", page.LastTry)
	}
	o = w.begun(t, "ORDER-2")
	w.processor.err = errors.New("connection refused")
	if page := w.page(t, o.Token); page.LastTry != checkout.TryUnknown {
		t.Errorf("while the processor is down the last try is %q, want %q", page.LastTry, checkout.TryUnknown)
	}
	w.reports.take()
}

func TestTheLastTryIsSaidOfALinkThatExpiredAndNotOfAProviderThatIsOff(t *testing.T) {
	w := newWorld(t)
	o := w.begun(t, "ORDER-1")
	w.clock.forward(8 * 24 * time.Hour)
	if page := w.page(t, o.Token); page.State != checkout.PageExpired || page.LastTry != checkout.TryUnfinished {
		t.Errorf("page %q, last try %q; want an expired link, and that the payer has not finished", page.State, page.LastTry)
	}
	w.clock.forward(2 * time.Second)
	w.processor.err = errors.New("connection refused")
	if page := w.page(t, o.Token); page.State != checkout.PageExpired || page.LastTry != checkout.TryUnknown {
		t.Errorf("while the processor is down: page %q, last try %q; want %q", page.State, page.LastTry, checkout.TryUnknown)
	}
	w.reports.take()
	off := kowhai()
	off.Provider.Active = false
	w.configure(t, off)
	if page := w.page(t, o.Token); page.State != checkout.PageNotEnabled || page.LastTry != checkout.TryNone {
		t.Errorf("of a provider that is off: page %q, last try %q; want none", page.State, page.LastTry)
	}
}

// A page that is opened many times in a row goes by an answer that is up to two seconds old, which takes back nothing that was
// learned since.
func TestAnAnswerOfBeforeTheEndRevivesNoMandate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "ORDER-1")
		w.confirms(t, cmd)
		active := mandate(checkout.MandateActive)
		active.MandateSince = fulfilled.CompletedAt.Add(time.Hour)
		w.processor.set(active)
		token := cmd.Token.Value
		for range 5 {
			time.Sleep(100 * time.Millisecond)
			w.page(t, token)
		}
		w.processor.set(mandate(checkout.MandateCancelled)) // it does not say since when yet
		w.notify(t, false, "EV1", "MD-1")
		w.runFor(t, time.Second)
		w.page(t, token)
		if got := w.setup(t, "ORDER-1").Mandate; got != checkout.MandateCancelled {
			t.Errorf("the mandate is %s again", got)
		}
	})
}
