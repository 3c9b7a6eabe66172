package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// chore is a task that counts its runs, each of which takes a time and asks for a pause.
type chore struct {
	takes, pause time.Duration
	stays        bool         // the cursor does not change
	fail         func() error // nil: nothing fails

	mu      sync.Mutex
	cursors []string // of the runs
	now     int      // runs in progress
	atOnce  int      // the most
	ended   error    // of the context of the last run
}

func (c *chore) run(ctx context.Context, cursor string) (string, time.Duration, error) {
	c.mu.Lock()
	c.cursors = append(c.cursors, cursor)
	c.now++
	c.atOnce = max(c.atOnce, c.now)
	c.mu.Unlock()
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	c.ended = ctx.Err()
	if c.fail != nil {
		if err := c.fail(); err != nil {
			return cursor, c.pause, err
		}
	}
	if c.stays {
		return cursor, c.pause, nil
	}
	n, _ := strconv.Atoi(cursor)
	return strconv.Itoa(n + 1), c.pause, nil
}

// seen returns the cursors of the runs, how many there were at once at most, and the error of the context of the last one.
func (c *chore) seen() (cursors []string, atOnce int, ended error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.cursors), c.atOnce, c.ended
}

func (c *chore) runs() int {
	cursors, _, _ := c.seen()
	return len(cursors)
}

// doing has a service run the task.
func (c *chore) doing(config *service.Config) {
	config.Tasks = []service.Task{{Kind: checkout.JobPull, Run: c.run}}
}

func TestATaskIsRunByOneProcessAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := &chore{takes: 5 * time.Second, pause: 25 * time.Second}
		w := newWorld(t, task.doing)
		stops := []func(){w.background(t), w.again(t).background(t), w.again(t).background(t)}
		time.Sleep(5 * time.Minute)
		cursors, atOnce, _ := task.seen()
		if n := len(cursors); atOnce != 1 || n < 9 || n > 11 {
			t.Errorf("%d runs in five minutes, %d at once; want ten, one at a time", n, atOnce)
		}
		for n, cursor := range cursors {
			if want := strings.TrimPrefix(strconv.Itoa(n), "0"); cursor != want {
				t.Errorf("run %d has the cursor %q, want %q", n, cursor, want)
			}
		}
		stops[0]()
		stops[1]() // the work of both is the third's
		before := task.runs()
		time.Sleep(2 * time.Minute)
		if n := task.runs() - before; n < 3 {
			t.Errorf("%d runs in two minutes after two of three processes ended", n)
		}
		stops[2]()
	})
}

// A task that rests for less than its lease writes nothing to its job: the lease is its pause.
func TestATaskThatRestsForAMomentWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settled atomic.Int64
		task := &chore{pause: 10 * time.Second, stays: true}
		w := newWorld(t, task.doing, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
			if method == "Settle" {
				settled.Add(1)
			}
			return call(ctx)
		}))
		stop := w.background(t)
		time.Sleep(time.Minute + time.Second)
		stop()
		if n := task.runs(); settled.Load() != 0 || n < 5 || n > 7 {
			t.Errorf("%d runs in a minute, and %d jobs were settled; want six runs without a write", n, settled.Load())
		}
		// The lease was given back: the next process need not wait for its end.
		before := task.runs()
		w.again(t).runFor(t, 100*time.Millisecond)
		if n := task.runs() - before; n != 1 {
			t.Errorf("%d runs by the next process at once, want one", n)
		}
	})
}

func TestATaskThatFailsIsReportedAndRunAgain(t *testing.T) {
	for name, fail := range map[string]func() error{"fails": func() error { return errBroken }, "panics": func() error { panic(errBroken) }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				task := &chore{pause: 30 * time.Second, fail: fail}
				w := newWorld(t, task.doing)
				w.runFor(t, time.Minute-time.Second)
				got := w.reports.take()
				if n := task.runs(); n < 2 || len(got) != n {
					t.Fatalf("%d runs and %d reports in a minute", n, len(got))
				}
				for _, f := range got {
					if f.Operation != service.OperationTask || f.Severity != service.Error || !strings.Contains(f.Err.Error(), "pull: ") ||
						!strings.Contains(f.Err.Error(), errBroken.Error()) {
						t.Errorf("reported %+v", f)
					}
				}
			})
		})
	}
}

// No job waits for longer than the longest pause of its kind, or it would be done at once; a task is done sooner.
func TestNoPauseIsLongerThanTheLongestOfItsKind(t *testing.T) {
	for kind, pause := range service.Pauses() {
		if longest := kind.LongestPause(0); pause > longest {
			t.Errorf("a job of kind %s waits for %v, and its longest pause is %v", kind, pause, longest)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		task := &chore{pause: 7 * 24 * time.Hour}
		w := newWorld(t, task.doing)
		w.runFor(t, 47*time.Hour)
		if cursors, _, _ := task.seen(); len(cursors) != 2 {
			t.Errorf("a task with a pause of a week ran %d times in two days", len(cursors))
		}
	})
}

