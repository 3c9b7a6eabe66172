package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

const crowd = 64

func TestAnIdempotencyKeyMeansOneEnrolment(t *testing.T) {
	w := newWorld(t)
	keyed := func(order, key string) checkout.Create {
		c := create(order)
		c.IdempotencyKey = checkout.Some(key)
		return c
	}
	steps := []struct {
		name   string
		cmd    checkout.Create
		code   checkout.Code
		replay bool
		key    string
	}{
		{"the first create binds its key", keyed("A", "key-1"), "", false, ""},
		{"the same again", keyed("A", "key-1"), "", true, "key-1"},
		{"the same order under another key", keyed("A", "key-2"), "", true, "key-2"},
		{"the same order without a key", create("A"), "", true, "KOWHAI:A"},
		{"a key that a replay named is not bound", keyed("B", "key-2"), "", false, ""},
		{"the bound key with another order", keyed("C", "key-1"), checkout.CodeIntentConflict, false, ""},
		{"the bound key with an order of another key", keyed("B", "key-1"), checkout.CodeIntentConflict, false, ""},
		{"a key that spells a default key that is not bound", keyed("D", "KOWHAI:A"), "", false, ""},
		{"an order without a key binds its default key", create("E"), "", false, ""},
		{"that key as a header of another order", keyed("F", "KOWHAI:E"), checkout.CodeIntentConflict, false, ""},
		{"that key as a header of its own order", keyed("E", "KOWHAI:E"), "", true, "KOWHAI:E"},
		{"an order without a key whose default key another order's header bound", create("A"), checkout.CodeIntentConflict, false, ""},
		{"the same order under its own key", keyed("A", "key-1"), "", true, "key-1"},
	}
	for _, s := range steps {
		o, err := w.Create(t.Context(), caller, s.cmd)
		if s.code != "" {
			expect(t, err, s.code)
			continue
		}
		if err != nil || o.Replay != s.replay || o.IdempotencyKey != s.key {
			t.Errorf("%s: replay %v, key %q, %v; want %v, %q", s.name, o.Replay, o.IdempotencyKey, err, s.replay, s.key)
		}
	}
}

// An order on record is resolved by the record: its replay reads no course, so that it is answered even if the catalogue
// cannot be read.
func TestAReplayDoesNotReadTheCatalogue(t *testing.T) {
	store, change := newFaulty()
	w := newWorld(t, change)
	w.opened(t, "ORDER-1")
	other := w.again(t) // its cache is empty, and it knows the order from the first create on
	if _, err := other.Create(t.Context(), caller, create("ORDER-1")); err != nil {
		t.Fatal(err)
	}
	w.clock.forward(time.Minute) // after which no course is cached
	store.arm("", nil)
	if o, err := other.Create(t.Context(), caller, create("ORDER-1")); err != nil || !o.Replay {
		t.Errorf("the create again: %+v, %v; want a replay", o, err)
	}
	if calls := store.called(); slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "Course ") }) {
		t.Errorf("the replay calls %q, want no read of a course", calls)
	}
}

// A running service refuses a revoked key within one second, and uses an applied provider file within five; until then
// it uses cached configuration.
func TestHowLongConfigurationIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, change := newFaulty()
		w := newWorld(t, change)
		text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Now(), [32]byte{1})
		must(t, w.store.AddKey(t.Context(), key, nil))
		authenticate := func() error { _, err := w.Authenticate(t.Context(), text); return err }
		poll := func() error { _, err := w.Checkout(t.Context(), caller, "KOWHAI-1-a"); return err }
		reads := func(method string) (n int) {
			for _, call := range store.called() {
				if strings.HasPrefix(call, method+" ") {
					n++
				}
			}
			return n
		}
		store.arm("", nil)
		for range 10 {
			must(t, authenticate())
			expect(t, poll(), checkout.CodeCheckoutNotFound)
		}
		if keys, providers := reads("Key"), reads("Provider"); keys != 1 || providers != 1 {
			t.Errorf("ten requests read the key %d times and the provider %d times, want once each", keys, providers)
		}

		must(t, w.store.RevokeKey(t.Context(), key.ID, time.Now(), nil))
		off := kowhai()
		off.Provider.Active = false
		err := w.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
			return []catalogue.Configuration{off}, nil, nil
		})
		must(t, err)
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
	})
}

