package service_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// most counts calls, and how many are made at once.
type most struct {
	mu               sync.Mutex
	all, now, atOnce int
}

// call is a call that takes a time, or until ctx ends.
func (m *most) call(ctx context.Context, d time.Duration) {
	m.mu.Lock()
	m.all++
	m.now++
	m.atOnce = max(m.atOnce, m.now)
	m.mu.Unlock()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now--
}

// seen returns how many calls were made, and how many at once.
func (m *most) seen() (all, atOnce int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all, m.atOnce
}

// chore is a task that counts its runs.
type chore struct {
	most
	takes, pause time.Duration
	mu           sync.Mutex
	cursors      []string
	fail         func(run int) error // nil: nothing fails
	ended        error               // of the context of the last run
}

// doing has a service run the task.
func (c *chore) doing(config *service.Config) {
	config.Tasks = []service.Task{{Kind: checkout.JobPull, Run: func(ctx context.Context, cursor string) (string, time.Duration, error) {
		c.call(ctx, c.takes)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cursors, c.ended = append(c.cursors, cursor), ctx.Err()
		if c.fail != nil {
			if err := c.fail(len(c.cursors)); err != nil {
				return cursor, c.pause, err
			}
		}
		n, _ := strconv.Atoi(cursor)
		return strconv.Itoa(n + 1), c.pause, nil
	}}}
}

// A task is run by one process at a time, also where a run takes longer than a lease, and goes on from its cursor when a process ends.
func TestATaskIsRunByOneProcessAtATime(t *testing.T) {
	task := &chore{takes: 35 * time.Second, pause: 25 * time.Second}
	inWorld(t, func(t *testing.T, w *world) {
		stops := []func(){w.background(t), w.again(t).background(t), w.again(t).background(t)}
		time.Sleep(10*time.Minute + 30*time.Second)
		if all, atOnce := task.seen(); atOnce != 1 || all < 9 || all > 11 {
			t.Errorf("%d runs in ten minutes, %d at once; want ten, one at a time", all, atOnce)
		}
		stops[0]()
		stops[1]() // the work of both is the third's
		before, _ := task.seen()
		time.Sleep(3 * time.Minute)
		stops[2]()
		if all, _ := task.seen(); all < before+2 {
			t.Errorf("%d runs in three minutes after two of three processes ended", all-before)
		}
		for n, cursor := range task.cursors[:9] {
			if want := strings.TrimPrefix(strconv.Itoa(n), "0"); cursor != want {
				t.Errorf("run %d has the cursor %q, want %q", n, cursor, want)
			}
		}
		w.wantNoReports(t)
	}, task.doing)
}

// A run that fails or panics is reported and leaves the cursor where it was; the task goes on.
func TestATaskThatFailsIsReportedAndRunAgain(t *testing.T) {
	for name, fail := range map[string]func() error{"fails": func() error { return errBroken }, "panics": func() error { panic(errBroken) }} {
		task := &chore{pause: 15 * time.Second, fail: func(run int) error {
			if run == 2 {
				return fail()
			}
			return nil
		}}
		inWorld(t, func(t *testing.T, w *world) {
			w.runFor(t, 2*time.Minute)
			w.wantReport(t, service.OperationTask, service.Error, errBroken.Error())
			if got := task.cursors; len(got) < 3 || got[1] != "1" || got[2] != "1" {
				t.Errorf("%s: the runs have the cursors %q, want 1 again", name, got)
			}
		}, task.doing)
	}
}

// A process that has lost the lease of a run that goes on ends it, settles nothing and reports nothing.
func TestALostLeaseEndsTheAttempt(t *testing.T) {
	task := &chore{takes: time.Hour}
	inWorld(t, func(t *testing.T, w *world) {
		stop := w.background(t)
		time.Sleep(time.Second)
		l := w.taken(t, checkout.JobPull)
		time.Sleep(5 * time.Second)
		must(t, w.store.Extend(t.Context(), l, 0)) // it is still the other's
		stop()
		if len(task.cursors) != 1 || task.ended == nil {
			t.Errorf("%d runs have ended, the last with %v", len(task.cursors), task.ended)
		}
		w.wantNoReports(t)
	}, task.doing)
}

