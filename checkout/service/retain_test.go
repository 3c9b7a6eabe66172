package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// keeper is a processor whose records are the service's own.
type keeper struct {
	*processor
	mu     sync.Mutex
	erased []string // keys
	err    error
}

func (k *keeper) EraseSetups(_ context.Context, keys []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.erased = append(k.erased, keys...)
	}
	return k.err
}

func (k *keeper) answer(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

// retaining returns a world that erases what is old, and its processor.
func retaining(t *testing.T, keep checkout.Retention) (*world, *keeper) {
	t.Helper()
	var k *keeper
	w := newWorld(t, func(c *service.Config) {
		k = &keeper{processor: c.Processor.(*processor)}
		c.Processor, c.Retention = k, keep
	})
	return w, k
}

// erased returns the orders whose personal data was erased, sorted.
func (w *world) erased(t *testing.T) (orders []string) {
	t.Helper()
	for order, r := range w.records(t) {
		if r.Checkout.Erased() {
			orders = append(orders, order)
		}
	}
	slices.Sort(orders)
	return orders
}

func TestWhatIsAbandonedIsErasedByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k := retaining(t, checkout.Retention{AbandonedDays: 90})
		done := w.ready(t, "AGREED")
		w.confirms(t, done)
		begun := w.opened(t, "BEGUN")
		w.presses(t, begun)
		abandoned := w.opened(t, "ABANDONED")
		defer w.background(t)()
		w.wantErased(t, (7+90)*24*time.Hour)
		w.opened(t, "FRESH")
		w.wantErased(t, 24*time.Hour, "ABANDONED", "BEGUN")
		want := []string{abandoned.Checkout.SetupKey("sandbox", 1), begun.Checkout.SetupKey("sandbox", 1)}
		slices.Sort(want)
		if slices.Sort(k.erased); !slices.Equal(k.erased, want) {
			t.Errorf("the processor erased %q, want %q", k.erased, want)
		}
		_, err := w.Checkout(t.Context(), caller, begun.Checkout.ID)
		expect(t, err, checkout.CodeErased)
		_, err = w.Create(t.Context(), caller, create("BEGUN"))
		expect(t, err, checkout.CodeErased)
		if page, err := w.SetupPage(t.Context(), begun.Token); err != nil || page.State != checkout.PageExpired {
			t.Errorf("its page is %q, %v; want %q", page.State, err, checkout.PageExpired)
		}

		acts := w.acts(t, "privacy erase")
		if len(acts) != 1 {
			t.Fatalf("%d acts, want one", len(acts))
		}
		if a := acts[0]; a.Operator != "retention" || a.Subject != "2 checkouts" || a.Reason != "abandoned checkouts after 90 days" ||
			!slices.Contains(a.Changes, fmt.Sprintf("checkout %s: personal data erased", begun.Checkout.ID)) {
			t.Errorf("the act is %+v", a)
		}
		w.clock.forward(48 * time.Hour)
		time.Sleep(2 * time.Second)
		if got := w.acts(t, "privacy erase"); len(got) != 1 {
			t.Errorf("%d acts after another look, want as many as before", len(got))
		}
	})
}

func TestAgreementsAreErasedYearsAfterTheirLastPayment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := retaining(t, checkout.Retention{AgreedYears: 7})
		w.opened(t, "ABANDONED")
		cmd := w.ready(t, "AGREED")
		first, err := w.confirm(t, cmd)
		must(t, err)
		schedule := first.Checkout.Schedule()
		last := schedule[len(schedule)-1].Due
		defer w.background(t)()
		w.wantErased(t, time.Date(last.Year+7, last.Month, last.Day-1, 0, 0, 0, 0, time.UTC).Sub(w.clock.now()))
		w.wantErased(t, 48*time.Hour, "AGREED")
		again, err := w.confirm(t, cmd)
		if err != nil || !again.Already || again.Checkout.Confirmation != first.Checkout.Confirmation {
			t.Errorf("a repeated confirm: %+v, %v; want the answer of the first", again, err)
		}
		if replay, err := w.Create(t.Context(), caller, create("AGREED")); err != nil || !replay.Replay || replay.Token != "" {
			t.Errorf("a replay: %+v, %v; want one without a token", replay, err)
		}
	})
}