// A new order costs one write and no read; an order that this process has seen is looked up.
func TestAnOrderIsLookedUpOnlyIfItMayBeOnRecord(t *testing.T) {
	store, change := newFaulty()
	w := newWorld(t, change)
	calls := func() []string {
		all := store.called()
		store.arm("", nil)
		return slices.DeleteFunc(all, func(call string) bool { // of the checkouts only
			return !strings.HasPrefix(call, "InsertCheckout") && !strings.HasPrefix(call, "FindCheckout")
		})
	}
	store.arm("", nil)
	w.opened(t, "ORDER-1")
	if got, want := calls(), []string{"InsertCheckout 1"}; !slices.Equal(got, want) {
		t.Errorf("a new order: %q, want %q", got, want)
	}
	w.opened(t, "ORDER-1")
	if got, want := calls(), []string{"FindCheckout 1"}; !slices.Equal(got, want) {
		t.Errorf("the same again: %q, want %q", got, want)
	}
	w.again(t).opened(t, "ORDER-1")
	if got, want := calls(), []string{"InsertCheckout 1", "FindCheckout 1"}; !slices.Equal(got, want) {
		t.Errorf("in another process: %q, want %q", got, want)
	}
}

func TestAProcessThatNeverSawAnOrderAnswersItFromTheRecord(t *testing.T) {
	w := newWorld(t)
	first := w.opened(t, "ORDER-1")
	retired := kowhai()
	retired.Courses = nil
	w.configure(t, retired)
	if o, err := w.again(t).Create(t.Context(), caller, create("ORDER-1")); err != nil || !o.Replay || o.Token != first.Token {
		t.Errorf("a retry after the course retired: %v; want the replay", err)
	}
	w.configure(t, kowhai())
	other := create("ORDER-1")
	other.First = checkout.Some(money.Date{Year: 2027, Month: 3, Day: 1})
	_, err := w.again(t).Create(t.Context(), caller, other)
	expect(t, err, checkout.CodeIntentConflict)
	keyed := create("ORDER-1")
	keyed.IdempotencyKey = checkout.Some("key-1")
	if o, err := w.again(t).Create(t.Context(), caller, keyed); err != nil || !o.Replay || o.IdempotencyKey != "key-1" {
		t.Errorf("the same order under a key: %+v, %v; want the replay", o, err)
	}
}

// namedBy returns the fields that a refusal names.
func namedBy(err error) (fields []string) {
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok {
		return nil
	}
	for _, f := range refusal.Faults {
		fields = append(fields, f.Field)
	}
	return fields
}

// The caller is the embedder's own form, without the JSON API in front of the service: TestCheckIsAsStrictAsTheAPI of package checkout
// has the rules.
func TestDirectCallsAreHeldToTheSameRules(t *testing.T) {
	w := newWorld(t)
	cmd := create("ORDER-1")
	cmd.First, cmd.LastName = checkout.Some(money.Date{Year: 2027, Month: 2, Day: 30}), checkout.Some("Ngata\x00")
	_, err := w.Create(t.Context(), caller, cmd)
	expectFields(t, err, checkout.CodeValidation, []string{"student.last_name", "plan.first_payment_date"})
	if n := len(w.records(t)); n != 0 {
		t.Errorf("%d checkouts on record", n)
	}
	confirm := w.ready(t, "ORDER-1")
	confirm.FirstPayment, confirm.PaymentPlanAccepted = cmd.First, checkout.Some(false)
	_, err = w.confirm(t, confirm)
	expectFields(t, err, checkout.CodeValidation, []string{"payment.first_payment_date", "declarations.payment_plan_accepted"})
	if r := w.records(t)["ORDER-1"]; r.Agreement != nil || w.printer.printed != 0 {
		t.Errorf("an agreement was concluded: %+v", r.Agreement)
	}
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
	created, confirmed := events[0].Event.RequestID, events[1].Event.RequestID
	if !strings.HasPrefix(created, "req_") || len(created) != len("req_")+36 || !strings.HasPrefix(confirmed, "req_") || created == confirmed {
		t.Errorf("request ids %q and %q, want two of req_ and a UUID", created, confirmed)
	}
}

