package operate_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// world is a desk over a store with the providers KOWHAI and RIMU, and with MUTE, which has no destination.
type world struct{ desk }

// inWorld runs a test in a world whose clock stands still until the test sleeps.
func inWorld(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{newDesk(t)}
		w.Now = time.Now
		provider := func(code string) catalogue.Configuration {
			c := named(code, code)
			c.Provider.Destination = catalogue.Destination{URL: "https://hooks.example", Secret: "whsec_0123456789abcdefgh"}
			return c
		}
		w.configure(t, provider("KOWHAI"), provider("RIMU"), named("MUTE", "MUTE"))
		test(t, w)
	})
}

// settled stores a checkout whose event has this status, and returns the event.
func (w *world) settled(t *testing.T, provider, order string, status events.Status) events.Event {
	t.Helper()
	c := checkout.Checkout{ID: provider + "-" + order, ProviderCode: provider, OrderID: order, IdempotencyKey: provider + ":" + order}
	e := events.Created(events.Origin{RequestID: "req_1", Environment: "sandbox", CreatedAt: time.Now()},
		events.Subject{ProviderCode: provider, OrderID: order, CheckoutID: c.ID}, "dda", "contact")
	e.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	enqueue := checkout.JobEntry{Now: time.Now(), Hold: time.Second, Unsent: status == events.NotConfigured}
	must(t, w.store.InsertCheckout(t.Context(), checkout.Change{Next: c, Events: []events.Event{e}}, enqueue))
	states := map[events.Status]checkout.JobState{events.Delivered: checkout.JobDone, events.Failed: checkout.JobDead}
	if state := states[status]; state != "" {
		w.settle(t, checkout.DeliveryOf(e), state)
	}
	return e
}

// settle stores how the attempts of the first holder of a job ended.
func (w *world) settle(t *testing.T, j checkout.Job, state checkout.JobState) {
	t.Helper()
	must(t, w.store.Settle(t.Context(), checkout.Lease{Job: j, Token: 1}, checkout.Outcome{State: state, Attempts: 3,
		Failure: checkout.Failure{At: time.Now(), Reason: "answered 503"}}, checkout.JobEntry{Now: time.Now()}, nil))
}

// ended leases a redelivery, and settles it.
func (w *world) ended(t *testing.T, j checkout.Job, state checkout.JobState) {
	t.Helper()
	leases, err := w.store.Lease(t.Context(), checkout.JobQuery{Now: time.Now(), For: time.Second, Kinds: []checkout.JobKind{j.Kind},
		ID: j.ID, Limit: 1})
	if err != nil || len(leases) != 1 {
		t.Fatalf("leased are %+v, %v; want %s", leases, err, j.ID)
	}
	w.settle(t, j, state)
}

// waiting returns the redeliveries that wait, in the order in which they entered.
func (w *world) waiting(t *testing.T) (all []checkout.Job) {
	t.Helper()
	list, err := w.store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobRedeliver}, State: checkout.JobPending,
		OldestFirst: true}, 100_000)
	must(t, err)
	for _, j := range list {
		all = append(all, j.Job)
	}
	return all
}

// one has an event sent again, which must be possible.
func (w *world) one(t *testing.T, id string) checkout.Job {
	t.Helper()
	job, err := w.Redeliver(t.Context(), id)
	must(t, err)
	return job
}

func TestAFailedOrADeliveredEventIsSentAgainByAJobWithItsRecord(t *testing.T) {
	for _, status := range []events.Status{events.Failed, events.Delivered} {
		t.Run(string(status), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				e := w.settled(t, "KOWHAI", "ORDER-1", status)
				time.Sleep(24 * time.Hour)
				got := w.one(t, e.ID)
				want := checkout.SendNow(e, "operator:Aroha", "0", "", time.Now().UTC())
				want.Due = time.Time{}
				if all := w.waiting(t); len(all) != 1 || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(all[0], want) {
					t.Errorf("Redeliver = %+v, and %+v waits; want %+v", got, all, want)
				}
				if got.EventID() != e.ID || got.AskedBy() != "operator:Aroha" || got.RequestID != "" {
					t.Errorf("the job sends %s, asked by %s in the request %q", got.EventID(), got.AskedBy(), got.RequestID)
				}
				w.says(t, `"operation":"events redeliver"`, `"subject":"`+e.ID+`"`, `"event `+e.ID+`: to be sent again"`)
			})
		})
	}
}