// wantErased checks which orders' personal data is erased after a time.
func (w *world) wantErased(t *testing.T, after time.Duration, want ...string) {
	t.Helper()
	w.clock.forward(after)
	time.Sleep(2 * time.Second)
	if got := w.erased(t); !slices.Equal(got, want) {
		t.Fatalf("erased are %q %s later, want %q", got, after, want)
	}
}

// What fails is tried again a minute later, and nothing is erased here while the processor still has it.
func TestRetentionWaitsForTheProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k := retaining(t, checkout.Retention{AbandonedDays: 31})
		w.opened(t, "ABANDONED")
		k.answer(errors.New("disk is full"))
		defer w.background(t)()
		w.wantErased(t, 100*24*time.Hour)
		w.wantReport(t, service.OperationRetain, "", "disk is full")
		k.answer(nil)
		time.Sleep(time.Minute)
		if got := w.erased(t); len(got) != 1 {
			t.Errorf("erased: %q, want the abandoned one", got)
		}
	})
}

// partial disturbs a store: some things fail.
type partial struct {
	mu     sync.Mutex
	bad    string // a checkout that cannot be erased
	panics bool   // when it is to be
}

func (p *partial) through(ctx context.Context, method, about string, call func(context.Context) error) error {
	p.mu.Lock()
	bad, panics := p.bad, p.panics
	p.mu.Unlock()
	switch {
	case method == "EraseCheckouts" && bad != "" && strings.Contains(about, bad):
		if panics {
			panic("a row that cannot be")
		}
		return errors.New("a row that cannot be")
	}
	return call(ctx)
}

func (p *partial) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad = ""
}

// partialWorld returns a world with a store in which some things can fail.
func partialWorld(t *testing.T, keep checkout.Retention) (*world, *partial) {
	t.Helper()
	p := &partial{}
	return newWorld(t, disturbing(p.through), func(c *service.Config) { c.Retention = keep }), p
}

// A row that cannot be erased keeps no other row: not on its page, not on the pages after it, and not for ever.
func TestOneThatCannotBeErasedKeepsNoOther(t *testing.T) {
	for _, panics := range []bool{false, true} {
		t.Run(fmt.Sprint("panics ", panics), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, p := partialWorld(t, checkout.Retention{AbandonedDays: 31})
				const n = 620
				for i := range n {
					o := w.opened(t, fmt.Sprint("ORDER-", i))
					if i == 5 {
						p.bad, p.panics = o.Checkout.ID, panics
					}
				}
				w.clock.forward(100 * 24 * time.Hour)
				defer w.background(t)()
				time.Sleep(5 * time.Second)
				if got := w.erased(t); len(got) != n-1 {
					t.Errorf("%d of %d are erased, want all but one", len(got), n)
				}
				if got := w.reports.take(); len(got) != 1 || got[0].CheckoutID != p.bad || !strings.Contains(got[0].Err.Error(), "a row that cannot be") {
					t.Errorf("reported %+v, want the one, once", got)
				}
				p.mend()
				time.Sleep(2 * time.Minute)
				if got := w.erased(t); len(got) != n {
					t.Errorf("%d of %d are erased when it can be", len(got), n)
				}
			})
		})
	}
}

// What fails for ever is tried less and less often.
func TestRetentionTriesLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := partialWorld(t, checkout.Retention{AbandonedDays: 31})
		p.bad = w.opened(t, "ORDER").Checkout.ID
		w.clock.forward(100 * 24 * time.Hour)
		defer w.background(t)()
		for range 60 {
			time.Sleep(2 * time.Second)
			w.clock.forward(time.Minute)
		}
		if got := w.reports.take(); len(got) < 4 || len(got) > 6 {
			t.Errorf("reported %d times in an hour, want after 1, 3, 7, 15 and 31 minutes", len(got))
		}
	})
}

// Thousands are looked at a page at a time.
func TestRetentionGoesThroughEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := retaining(t, checkout.Retention{AbandonedDays: 31})
		const n = 1203
		for i := range n {
			w.opened(t, fmt.Sprint("ORDER-", i))
		}
		w.clock.forward(100 * 24 * time.Hour)
		defer w.background(t)()
		time.Sleep(5 * time.Second)
		if got := w.erased(t); len(got) != n {
			t.Errorf("%d of %d are erased", len(got), n)
		}
		if got := w.acts(t, "privacy erase"); len(got) < n/100 {
			t.Errorf("%d acts for %d checkouts, want one for a hundred at most", len(got), n)
		}
	})
}

var _ ports.SetupEraser = (*keeper)(nil)
