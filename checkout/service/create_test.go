package service_test

import (
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
	for _, s := range []struct {
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
	} {
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

// Of many creates of one order at once, in several processes, one opens the checkout and the others are its replays.
func TestACrowdOpensOneCheckout(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		processes := []*world{w, w.again(t), w.again(t)}
		var mu sync.Mutex
		answers := map[string]int{} // by checkout, token, records and replay
		var all sync.WaitGroup
		for n := range crowd {
			all.Go(func() {
				o, err := processes[n%len(processes)].Create(t.Context(), caller, create("ORDER-1"))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[fmt.Sprint(o.Checkout.ID, o.Token, o.Records, o.Replay)]++
			})
		}
		all.Wait()
		counts := []int{}
		for _, n := range answers {
			counts = append(counts, n)
		}
		if slices.Sort(counts); !slices.Equal(counts, []int{1, crowd - 1}) || c.calls() != 1 {
			t.Errorf("%d creates have the answers %v, want one new and the same pair in all", crowd, answers)
		}
		w.wantDelivered(t, "ORDER-1")
	})
}

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
}

// expectFields checks that err is a refusal with this code that names these fields.
func expectFields(t *testing.T, err error, code checkout.Code, fields []string) {
	t.Helper()
	expect(t, err, code)
	var got []string
	if refusal, ok := errors.AsType[*checkout.Error](err); ok {
		got = strings.Fields(refusal.Fields())
	}
	if !slices.Equal(got, fields) {
		t.Errorf("%v names %q, want %q", err, got, fields)
	}
}

// No call of another provider finds a checkout, and none of a provider that does not exist or is off is served.
func TestEachProviderHasItsOwnCheckouts(t *testing.T) {
	w := newWorld(t)
	rimu, off := kowhai(), kowhai()
	rimu.Provider.Code, off.Provider.Code, off.Provider.Active = "RIMU", "RATA", false
	w.configure(t, kowhai(), rimu, off)
	cmd := w.ready(t, "ORDER-1")
	id := cmd.CheckoutID.Value
	for _, tt := range []struct {
		provider string
		code     checkout.Code
	}{{"RIMU", checkout.CodeCheckoutNotFound}, {"RATA", checkout.CodeProviderNotEnabled}, {"MOA", checkout.CodeProviderNotFound}} {
		stranger := service.Caller{ProviderCode: tt.provider}
		theirs := cmd
		theirs.ProviderCode = checkout.Some(tt.provider)
		_, err := w.Checkout(t.Context(), stranger, id)
		expect(t, err, tt.code)
		_, err = w.Confirm(t.Context(), stranger, id, theirs)
		expect(t, err, tt.code)
		_, err = w.Cancel(t.Context(), stranger, id, checkout.Cancel{Reason: checkout.Some("x")})
		expect(t, err, tt.code)
		_, err = w.Create(t.Context(), stranger, create("ORDER-1"))
		expect(t, err, checkout.CodeKeyMismatch)
	}
	own := create("ORDER-1") // two providers may use one order id
	own.ProviderCode = checkout.Some("RIMU")
	if o, err := w.Create(t.Context(), service.Caller{ProviderCode: "RIMU"}, own); err != nil || o.Replay {
		t.Errorf("the same order id of another provider: %+v, %v", o, err)
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

// The same pair comes again while a day is left of it; then another, and the old link still opens.
func TestAReplayRenewsTheLink(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.opened(t, "ORDER-1")
		w.clock.forward(6 * 24 * time.Hour)
		if again := w.opened(t, "ORDER-1"); again.Token != first.Token {
			t.Error("the link is renewed with a day left")
		}
		w.clock.forward(time.Minute)
		next := w.opened(t, "ORDER-1")
		if again := w.opened(t, "ORDER-1"); next.Token == first.Token || again.Token != next.Token {
			t.Errorf("with less than a day left the replays have the tokens %q and %q after %q", next.Token, again.Token, first.Token)
		}
		for _, token := range []string{first.Token, next.Token} {
			if page, err := w.SetupPage(t.Context(), token); err != nil || page.State != checkout.PageOpen || page.Superseded != (token == first.Token) {
				t.Errorf("page %q, superseded %v, %v", page.State, page.Superseded, err)
			}
		}
		w.setUp(t, next.Token)
		_, err := w.confirm(t, confirm(first))
		expect(t, err, checkout.CodeConflict)
		w.confirms(t, confirm(next))
		if replay := w.opened(t, "ORDER-1"); !replay.Replay || replay.Token != "" || replay.SetupURL != "" {
			t.Errorf("a replay of what is confirmed: %+v, want no token", replay)
		}
	})
}

// The caller is the embedder's own form, without the JSON API in front of the service: package checkout has the rules. All faults of a
// request are in one refusal, and nothing is stored.
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
	_, err = w.Cancel(t.Context(), caller, confirm.CheckoutID.Value, checkout.Cancel{})
	expectFields(t, err, checkout.CodeValidation, []string{"reason"})
}