// legacy returns the configuration without a catalogue.
func legacy() catalogue.Configuration {
	c := kowhai()
	c.Provider.Mode, c.Courses = catalogue.Legacy, nil
	return c
}

// legacyCreate is a create with the figures that the catalogue resolves create to.
func legacyCreate(order string) checkout.Create {
	c := create(order)
	c.CourseCode = checkout.Optional[string]{}
	c.CourseName = checkout.Some("Diploma in Business")
	c.Price, c.Upfront, c.Principal = checkout.Some[money.Cents](2990_00), checkout.Some[money.Cents](200_00), checkout.Some[money.Cents](2790_00)
	c.PaymentType = checkout.Some(checkout.PaymentType)
	c.Number, c.Regular, c.Final = checkout.Some(52), checkout.Some[money.Cents](53_65), checkout.Some[money.Cents](53_85)
	return c
}

// expectFields checks that err is a refusal with this code that names these fields.
func expectFields(t *testing.T, err error, code checkout.Code, fields []string) {
	t.Helper()
	expect(t, err, code)
	if got := namedBy(err); !slices.Equal(got, fields) {
		t.Errorf("%v names %q, want %q", err, got, fields)
	}
}

// A final instalment that was sent is echoed, even if it equals the others.
func TestAFinalInstalmentThatWasSentIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.configure(t, legacy())
	for _, tt := range []struct {
		order string
		final checkout.Optional[money.Cents]
	}{
		{"A", checkout.Some[money.Cents](697_50)},
		{"B", checkout.Optional[money.Cents]{}},
	} {
		cmd := legacyCreate(tt.order)
		cmd.Number, cmd.Regular, cmd.Final = checkout.Some(4), checkout.Some[money.Cents](697_50), tt.final
		for _, replay := range []bool{false, true} {
			o, err := w.Create(t.Context(), caller, cmd)
			if err != nil || o.Replay != replay || o.SentFinal != tt.final.Given {
				t.Errorf("order %s, replay %v: sent %v, %v; want %v", tt.order, o.Replay, o.SentFinal, err, tt.final.Given)
			}
		}
	}
}

func TestTheRateOfAProviderIsThatOfItsConfiguration(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := kowhai()
		for _, want := range []int{0, 250, 0} {
			c.Provider.RateLimit = want
			w.configure(t, c)
			if got := w.RateLimit(t.Context(), caller); got != want {
				t.Errorf("the rate is %d, want %d", got, want)
			}
		}
		if got := w.RateLimit(t.Context(), service.Caller{ProviderCode: "RIMU"}); got != 0 {
			t.Errorf("the rate of a provider that does not exist is %d, want 0", got)
		}
	})
}

// The price of a create is that of its day in New Zealand. A replay keeps the price of its order.
func TestACreateHasThePriceOfItsDayInNewZealand(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		now := w.clock.now().In(sample.NewZealand(t))
		midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, now.Location())
		c := kowhai()
		course := &c.Courses[0]
		course.Prices = []catalogue.Price{{From: money.DateOf(midnight), Price: course.Price + 10_00, Upfront: course.Upfront + 5_00},
			{From: money.DateOf(midnight.AddDate(1, 0, 0)), Price: course.Price + 20_00, Upfront: course.Upfront}}
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
		w.clock.forward(366 * 24 * time.Hour)
		costs("ORDER-3", money.Pricing{Price: before.Price + 20_00, Upfront: before.Upfront, Principal: before.Principal + 20_00})
	})
}
