package service_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

// moved returns a world whose checkouts have a clock that is ahead by a time, and which retains for as long as it says.
func moved(t *testing.T, keep checkout.Retention) (*world, *atomic.Int64) {
	t.Helper()
	ahead := new(atomic.Int64)
	return newWorld(t, func(c *service.Config) {
		c.Retention = keep
		c.Ahead = func(context.Context, checkout.About) time.Duration { return time.Duration(ahead.Load()) }
	}), ahead
}

// setUpAt has the processor say that the payer completed the setup at a time.
func (w *world) setUpAt(at time.Time) {
	done := fulfilled
	done.CompletedAt = at
	w.processor.set(done)
}

// refreshes asks the processor about a checkout.
func (w *world) refreshes(t *testing.T, ctx context.Context, id string) {
	t.Helper()
	_, err := w.Refresh(ctx, id)
	must(t, err)
}

// wantAgreedAfterSetup checks that the agreement of ORDER-1 is dated after its direct debit was set up, and that the journal says so too.
func (w *world) wantAgreedAfterSetup(t *testing.T, setUp time.Time) {
	t.Helper()
	r := w.records(t)["ORDER-1"]
	if a := r.Agreement; !a.DirectDebit.AuthorisedAt.Equal(setUp) || a.AcceptedAt.Before(setUp) || !a.AcceptedAt.Equal(r.Checkout.Confirmation.At) {
		t.Errorf("accepted at %s, under a direct debit of %s that was set up at %s", a.AcceptedAt, a.DirectDebit.AuthorisedAt, setUp)
	}
	wantInOrder(t, r)
}

// wantInOrder checks that the events of a checkout, and the moments of its changes, are in the order of their times.
func wantInOrder(t *testing.T, r checkout.CheckoutRecord) {
	t.Helper()
	list := r.Events()
	if !slices.IsSortedFunc(list, func(a, b checkout.EventRecord) int { return a.Event.CreatedAt.Compare(b.Event.CreatedAt) }) {
		for _, e := range list {
			t.Errorf("event %s is of %s", e.Event.Name, e.Event.CreatedAt)
		}
	}
	moments := slices.DeleteFunc(slices.Clone(r.Moments), func(m checkout.Moment) bool { // which no change brings
		return m.Kind == checkout.MomentEventDelivered || m.Kind == checkout.MomentOpened
	})
	if !slices.IsSortedFunc(moments, func(a, b checkout.Moment) int { return a.At.Compare(b.At) }) {
		t.Errorf("the journal is not in the order of its times: %+v", moments)
	}
}

// The clock of a checkout is moved while its agreement is rendered, and the payer sets up another direct debit.
func TestAnAgreementIsDatedAfterItsDirectDebitWhateverMovesMeanwhile(t *testing.T) {
	w, ahead := moved(t, checkout.Retention{})
	o := w.opened(t, "ORDER-1")
	w.setUp(t, o.Token)
	const by = 5 * 24 * time.Hour
	setUp := w.clock.now().UTC().Truncate(time.Millisecond).Add(by)
	w.meanwhile(func() {
		ahead.Store(int64(by))
		failed := fulfilled
		failed.Mandate = checkout.MandateFailed
		w.processor.set(failed)
		w.refreshes(t, t.Context(), o.Checkout.ID)
		_, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
		must(t, err)
		w.setUpAt(setUp)
		w.refreshes(t, t.Context(), o.Checkout.ID)
	})
	_, err := w.confirm(t, confirm(o))
	must(t, err)
	w.wantAgreedAfterSetup(t, setUp)
}

// A call that knows the clock as it was learns what happened after the move of it.
func TestAnAgreementIsDatedAfterTheSetupThatItsCallFinds(t *testing.T) {
	w, ahead := moved(t, checkout.Retention{})
	o := w.opened(t, "ORDER-1")
	_, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
	must(t, err)
	ctx, _ := service.WithSubject(t.Context())
	w.refreshes(t, ctx, o.Checkout.ID)
	const by = 5 * 24 * time.Hour
	ahead.Store(int64(by))
	setUp := w.clock.now().UTC().Truncate(time.Millisecond).Add(by)
	w.setUpAt(setUp)
	_, err = w.Confirm(ctx, caller, o.Checkout.ID, confirm(o))
	must(t, err)
	w.wantAgreedAfterSetup(t, setUp)
}