// A run that panics leaves the cursor where it was.
func TestATaskThatPanicsKeepsItsCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := &chore{pause: 15 * time.Second}
		task.fail = func() error {
			if len(task.cursors) == 2 {
				panic("in the second run")
			}
			return nil
		}
		w := newWorld(t, task.doing)
		w.runFor(t, time.Minute)
		if cursors, _, _ := task.seen(); len(cursors) < 3 || cursors[1] != "1" || cursors[2] != "1" {
			t.Errorf("the runs have the cursors %q, want 1 again after the panic", cursors)
		}
	})
}

// What takes longer than a lease is not begun by another process meanwhile.
func TestALeaseIsExtendedWhileItsAttemptGoesOn(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		mail.set(func(context.Context, checkout.PayerNotice) error { time.Sleep(40 * time.Second); return nil })
		w.ready(t, "ORDER-1")
		var all sync.WaitGroup
		for range 3 {
			next := w.again(t)
			all.Go(func() { next.runFor(t, 2*time.Minute) })
		}
		all.Wait()
		if got, n := mail.take(), w.notices(t, "ORDER-1")[0]; len(got) != 1 || n.State != checkout.JobDone || n.Token != 1 {
			t.Errorf("sent %d times; on record %+v", len(got), n)
		}
	})
}

// A process that has lost a lease ends its attempt, settles nothing and reports nothing.
func TestALostLeaseEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := &chore{takes: time.Hour, pause: time.Minute, fail: func() error { return errors.New("it was ended") }}
		w := newWorld(t, task.doing)
		stop := w.background(t)
		time.Sleep(time.Second)
		l, err := w.store.Lease(t.Context(), checkout.JobQuery{Now: w.clock.now().Add(time.Minute), For: time.Second, Kinds: []checkout.JobKind{checkout.JobPull}, Limit: 1})
		if err != nil || len(l) != 1 {
			t.Fatalf("another process gets %+v, %v", l, err)
		}
		must(t, w.store.Extend(t.Context(), l[0], w.clock.now(), 10*time.Second))
		time.Sleep(4 * time.Second)
		if _, _, ended := task.seen(); !errors.Is(ended, context.Canceled) {
			t.Errorf("the attempt goes on: %v", ended)
		}
		job := w.job(t, "pull")
		if job.Token != 2 || job.Due.Sub(w.clock.now()) < 5*time.Second {
			t.Errorf("on record is %+v, want the lease of the other", job)
		}
		stop()
		w.wantNoReports(t)
	})
}

// job returns what is on record of a job.
func (w *world) job(t *testing.T, id string) checkout.JobRecord {
	t.Helper()
	list, err := w.store.Jobs(t.Context(), checkout.JobFilter{ID: id}, 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("job %s: %+v, %v", id, list, err)
	}
	return list[0]
}

// most counts how many calls are made at once.
type most struct{ now, atOnce atomic.Int64 }

func (m *most) call(d time.Duration) {
	n := m.now.Add(1)
	for {
		if was := m.atOnce.Load(); n <= was || m.atOnce.CompareAndSwap(was, n) {
			break
		}
	}
	time.Sleep(d)
	m.now.Add(-1)
}

// However much waits, a CRM, a processor and a mail server get a few calls at once, and what is quick is not behind what is slow.
func TestWhatIsSlowHasFewAttemptsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 60
		c, change := withCRM()
		w, mail := notifying(t, change)
		for n := range many {
			w.begun(t, fmt.Sprint("LOOK-", n))
			c.disturb(nth(1, ends), nil)
			dies(func() { w.Create(t.Context(), caller, create(fmt.Sprint("OPEN-", n))) })
			c.disturb(nil, nil)
		}
		w.processor.set(fulfilled)
		w.clock.forward(10 * time.Minute)
		var calls, mails most
		c.disturb(func(context.Context) error { calls.call(3 * time.Second); return nil }, nil)
		w.processor.takes, w.processor.atOnce = 3*time.Second, 0
		mail.set(func(context.Context, checkout.PayerNotice) error { mails.call(3 * time.Second); return nil })
		crashed := w.receiver.requests()
		stop := w.background(t)
		time.Sleep(4 * time.Minute)
		stop()
		if n := calls.atOnce.Load(); n != 8 {
			t.Errorf("the CRM got %d calls at once, want 8", n)
		}
		if n := w.processor.atOnce; n != 4 {
			t.Errorf("the processor got %d calls at once, want 4", n)
		}
		if n := mails.atOnce.Load(); n != 4 {
			t.Errorf("the mail server got %d notices at once, want 4", n)
		}
		if n := w.receiver.requests() - crashed; n != many {
			t.Errorf("%d events were sent, want those of %d enrolments", n, many)
		}
		all, err := w.Backlogs(t.Context())
		if err != nil || all[checkout.JobOpen].Waiting+all[checkout.JobDeliver].Waiting+all[checkout.JobNotify].Waiting > 0 {
			t.Errorf("the backlog is %+v, %v", all, err)
		}
	})
}