// A repeat leaves no second job and no second record while the first waits, although the event was sent meanwhile by another redelivery.
func TestARedeliveryIsEnqueuedOnceWhileItWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		e := w.settled(t, "KOWHAI", "ORDER-1", events.Failed)
		for n, state := range []checkout.JobState{checkout.JobDropped, checkout.JobDead, checkout.JobDone} {
			others := checkout.SendNow(e, "provider:k1", fmt.Sprint("req_", n), "", time.Now())
			_, err := w.store.Enqueue(t.Context(), []checkout.Job{others}, nil)
			must(t, err)
			var fresh atomic.Int32
			var all sync.WaitGroup
			repeat := func() {
				switch job, err := w.Redeliver(t.Context(), e.ID); {
				case err == nil:
					fresh.Add(1)
				case !errors.Is(err, checkout.ErrPending) || job.EventID() != e.ID:
					t.Errorf("Redeliver = %+v, %v; want it enqueued, or the event and %v", job, err, checkout.ErrPending)
				}
			}
			for range 64 {
				all.Go(repeat)
			}
			all.Wait()
			w.ended(t, others, checkout.JobDead)
			repeat()
			jobs, _, err := w.RedeliverFailed(t.Context(), time.Time{}, "")
			if waiting := w.waiting(t); err != nil || len(jobs) != 0 || fresh.Load() != 1 || len(waiting) != 1 || len(w.recorded(t)) != n+1 {
				t.Fatalf("%d calls enqueued it, and then %d of all that failed, %v; %+v wait, and the records are %q; want one job and one record",
					fresh.Load(), len(jobs), err, waiting, w.recorded(t))
			}
			w.ended(t, w.waiting(t)[0], state)
		}
	})
}

func TestWhatIsNotSentAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			provider string
			status   events.Status
			want     error
		}{{"KOWHAI", events.Pending, checkout.ErrPending}, {"KOWHAI", events.NotConfigured, operate.ErrNeverSent},
			{"MUTE", events.Failed, operate.ErrNoDestination}, {"GONE", events.Failed, operate.ErrNoDestination}} {
			e := w.settled(t, tt.provider, "ORDER-"+string(tt.status), tt.status)
			if job, err := w.Redeliver(t.Context(), e.ID); !errors.Is(err, tt.want) || job.EventID() != e.ID {
				t.Errorf("%s of %s: %+v, %v; want %v", tt.status, tt.provider, job, err, tt.want)
			}
		}
		if _, err := w.Redeliver(t.Context(), "evt_none"); !errors.Is(err, ports.ErrNotFound) {
			t.Errorf("an unknown event: %v, want %v", err, ports.ErrNotFound)
		}
		jobs, _, err := w.RedeliverFailed(t.Context(), time.Time{}, "")
		if said := fmt.Sprint(err); !errors.Is(err, operate.ErrNoDestination) || !strings.Contains(said, "1 failed events of GONE") ||
			!strings.Contains(said, "1 failed events of MUTE") {
			t.Errorf("all that failed: %v, want %v for GONE and MUTE", err, operate.ErrNoDestination)
		}
		if recorded, all := w.recorded(t), w.waiting(t); len(jobs)+len(recorded)+len(all) > 0 {
			t.Errorf("%+v wait, and recorded is %q, though nothing is sent", all, recorded)
		}
	})
}

// What cannot be recorded is not enqueued, and what cannot be enqueued is not recorded.
func TestARedeliveryAndItsRecordAreOneCommit(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		e := w.settled(t, "KOWHAI", "ORDER-1", events.Failed)
		random := w.Rand
		for _, rand := range []io.Reader{bytes.NewReader(nil), zeros{}} {
			w.Rand = rand
			entry := w.Keyring.Attest(evidence.OfOperation("00000000-0000-4000-8000-000000000000", evidence.Operation{Name: "x", Operator: "y"}))
			if err := w.store.RecordEvidence(t.Context(), entry); err != nil && !errors.Is(err, ports.ErrDuplicate) {
				t.Fatal(err)
			}
			if _, err := w.Redeliver(t.Context(), e.ID); err == nil || len(w.waiting(t)) != 0 || len(w.recorded(t)) != 1 {
				t.Errorf("Redeliver: %v, and %+v wait", err, w.waiting(t))
			}
		}
		w.Rand = random
		w.one(t, e.ID)
	})
}