func TestEventsAreInTheOrderOfTheirTimesWhateverTheClocks(t *testing.T) {
	for _, tt := range []struct {
		name string
		late func(t *testing.T, w *world, ahead *atomic.Int64, id string) (refresh func())
	}{
		{"a call began before the clock was moved", func(t *testing.T, w *world, ahead *atomic.Int64, id string) func() {
			ctx, _ := service.WithSubject(t.Context())
			w.refreshes(t, ctx, id)
			ahead.Store(int64(time.Hour))
			return func() { w.refreshes(t, ctx, id) }
		}},
		{"a process has a clock that is behind", func(t *testing.T, w *world, _ *atomic.Int64, id string) func() {
			w.config.Now = func() time.Time { return w.clock.now().Add(-time.Hour) }
			slow := w.again(t)
			return func() { slow.refreshes(t, t.Context(), id) }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, ahead := moved(t, checkout.Retention{})
			all := kowhai()
			for _, name := range events.Names() {
				all.Provider.Destination.Events = append(all.Provider.Destination.Events, string(name))
			}
			w.configure(t, all)
			cmd := w.ready(t, "ORDER-1")
			_, err := w.confirm(t, cmd)
			must(t, err)
			id := cmd.CheckoutID.Value
			refresh := tt.late(t, w, ahead, id)
			seen := fulfilled
			seen.Mandate, seen.MandateSince = checkout.MandateFailed, w.clock.now().UTC().Truncate(time.Millisecond)
			w.processor.set(seen)
			w.refreshes(t, t.Context(), id)
			seen.Mandate, seen.MandateSince = checkout.MandateActive, seen.MandateSince.Add(time.Second)
			w.processor.set(seen)
			refresh()
			r := w.records(t)["ORDER-1"]
			if names := len(r.Events()); names != 5 {
				t.Errorf("%d events, want those of the create, the confirm and two of the mandate", names)
			}
			wantInOrder(t, r)
		})
	}
}

// A retry by a process whose clock is behind is answered as the first call was.
func TestARetryByAClockThatIsBehindIsAnsweredTheSame(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	first, err := w.confirm(t, cmd)
	must(t, err)
	w.config.Now = func() time.Time { return w.clock.now().Add(-time.Hour) }
	again, err := w.again(t).confirm(t, cmd)
	if err != nil || !again.Already || again.Checkout.Confirmation != first.Checkout.Confirmation || again.Checkout.ChangedAt != first.Checkout.ChangedAt {
		t.Errorf("%+v, %v; want %+v", again, err, first)
	}
}

// The time of the next attempt at a job is by the clock of its process, whatever is on record of the checkout.
func TestAClockThatIsAheadPutsOffNoJob(t *testing.T) {
	w := newWorld(t)
	o := w.opened(t, "ORDER-1")
	w.change(t, "ORDER-1", func(c *checkout.Checkout) { c.ChangedAt = w.clock.now().Add(time.Hour) })
	_, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
	must(t, err)
	if look := w.jobs(t, "ORDER-1", checkout.JobLook); len(look) != 1 || look[0].Due.Sub(w.clock.now()) > time.Minute {
		t.Errorf("the setup is looked at by %+v, want within a minute of %s", look, w.clock.now())
	}
}

func TestAnErasureByTheClockOfACheckoutIsTheLatestOfItsJournal(t *testing.T) {
	w, ahead := moved(t, checkout.Retention{AgreedYears: 7})
	cmd := w.ready(t, "ORDER-1")
	done, err := w.confirm(t, cmd)
	must(t, err)
	ahead.Store(int64(400 * 24 * time.Hour))
	failed := fulfilled
	failed.Mandate = checkout.MandateFailed
	w.processor.set(failed)
	w.refreshes(t, t.Context(), done.Checkout.ID)
	const by = 3200 * 24 * time.Hour
	ahead.Store(int64(by))
	must(t, w.Retain(t.Context(), done.Checkout.About()))
	r := w.records(t)["ORDER-1"]
	last := r.Moments[len(r.Moments)-1]
	if off := last.At.Sub(w.clock.now().Add(by)); last.Kind != checkout.MomentErased || off.Abs() > time.Hour {
		t.Errorf("the latest moment is %+v, want that of the erasure %s ahead", last, by)
	}
	wantInOrder(t, r)
	for _, e := range w.operations(t) {
		if !strings.Contains(string(e.Leaf), "privacy erase") || !e.At.Equal(r.Checkout.ErasedAt) || e.At.After(w.clock.now()) {
			t.Errorf("the entry of %s in the log, and the erasure of %s on record; want the present: %s", e.At, r.Checkout.ErasedAt, e.Leaf)
		}
	}
}

// An operator's machine has a clock that is behind: the end follows what is on record, and the log has a record of this very end.
func TestAWithdrawalByAClockThatIsBehindFollowsWhatIsOnRecord(t *testing.T) {
	w := newWorld(t)
	w.confirms(t, w.ready(t, "ORDER-1"))
	agreed := w.records(t)["ORDER-1"].Checkout
	w.clock.forward(-time.Hour)
	must(t, w.withdraws(t, "ORDER-1"))
	r := w.records(t)["ORDER-1"]
	if end := r.Checkout.End; end.At.Before(agreed.ChangedAt) {
		t.Errorf("the agreement of %s is withdrawn at %s", agreed.ChangedAt, end.At)
	}
	w.clock.forward(2 * time.Hour)
	w.confirms(t, w.ready(t, "ORDER-2"))
	w.clock.forward(time.Hour)
	must(t, w.withdraws(t, "ORDER-2"))
	if c := w.records(t)["ORDER-2"].Checkout; !c.ChangedAt.Equal(c.End.At) {
		t.Errorf("withdrawn at %s, and the latest time on record is %s", c.End.At, c.ChangedAt)
	}
	wantInOrder(t, r)
	logged := false
	for _, e := range w.operations(t) {
		logged = logged || strings.Contains(string(e.Leaf), r.Checkout.End.Fingerprint())
	}
	if !logged {
		t.Error("the evidence log has no record of the end that is on record")
	}
}