// However much waits, a CRM, a processor and a mail server get a few calls at once, and what is quick is not behind what is slow.
func TestWhatIsSlowHasFewAttemptsAtOnce(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		const many = 60
		for n := range many {
			w.ready(t, fmt.Sprint("ORDER-", n)) // whose notice waits
			w.begun(t, fmt.Sprint("LOOK-", n))
			w.crashed(t, "KOWHAI", fmt.Sprint("CRASHED-", n))
		}
		w.clock.forward(2 * time.Minute)
		var calls, mails, sent most
		c.answers(func(ctx context.Context, _ checkout.Enrolment) error { calls.call(ctx, 3*time.Second); return nil })
		mail.answers(func(ctx context.Context) error { mails.call(ctx, 3*time.Second); return nil })
		w.receiver.answers(func(events.Delivery, int) error { sent.call(t.Context(), 0); return nil })
		w.processor.takes, w.processor.atOnce = 3*time.Second, 0
		stop := w.background(t)
		time.Sleep(time.Second)
		if n, _ := sent.seen(); n != many {
			t.Errorf("%d events were sent within a second, want %d", n, many)
		}
		time.Sleep(2 * time.Minute)
		stop()
		_, crms := calls.seen()
		all, notices := mails.seen()
		if crms != 8 || notices != 4 || w.processor.atOnce != 8 || all != many {
			t.Errorf("the CRM got %d calls at once, the mail server %d, the processor %d; want 8, 4 and 8; and %d notices were sent, want %d",
				crms, notices, w.processor.atOnce, all, many)
		}
	})
}

// A server that has nothing to do asks its store for work in one query a second, and writes nothing.
func TestAQuietServerAsksOnceASecond(t *testing.T) {
	store, change := newFaulty()
	inWorldWithAll(t, func(t *testing.T, w *world, _ *postbox, c *crm) {
		w.confirmed(t, "ORDER-1")
		w.cancels(t, w.opened(t, "ORDER-2"))
		defer w.background(t)()
		time.Sleep(10 * time.Minute)
		store.arm(nil)
		c.calls()
		time.Sleep(time.Minute)
		if n, all := len(store.called("Lease")), len(store.called()); n < 59 || n > 65 || all > n+8 || c.calls() > 0 {
			t.Errorf("in a minute the store is asked for work %d times, of %d calls: %q", n, all, store.called())
		}
	}, change)
}

// Personal data is erased once it was kept for as long as the operator says, with the processor's records, by an act that says so.
func TestWhatWasKeptForLongEnoughIsErased(t *testing.T) {
	k := &keeper{}
	keep := checkout.Retention{AbandonedDays: 90, AgreedYears: 7}
	inWorld(t, func(t *testing.T, w *world) {
		cmd := w.ready(t, "AGREED")
		schedule := w.confirms(t, cmd).Checkout.Schedule()
		begun := w.begun(t, "BEGUN")
		w.opened(t, "ABANDONED")
		defer w.background(t)()
		day := 24 * time.Hour
		w.wantErased(t, (7+90)*day)
		w.opened(t, "FRESH")
		w.wantErased(t, 2*day, "ABANDONED", "BEGUN")
		if len(k.erased) != 2 || !slices.Contains(k.erased, begun.Checkout.SetupKey("sandbox", 1)) {
			t.Errorf("the processor erased %q", k.erased)
		}
		_, err := w.Checkout(t.Context(), caller, begun.Checkout.ID)
		expect(t, err, checkout.CodeErased)
		_, err = w.Create(t.Context(), caller, create("BEGUN"))
		expect(t, err, checkout.CodeErased)
		if page := w.page(t, begun.Token); page.State != checkout.PageExpired || page.Renewable {
			t.Errorf("its page is %q", page.State)
		}
		acts, err := w.store.Acts(t.Context(), checkout.ActFilter{Subject: begun.Checkout.ID}, 10)
		if err != nil || len(acts) != 1 || acts[0].Operator != "retention" || acts[0].Name != "privacy erase" ||
			!strings.HasPrefix(acts[0].Reason, "abandoned checkouts after 90 days") {
			t.Errorf("acts %+v, %v", acts, err)
		}
		last := schedule[len(schedule)-1].Due
		w.wantErased(t, time.Date(last.Year+7, last.Month, last.Day-1, 0, 0, 0, 0, time.UTC).Sub(w.clock.now()), "ABANDONED", "BEGUN", "FRESH")
		w.wantErased(t, 4*day, "ABANDONED", "AGREED", "BEGUN", "FRESH")
		if again := w.confirms(t, cmd); !again.Already {
			t.Errorf("a repeated confirm: %+v; want the answer of the first", again)
		}
	}, func(c *service.Config) {
		k.processor = c.Processor.(*processor)
		c.Processor, c.Retention = k, keep
	})
}