// zeros is entropy that makes the same id each time.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestEveryFailedEventSinceATimeIsSentAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		early := w.settled(t, "KOWHAI", "EARLY", events.Failed)
		w.settled(t, "KOWHAI", "TAKEN", events.Delivered)
		time.Sleep(time.Hour)
		since := time.Now()
		const each = 300
		for i := range each {
			w.settled(t, "KOWHAI", fmt.Sprint("ORDER-", i), events.Failed)
			w.settled(t, "RIMU", fmt.Sprint("ORDER-", i), events.Failed)
			w.settled(t, "MUTE", fmt.Sprint("ORDER-", i), events.Failed)
		}
		w.settled(t, "KOWHAI", "PENDING", events.Pending)
		ofRimu, more, err := w.RedeliverFailed(t.Context(), since, "RIMU")
		if err != nil || more || len(ofRimu) != each {
			t.Fatalf("%d jobs, more %t, %v; want %d of RIMU", len(ofRimu), more, err, each)
		}
		w.says(t, `"operation":"events redeliver"`, `"subject":"failed since `+events.Timestamp(since)+` of RIMU"`,
			`"event `+ofRimu[0].EventID()+`: to be sent again"`, `"event `+ofRimu[each-1].EventID()+`: to be sent again"`)
		for i := range each { // more than one record has
			w.settled(t, "KOWHAI", fmt.Sprint("MORE-", i), events.Failed)
		}
		all, more, err := w.RedeliverFailed(t.Context(), since, "")
		if !errors.Is(err, operate.ErrNoDestination) || more || len(all) != 2*each {
			t.Fatalf("%d jobs, more %t, %v; want the %d of KOWHAI, and an error for those of MUTE", len(all), more, err, 2*each)
		}
		lines := strings.Join(w.recorded(t), "\n")
		for _, j := range slices.Concat(ofRimu, all) {
			if n := strings.Count(lines, "event "+j.EventID()+": to be sent again"); n != 1 || j.ProviderCode == "MUTE" || j.EventID() == early.ID {
				t.Errorf("%s of %s is recorded %d times", j.EventID(), j.ProviderCode, n)
			}
		}
		for _, leaf := range w.recorded(t) {
			if n := strings.Count(leaf, "to be sent again"); n > operate.MaxChanges {
				t.Errorf("a record has %d lines, want %d at most", n, operate.MaxChanges)
			}
		}
		if got := w.waiting(t); len(got) != 3*each {
			t.Errorf("%d jobs wait, want %d", len(got), 3*each)
		}
	})
}

func TestOneCallSendsNoMoreThanItSays(t *testing.T) {
	testlevel.Full(t)
	inWorld(t, func(t *testing.T, w *world) {
		for i := range operate.MaxRedelivered + 1 {
			w.settled(t, "KOWHAI", fmt.Sprint("ORDER-", i), events.Failed)
		}
		if jobs, more, err := w.RedeliverFailed(t.Context(), time.Time{}, ""); err != nil || !more || len(jobs) != operate.MaxRedelivered {
			t.Errorf("%d jobs, more %t, %v; want %d and more", len(jobs), more, err, operate.MaxRedelivered)
		}
	})
}

func TestTheEventsOfACheckoutAreEnqueuedInTheirOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.settled(t, "KOWHAI", "ORDER-1", events.Failed)
		second := events.Confirmed(events.Origin{CreatedAt: time.Now()}, events.Subject{ProviderCode: "KOWHAI", OrderID: "ORDER-1",
			CheckoutID: first.CheckoutID}, "dda", "agreement")
		must(t, w.store.UpdateCheckout(t.Context(), first.CheckoutID, checkout.JobEntry{Now: time.Now(), Hold: time.Second},
			func(c checkout.Checkout) (checkout.Change, error) {
				return checkout.Change{Next: c, Events: []events.Event{second}}, nil
			}))
		w.settle(t, checkout.DeliveryOf(second), checkout.JobDead)
		_, _, err := w.RedeliverFailed(t.Context(), time.Time{}, "")
		must(t, err)
		if got := w.waiting(t); len(got) != 2 || got[0].EventID() != first.ID || got[1].EventID() != second.ID {
			t.Errorf("enqueued are %+v, want %s before %s", got, first.ID, second.ID)
		}
	})
}
