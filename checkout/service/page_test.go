package service_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

func (w *world) page(t *testing.T, token string) service.SetupPage {
	t.Helper()
	page, err := w.SetupPage(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// The payer who comes back from the bank sees what the processor reports, even without a poll in between.
func TestTheSetupPageShowsWhatTheProcessorSays(t *testing.T) {
	settling := checkout.Observation{BillingRequest: checkout.BillingFulfilling}
	for _, tt := range []struct {
		name string
		says checkout.Observation
		want checkout.PageState
	}{
		{"the payer has not finished", notBegun, checkout.PageOpen},
		{"the processor has not finished", settling, checkout.PageSettling},
		{"it is set up", fulfilled, checkout.PageDone},
		{"the mandate died", mandate(checkout.MandateFailed), checkout.PageOpen},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			o := w.begun(t, "ORDER-1")
			before := w.records(t)
			w.processor.set(tt.says)
			page := w.page(t, o.Token)
			if page.State != tt.want || page.Checkout.Setup.BillingRequest != tt.says.BillingRequest {
				t.Errorf("page %q with %+v, want %q", page.State, page.Checkout.Setup.Observation, tt.want)
			}
			if after := w.records(t); !reflect.DeepEqual(before, after) {
				t.Errorf("the page stored\n%+v, it was\n%+v", after, before)
			}
		})
	}
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

func TestTheSetupPageAsksSeldomAndOnlyWhereThereIsSomethingToAsk(t *testing.T) {
	w := newWorld(t)
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
			if len(reported) != 1 || reported[0].Operation != service.OperationObserve || reported[0].Severity != service.Warning ||
				reported[0].CheckoutID != o.Checkout.ID {
				t.Errorf("%s: reported %+v, want one warning of this checkout", name, reported)
			}
		}
	})
}

func TestWhichSetupPageALinkOpens(t *testing.T) {
	w := newWorld(t)
	o := w.opened(t, "ORDER-1")
	foreign, err := checkout.NewKeyring([]byte("the secret of another deployment"))
	if err != nil {
		t.Fatal(err)
	}
	forged, _ := foreign.Text(o.Checkout.ID, foreign.Issue(1, time.Now().Add(time.Hour)))
	text := func(id string, epoch int) string {
		text, _ := w.config.Keyring.Text(id, w.config.Keyring.Issue(epoch, time.Now()))
		return text
	}
	for name, token := range map[string]string{
		"nothing": "", "no token": "token", "a forged one": forged, "one of a checkout that does not exist": text("KOWHAI-1-a", 1),
		"one of an epoch that was never issued": text(o.Checkout.ID, 2),
	} {
		if _, err := w.SetupPage(t.Context(), token); !refusedWith(err, checkout.CodeLinkUnknown) {
			t.Errorf("%s: %v, want SETUP_LINK_UNKNOWN", name, err)
		}
		if _, err := w.BeginSetup(t.Context(), token, checkout.Acceptance{}); !refusedWith(err, checkout.CodeLinkUnknown) {
			t.Errorf("%s: begun with %v, want SETUP_LINK_UNKNOWN", name, err)
		}
	}
	if page := w.page(t, o.Token); page.State != checkout.PageOpen || page.Superseded || page.Token != o.Token || page.Provider.Code != "KOWHAI" {
		t.Errorf("the link that was returned: %+v", page)
	}
	w.clock.forward(6*24*time.Hour + time.Hour)
	renewed := w.opened(t, "ORDER-1")
	if old, latest := w.page(t, o.Token), w.page(t, renewed.Token); !old.Superseded || latest.Superseded || old.State != checkout.PageOpen {
		t.Errorf("an older link: superseded %v, %q; the latest: %v", old.Superseded, old.State, latest.Superseded)
	}
	w.clock.forward(24 * time.Hour)
	if page := w.page(t, o.Token); page.State != checkout.PageExpired {
		t.Errorf("a link whose time is over: page %q", page.State)
	}
	_, err = w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
	expect(t, err, checkout.CodeLinkExpired)
	w.configure(t) // the operator removes the provider
	if page := w.page(t, renewed.Token); page.State != checkout.PageNotEnabled || page.Provider.Name != "KOWHAI" {
		t.Errorf("of a provider that was removed: page %q of %+v", page.State, page.Provider)
	}
	_, err = w.BeginSetup(t.Context(), renewed.Token, checkout.Acceptance{})
	expect(t, err, checkout.CodeProviderNotEnabled)
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
		if err != nil {
			t.Fatal(err)
		}
		early := func(what string, first, second money.Date) {
			t.Helper()
			page := w.page(t, o.Token)
			if page.Planned != day(2027, 1, 25) || page.Schedule[0].Due != first || page.Schedule[1].Due != second {
				t.Errorf("%s: planned for %s, the first two payments on %s and %s; want %s and %s", what, page.Planned,
					page.Schedule[0].Due, page.Schedule[1].Due, first, second)
			}
		}
		early("ten days of notice, and then a Sunday", day(2027, 2, 1), day(2027, 3, 1))

		short := kowhai()
		short.Provider.NoticeDays = 2
		w.configure(t, short)
		early("two days of notice are enough", day(2027, 1, 25), day(2027, 2, 25))

		terms := w.page(t, o.Token).DebitTerms
		if _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{TermsID: terms.Name()}); err != nil {
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
		if got := agreed.CollectionDates(); got[0] != day(2027, 1, 28) || got[1] != day(2027, 2, 28) {
			t.Errorf("the agreement has %s and %s, the page 28 January and 28 February", got[0], got[1])
		}
	})
}

func TestTermsThatChangedAreReadAgain(t *testing.T) {
	w := newWorld(t)
	o := w.opened(t, "ORDER-1")
	read := w.page(t, o.Token).DebitTerms.Name()
	short := kowhai()
	short.Provider.NoticeDays = 3
	w.configure(t, short)
	_, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{TermsID: read})
	expect(t, err, checkout.CodeTermsChanged)
	if len(w.processor.begins) != 0 {
		t.Errorf("billing requests %q were made", w.processor.begins)
	}
	page := w.page(t, o.Token)
	url, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{From: "192.0.2.1", TermsID: page.DebitTerms.Name()})
	want := agreement.Consent{At: w.setup(t, "ORDER-1").Consent.At, From: "192.0.2.1", Terms: page.DebitTerms.Name(), NoticeDays: 3}
	if got := w.setup(t, "ORDER-1").Consent; err != nil || url != "https://bank.example/"+w.processor.begins[0] || got != want || got.At.IsZero() {
		t.Errorf("went on to %q, %v with consent %+v; want %+v", url, err, got, want)
	}
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
	if got.CheckoutID != o.Checkout.ID || got.ReturnURL != o.SetupURL || got.ProviderName != "Kōwhai" || got.Student != o.Checkout.Student ||
		got.Description != "Diploma in Business" || !reflect.DeepEqual(got.FrameOrigins, branded.Provider.EnrolmentOrigins) ||
		got.Account.ID != "acc-1" || got.Account.ProviderCode != "KOWHAI" || got.Account.Environment != catalogue.Sandbox {
		t.Errorf("the processor gets %+v", got)
	}
}