// A checkout that cannot be erased is reported and looked at again later, and keeps no other of thousands from being erased.
func TestACheckoutThatCannotBeErasedKeepsNoOther(t *testing.T) {
	for name, fail := range map[string]func() error{"fails": func() error { return errBroken }, "panics": func() error { panic(errBroken) }} {
		k, bad := &keeper{}, ""
		inWorld(t, func(t *testing.T, w *world) {
			const n = 620 // of two pages
			for i := range n {
				if o := w.opened(t, fmt.Sprint("ORDER-", i)); i == 5 {
					bad = o.Checkout.SetupKey("sandbox", 1)
				}
			}
			k.fail = func(key string) error {
				if key == bad {
					return fail()
				}
				return nil
			}
			w.clock.forward(100 * 24 * time.Hour)
			w.runFor(t, 5*time.Second)
			if got := len(k.erased); got != n-1 {
				t.Errorf("%s: %d of %d are erased, want all but one", name, got, n)
			}
			if got := w.reports.take(); len(got) != 1 || got[0].Operation != service.OperationRetain || !strings.Contains(got[0].Err.Error(), errBroken.Error()) {
				t.Errorf("%s: reported %+v, want the one, once", name, got)
			}
			bad = ""
			w.clock.forward(25 * time.Hour)
			w.runFor(t, 5*time.Second)
			if got := len(k.erased); got != n {
				t.Errorf("%s: %d of %d are erased when it can be", name, got, n)
			}
		}, func(c *service.Config) {
			k.processor = c.Processor.(*processor)
			c.Processor, c.Retention = k, checkout.Retention{AbandonedDays: 31}
		})
	}
}

// keeper is a processor whose records are the service's own.
type keeper struct {
	*processor
	mu     sync.Mutex
	erased []string               // keys
	fail   func(key string) error // nil: nothing fails
}

var _ ports.SetupEraser = (*keeper)(nil)

func (k *keeper) EraseSetups(_ context.Context, keys []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		if err := k.fail(keys[0]); err != nil {
			return err
		}
	}
	k.erased = append(k.erased, keys...)
	return nil
}