// A server that has nothing to do asks its store for work in one query a second.
func TestAQuietServerAsksOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		calls := map[string]int{}
		task := &chore{pause: time.Hour}
		c, change := withCRM()
		w, _ := notifying(t, change, task.doing, func(c *service.Config) {
			c.Retention = checkout.Retention{AbandonedDays: 90}
		}, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
			mu.Lock()
			calls[method]++
			mu.Unlock()
			return call(ctx)
		}))
		w.confirmed(t, "ORDER-1")
		stop := w.background(t)
		time.Sleep(10 * time.Second)
		mu.Lock()
		clear(calls)
		mu.Unlock()
		made := c.made()
		time.Sleep(5 * time.Minute)
		stop()
		if n := calls["Lease"]; n < 300 || n > 330 { // a poll that leases a job, a look at the setup, asks for more
			t.Errorf("the store is asked for work %d times in five minutes", n)
		}
		delete(calls, "Lease")
		for method, n := range calls {
			if n > 15 {
				t.Errorf("%s is called %d times in five minutes", method, n)
			}
		}
		if c.made() != made {
			t.Errorf("the CRM is called %d times", c.made()-made)
		}
	})
}

// shared is a store that several machines share: its own clock decides, and not its callers' clocks.
type shared struct {
	ports.Store
	now func() time.Time
}

func (s shared) change(c checkout.Change, q checkout.JobEntry) (checkout.Change, checkout.JobEntry) {
	c.Jobs = slices.Clone(c.Jobs)
	for i, j := range c.Jobs {
		c.Jobs[i].Due = s.now()
		if !j.Due.IsZero() {
			c.Jobs[i].Due = s.now().Add(j.Due.Sub(j.CreatedAt))
		}
	}
	c.Events = slices.Clone(c.Events)
	for i := range c.Events {
		c.Events[i].CreatedAt = s.now() // from which on they are due
	}
	q.Now = s.now()
	return c, q
}

func (s shared) InsertCheckout(ctx context.Context, c checkout.Change, q checkout.JobEntry) error {
	c, q = s.change(c, q)
	return s.Store.InsertCheckout(ctx, c, q)
}

func (s shared) UpdateCheckout(ctx context.Context, id string, q checkout.JobEntry, decide func(checkout.Checkout) (checkout.Change, error)) error {
	_, q = s.change(checkout.Change{}, q)
	return s.Store.UpdateCheckout(ctx, id, q, s.decide(decide))
}

func (s shared) decide(decide func(checkout.Checkout) (checkout.Change, error)) func(checkout.Checkout) (checkout.Change, error) {
	if decide == nil {
		return nil
	}
	return func(c checkout.Checkout) (checkout.Change, error) {
		change, err := decide(c)
		change, _ = s.change(change, checkout.JobEntry{})
		return change, err
	}
}

func (s shared) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	asked := q.Now
	q.Now = s.now()
	leases, err := s.Store.Lease(ctx, q)
	for i := range leases {
		leases[i].Until = asked.Add(q.For)
	}
	return leases, err
}

func (s shared) Extend(ctx context.Context, l checkout.Lease, _ time.Time, d time.Duration) error {
	return s.Store.Extend(ctx, l, s.now(), d)
}

func (s shared) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, q checkout.JobEntry, decide func(checkout.Checkout) (checkout.Change, error)) error {
	_, q = s.change(checkout.Change{}, q)
	return s.Store.Settle(ctx, l, o, q, s.decide(decide))
}

// apart returns the world, and another process over its store whose clock is apart from this one's.
func (w *world) apart(t *testing.T, d time.Duration) *world {
	t.Helper()
	next := *w
	next.clock = &clock{moved: w.clock.moved + d}
	next.config.Now = next.clock.now
	return next.again(t)
}

