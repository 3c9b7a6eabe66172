package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

const crowd = 64

// A running service refuses a revoked key within one second, and uses an applied provider file within five; until then it uses what it
// has read.
func TestHowLongConfigurationIsCached(t *testing.T) {
	store, change := newFaulty()
	inWorld(t, func(t *testing.T, w *world) {
		text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Now(), [32]byte{1})
		must(t, w.store.AddKey(t.Context(), key, checkout.Act{}))
		authenticate := func() error { _, err := w.Authenticate(t.Context(), text); return err }
		poll := func() error { _, err := w.Checkout(t.Context(), caller, "KOWHAI-1-a"); return err }
		store.arm(nil)
		for range 10 {
			must(t, authenticate())
			expect(t, poll(), checkout.CodeCheckoutNotFound)
		}
		if got := store.called("Key", "Providers"); len(got) != 2 {
			t.Errorf("ten requests read %q, want the key and the provider once each", got)
		}
		must(t, w.store.RevokeKey(t.Context(), key.ID, time.Now(), checkout.Act{}))
		off := kowhai()
		off.Provider.Active = false
		w.configure(t, off)
		w.clock.forward(-5 * time.Second)
		time.Sleep(500*time.Millisecond - 1)
		if err := authenticate(); err != nil {
			t.Errorf("a key is read again before half a second is over: %v", err)
		}
		time.Sleep(time.Nanosecond)
		expect(t, authenticate(), checkout.CodeInvalidAPIKey)
		time.Sleep(1500*time.Millisecond - 1)
		expect(t, poll(), checkout.CodeCheckoutNotFound)
		time.Sleep(time.Nanosecond)
		expect(t, poll(), checkout.CodeProviderNotEnabled)
		for _, wrong := range []string{"", "pck_sandbox_nothing"} {
			if _, err := w.Authenticate(t.Context(), wrong); !checkout.Refused(err, checkout.CodeMissingAPIKey, checkout.CodeInvalidAPIKey) {
				t.Errorf("the key %q: %v", wrong, err)
			}
		}
	}, change)
}

// The last use of a key is on record to the minute, and written once in each.
func TestTheUseOfAKeyIsNotedOnceAMinute(t *testing.T) {
	store, change := newFaulty()
	inWorld(t, func(t *testing.T, w *world) {
		text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, w.clock.now(), [32]byte{1})
		must(t, w.store.AddKey(t.Context(), key, checkout.Act{}))
		defer w.background(t)()
		for range 3 {
			store.arm(nil)
			for range 10 {
				_, err := w.Authenticate(t.Context(), text)
				must(t, err)
				time.Sleep(2 * time.Second)
			}
			kept, err := w.store.Key(t.Context(), key.Hash)
			must(t, err)
			if got := store.called("Note"); len(got) != 1 || !kept.LastUsed.Equal(w.clock.now().Truncate(time.Minute)) {
				t.Errorf("at %v the last use is %v, written %d times", w.clock.now(), kept.LastUsed, len(got))
			}
			w.clock.forward(40 * time.Second)
		}
	}, change)
}

func TestARequestWithoutAnIDGetsOne(t *testing.T) {
	w := newWorld(t)
	cmd := create("ORDER-1")
	cmd.RequestID = ""
	o, err := w.Create(t.Context(), caller, cmd)
	must(t, err)
	w.setUp(t, o.Token)
	cnf := confirm(o)
	cnf.RequestID = ""
	w.confirms(t, cnf)
	events := w.records(t)["ORDER-1"].Events()
	created, confirmed := events[0].RequestID, events[1].RequestID
	if !strings.HasPrefix(created, "req_") || len(created) != len("req_")+36 || !strings.HasPrefix(confirmed, "req_") || created == confirmed {
		t.Errorf("request ids %q and %q, want two of req_ and a UUID", created, confirmed)
	}
}

// The price of a create is that of its day in New Zealand. A replay keeps the price of its order.
func TestACreateHasThePriceOfItsDayInNewZealand(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		now := w.clock.now().In(sample.NewZealand(t))
		midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, now.Location())
		c := kowhai()
		course := &c.Courses[0]
		course.Prices = []catalogue.Price{{From: money.DateOf(midnight), Price: course.Price + 10_00, Upfront: course.Upfront + 5_00}}
		w.configure(t, c)
		costs := func(order string, want money.Pricing) {
			t.Helper()
			if got := w.opened(t, order).Checkout.Intent.Pricing; got != want {
				t.Errorf("%s at %v costs %+v, want %+v", order, w.clock.now(), got, want)
			}
		}
		before := money.Pricing{Price: course.Price, Upfront: course.Upfront, Principal: course.Price - course.Upfront}
		after := money.Pricing{Price: before.Price + 10_00, Upfront: before.Upfront + 5_00, Principal: before.Principal + 5_00}
		w.clock.forward(midnight.Sub(w.clock.now()) - time.Millisecond)
		costs("ORDER-1", before)
		w.clock.forward(time.Millisecond)
		costs("ORDER-2", after)
		costs("ORDER-1", before) // a replay
		cmd := create("ORDER-1")
		cmd.Price = checkout.Some(after.Price)
		_, err := w.Create(t.Context(), caller, cmd)
		expect(t, err, checkout.CodeValidation)
	})
}