// wantErased checks which orders' personal data is erased after a time.
func (w *world) wantErased(t *testing.T, after time.Duration, want ...string) {
	t.Helper()
	w.clock.forward(after)
	time.Sleep(2 * time.Second)
	var got []string
	for order, r := range w.records(t) {
		if r.Checkout.Erased() {
			got = append(got, order)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("erased are %q %s later, want %q", got, after, want)
	}
}

// Every call of the store fails once, in every way. Then the caller gets the failure or BUSY, or the failure is reported; and the same call
// again leads to the same state as without the failure.
func TestAFailureOfTheStoreIsReportedAndRetried(t *testing.T) {
	confirmed := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated}
	for _, op := range []struct {
		name string
		// prepare returns what is done with a failure.
		prepare func(t *testing.T, w *world) func() error
		events  []events.Name
	}{
		{"create", func(t *testing.T, w *world) func() error {
			return func() error { _, err := w.Create(t.Context(), caller, create("ORDER-1")); return err }
		}, confirmed[:1]},
		{"replay", func(t *testing.T, w *world) func() error {
			w.opened(t, "ORDER-1")
			w.clock.forward(6*24*time.Hour + time.Minute)
			return func() error { _, err := w.Create(t.Context(), caller, create("ORDER-1")); return err }
		}, confirmed[:1]},
		{"setup", func(t *testing.T, w *world) func() error {
			o := w.opened(t, "ORDER-1")
			return func() error { _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{}); return err }
		}, confirmed[:1]},
		{"poll", func(t *testing.T, w *world) func() error {
			o := w.begun(t, "ORDER-1")
			w.processor.set(fulfilled)
			w.clock.forward(3 * time.Second)
			return func() error { _, err := w.Checkout(t.Context(), caller, o.Checkout.ID); return err }
		}, confirmed[:1]},
		{"confirm", func(t *testing.T, w *world) func() error {
			cmd := w.ready(t, "ORDER-1")
			return func() error { _, err := w.confirm(t, cmd); return err }
		}, confirmed},
		{"cancel", func(t *testing.T, w *world) func() error {
			o := w.begun(t, "ORDER-1")
			return func() error {
				_, err := w.Cancel(t.Context(), caller, o.Checkout.ID, checkout.Cancel{Reason: checkout.Some("x")})
				return err
			}
		}, confirmed[:1]},
		{"background", func(t *testing.T, w *world) func() error {
			w.cancels(t, w.begun(t, "ORDER-2"))
			w.crashed(t, "KOWHAI", "ORDER-1")
			w.clock.forward(2 * time.Minute)
			return func() error { w.runFor(t, 500*time.Millisecond); return nil }
		}, []events.Name{events.CheckoutCreated, events.CheckoutCreated}},
	} {
		for way := range faults {
			for n := 1; ; n++ { // the n-th call fails
				store, change := newFaulty()
				var failed atomic.Bool
				inWorldWithAll(t, func(t *testing.T, w *world, _ *postbox, _ *crm) {
					do := op.prepare(t, w)
					w.AwaitSent()
					w.reports.take()
					store.arm(func(_ string, call int) error {
						if call != n {
							return nil
						}
						failed.Store(true)
						return faults[way]()
					})
					err := do()
					if !failed.Load() { // it makes no more calls
						return
					}
					if reported := w.reports.take(); err == nil && len(reported) == 0 && way != "busy" { // which puts a job off
						t.Errorf("%s, %s in call %d: no error and no report", op.name, way, n)
					}
					if checkout.Refused(err) && !checkout.Refused(err, checkout.CodeBusy) {
						t.Errorf("%s, %s in call %d: %v", op.name, way, n, err)
					}
					w.clock.forward(3 * time.Minute) // what was remembered is over
					if err := do(); err != nil {
						t.Errorf("%s, %s in call %d: again: %v", op.name, way, n, err)
					}
					w.clock.forward(time.Minute)
					w.runFor(t, 3*time.Minute)
					var got []events.Name
					for order, r := range w.records(t) {
						w.wantDelivered(t, order)
						for _, e := range r.Events() {
							got = append(got, e.Event().Name)
						}
					}
					if b := w.backlog(t, checkout.JobSync); b.Waiting > 0 || !slices.Equal(got, op.events) {
						t.Errorf("%s, %s in call %d: events %q, and the backlog of the CRM is %+v", op.name, way, n, got, b)
					}
				}, change)
				if !failed.Load() {
					break
				}
			}
		}
	}
}