// One process has a clock that is an hour wrong. Nothing is held for longer, and nothing is sent twice.
func TestAClockThatIsAnHourWrongHoldsNothingAndSendsNothingTwice(t *testing.T) {
	for _, wrong := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, outside := withCRM()
				w, mail := notifying(t, outside, func(c *service.Config) { c.Store = shared{c.Store, time.Now} })
				other := w.apart(t, wrong)
				w.asks(fulfilled)
				w.receiver.answers(func(events.Delivery, int) error { time.Sleep(1500 * time.Millisecond); return nil })
				mail.set(func(context.Context, checkout.PayerNotice) error { time.Sleep(12 * time.Second); return nil })
				slow := func(context.Context) error { time.Sleep(2 * time.Second); return nil }
				c.disturb(slow, slow)
				stop, stopOther := w.background(t), other.background(t)
				var all sync.WaitGroup
				for n := range 20 {
					all.Go(func() {
						p := []*world{w, other}[n%2]
						o := p.opened(t, fmt.Sprint("ORDER-", n))
						p.presses(t, o)
						p.observes(t, o, fulfilled)
						p = []*world{other, w}[n%2]
						if done := p.sent(t, confirm(o), false); done.Checkout.Status != checkout.Confirmed {
							t.Errorf("%s is %s", o.Checkout.OrderID, done.Checkout.Status)
						}
					})
				}
				all.Wait()
				time.Sleep(3 * time.Minute) // four notices at once
				for n := range 10 {         // each process dies in the middle of creates, and the other takes its work over
					p := []*world{w, other}[n%2]
					c.disturb(nil, nth(1, ends))
					dies(func() { p.Create(t.Context(), caller, create(fmt.Sprint("DEAD-", n))) })
				}
				c.disturb(nil, nil)
				time.Sleep(20 * time.Second)
				backlogs, err := w.Backlogs(t.Context())
				if err != nil || backlogs[checkout.JobOpen].Waiting+backlogs[checkout.JobDeliver].Waiting+backlogs[checkout.JobNotify].Waiting > 0 {
					t.Errorf("twenty seconds later the backlog is %+v, %v", backlogs, err)
				}
				stop()
				stopOther()
				sent := map[string]int{}
				for _, d := range w.receiver.got {
					sent[d.Event.ID]++
				}
				for _, n := range mail.take() {
					sent[n.ID]++
				}
				notices := 20
				for n := range 20 {
					list := w.notices(t, fmt.Sprint("ORDER-", n))
					if list[1].State != checkout.JobDone {
						t.Errorf("on record %+v, want the agreement sent", list[1])
					}
					if list[0].State == checkout.JobDone { // and not dropped, as the agreement came first
						notices++
					}
				}
				if want := 20*3 + notices + 10; len(sent) != want {
					t.Errorf("%d events and notices were sent, want %d", len(sent), want)
				}
				for id, n := range sent {
					if n > 1 {
						t.Errorf("%s was sent %d times", id, n)
					}
				}
			})
		})
	}
}

// A process whose clock is an hour wrong waits for the CRM where another attempt follows soon, and not where the CRM has refused.
func TestAClockThatIsAnHourWrongKnowsWhatToWaitFor(t *testing.T) {
	for _, wrong := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, outside := withCRM()
				w := newWorld(t, outside, func(c *service.Config) { c.Store = shared{c.Store, time.Now} })
				other := w.apart(t, wrong)
				c.disturb(fails, nil)
				var all sync.WaitGroup
				all.Go(func() { w.opened(t, "ORDER-1") })
				time.Sleep(time.Second) // the next attempt is put off
				all.Go(func() {
					if o := other.opened(t, "ORDER-1"); !o.Replay {
						t.Error("the create of another is new")
					}
				})
				time.Sleep(time.Second)
				c.disturb(nil, nil)
				all.Wait()
				c.disturb(once(func(context.Context) error { return &checkout.CRMRefusal{Code: "NO", Made: true} }), nil)
				if _, err := w.Create(t.Context(), caller, create("ORDER-2")); err == nil {
					t.Error("a create that the CRM refuses succeeds")
				}
				var err error
				if d := took(func() { _, err = other.Create(t.Context(), caller, create("ORDER-2")) }); d > time.Second {
					t.Errorf("a create waits %v for what an administrator must mend", d)
				}
				expect(t, err, checkout.CodeBusy)
			})
		})
	}
}

// Where every caller's own clock decides, as over a file on one machine, a clock that is set holds nothing for longer either.
func TestALeaseOfAClockThatWasSetIsOver(t *testing.T) {
	for _, set := range []time.Duration{time.Hour, -time.Hour} {
		inWorld(t, func(t *testing.T, w *world) {
			before := w.apart(t, set)
			before.crashed(t, "ORDER-1") // with a lease by the clock as it was
			w.runFor(t, 20*time.Second)
			if e := w.records(t)["ORDER-1"].Events()[0]; e.Status != events.Delivered || w.receiver.requests() != 1 {
				t.Errorf("a lease of a clock %s apart: the event is %s after %d attempts", set, e.Status, w.receiver.requests())
			}
		})
	}
}
