package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Settlements tests a store against ports.Queue.Settle.
func Settlements(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a job that is done, dead or dropped keeps its outcome, and is never leased again", settledKeeps},
		{"a job that is put off is given back, and keeps its attempts and its latest failure", settledPending},
		{"the next holder gets the cursor and the attempts on record", settledCursor},
		{"what other systems said comes back byte for byte, and times in UTC to the millisecond", settledText},
		{"an outcome is stored with the change of the checkout, all of it", settledWithChange},
		{"an outcome without a change leaves the checkout as it is, with the moments in its journal", settledAlone},
		{"what a change enqueues may be leased to the settler", settledHold},
		{"a holder that is fenced off settles nothing, and decides nothing", settledFenced},
		{"of many concurrent settlements one succeeds", concurrentSettlements},
		{"no concurrent settlement or update of a checkout is lost", concurrentDecisions},
		{"a checkout that is removed leaves its order, its key and its id free, and no jobs and no journal", removed},
		{"a checkout that is removed leaves all others alone", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1), opened(3))
			unchanged(t, s, func() {
				insert(t, s, reserved(2))
				change(t, s, 2, checkout.Change{Remove: true})
			})
		}},
	})
}

func settledKeeps(t *testing.T, s ports.Admin) {
	failure := checkout.Failure{At: at(3), Reason: "answered 500"}
	for n, o := range []checkout.Outcome{
		{State: checkout.JobDone, Attempts: 1},
		{State: checkout.JobDone, Attempts: 2, Receipt: checkout.Receipt{Reference: "<ntc_1@lender.example>", Answer: "250 2.0.0 queued as 4F1A"}},
		{State: checkout.JobDone, Attempts: 3, Failure: failure},
		{State: checkout.JobDead, Attempts: 3, Failure: failure},
		{State: checkout.JobDropped},
	} {
		insert(t, s, opened(n))
		l := lease(t, s, opened(n).Events[0].ID)
		settle(t, s, l, o)
		want := checkout.JobRecord{Job: l.Job, State: o.State, Token: 1, Attempts: o.Attempts, Receipt: o.Receipt, Failure: o.Failure}
		same(t, "on record", jobOf(t, s, l.Job.ID), want)
		for _, state := range []checkout.JobState{checkout.JobPending, checkout.JobDone} {
			refused(t, "Settle again", s.Settle(t.Context(), l, checkout.Outcome{State: state, Attempts: 1}, pending(), nil), ports.ErrNotFound)
		}
		notDue(t, s, "a settled job", l.Job.ID)
		same(t, "exported", exported(t, s, n).Jobs, []checkout.JobRecord{want})
	}
}

func settledPending(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	first, second := checkout.Failure{At: at(6), Reason: "451 4.7.1 try “later”"}, checkout.Failure{At: at(7), Reason: "421"}
	for i, tt := range []struct{ given, want checkout.Failure }{{first, first}, {checkout.Failure{}, first}, {second, second}} {
		l := lease(t, s, work(1).ID)
		settle(t, s, l, checkout.Outcome{State: checkout.JobPending, Attempts: 2, Failure: tt.given})
		same(t, "on record", jobOf(t, s, work(1).ID),
			checkout.JobRecord{Job: l.Job, State: checkout.JobPending, Token: int64(i + 1), Attempts: 2 * (i + 1), Failure: tt.want})
	}
	for _, again := range []time.Duration{briefly, time.Minute} {
		settle(t, s, lease(t, s, work(1).ID), checkout.Outcome{State: checkout.JobPending, Pause: again})
		notDue(t, s, "a job that is put off", work(1).ID)
		pass(t, s, briefly)
	}
	hasten(t, s, work(1).ID)
	settle(t, s, lease(t, s, work(1).ID), checkout.Outcome{State: checkout.JobDone, Attempts: 1})
	r := jobOf(t, s, work(1).ID)
	same(t, "failure of a job that is done", r.Failure, second)
	same(t, "attempts", r.Attempts, 7)
}

func settledCursor(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	for i, cursor := range append(oddTexts(), "") {
		l := lease(t, s, work(1).ID)
		same(t, "attempts", l.Attempts, 2*i)
		if i > 0 {
			same(t, "cursor", l.Cursor, oddTexts()[i-1])
		}
		if i%2 == 0 { // a holder that settles nothing leaves the cursor
			giveBack(t, s, l)
			l = lease(t, s, work(1).ID)
		}
		settle(t, s, l, checkout.Outcome{State: checkout.JobPending, Attempts: 2, Cursor: cursor})
		same(t, "cursor on record", jobOf(t, s, work(1).ID).Cursor, cursor)
	}
	same(t, "cursor that is taken back", lease(t, s, work(1).ID).Cursor, "")
}

func settledText(t *testing.T, s ports.Admin) {
	for i, text := range oddTexts() {
		when := oddTimes()[i%len(oddTimes())]
		enqueue(t, s, work(i))
		settle(t, s, lease(t, s, work(i).ID), checkout.Outcome{State: checkout.JobDone, Failure: checkout.Failure{At: when, Reason: text},
			Receipt: checkout.Receipt{Reference: text, Answer: text}})
		r := jobOf(t, s, work(i).ID)
		same(t, "failure", r.Failure, checkout.Failure{At: when.UTC().Truncate(time.Millisecond), Reason: text})
		same(t, "receipt", r.Receipt, checkout.Receipt{Reference: text, Answer: text})
	}
}

func settledWithChange(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1), opened(2))
	l := lease(t, s, reserved(1).Jobs[0].ID)
	o := checkout.Outcome{State: checkout.JobDone, Attempts: 1, Moments: []checkout.Moment{moment(checkout.MomentCRMDone, 9)}}
	done := opened(1)
	done.Jobs = []checkout.Job{job(done.Next, checkout.JobNotify, 1)}
	done.Moments = []checkout.Moment{moment(checkout.MomentLinkRenewed, 8)}
	must(t, "Settle", s.Settle(t.Context(), l, o, pending(), deciding(func(c checkout.Checkout) checkout.Change {
		same(t, "what decide gets", c, reserved(1).Next)
		return done
	})))
	same(t, "record", exported(t, s, 1), checkout.CheckoutRecord{
		Checkout: done.Next,
		Jobs: []checkout.JobRecord{
			{Job: l.Job, State: checkout.JobDone, Token: 1, Attempts: 1},
			waiting(checkout.DeliveryOf(done.Events[0])), waiting(done.Jobs[0]),
		},
		Moments: journal(reserved(1).Moments[0], done.Moments[0], o.Moments[0]),
	})
	var agreed checkout.Change
	addJobs(t, s, 1, job(done.Next, checkout.JobComplete, 1))
	must(t, "Settle", s.Settle(t.Context(), lease(t, s, job(done.Next, checkout.JobComplete, 1).ID), checkout.Outcome{State: checkout.JobDone}, pending(),
		deciding(func(c checkout.Checkout) checkout.Change {
			agreed = confirmed(completed(c), 1)
			agreed.Act = operation(6)
			return agreed
		})))
	gets(t, "Agreement", *agreed.Agreement)(s.Agreement(t.Context(), agreed.Agreement.Number))
	gets(t, "Document", *agreed.Document)(s.Document(t.Context(), agreed.Agreement.Number))
	same(t, "acts", acts(t, s), []checkout.Act{*agreed.Act})
}

func settledAlone(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	before := exported(t, s, 1)
	o := checkout.Outcome{State: checkout.JobPending, Moments: []checkout.Moment{moment(checkout.MomentEventFailed, 3), moment(checkout.MomentEventFailed, 4)}}
	settleEvent(t, s, opened(1), o)
	before.Jobs[0].Token = 1
	before.Moments = journal(before.Moments[0], o.Moments[0], o.Moments[1])
	same(t, "record", exported(t, s, 1), before)

	enqueue(t, s, work(1))
	settle(t, s, lease(t, s, work(1).ID), o) // a job without a checkout has no journal
	same(t, "record", exported(t, s, 1), before)
}

func settledHold(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1))
	l := lease(t, s, reserved(1).Jobs[0].ID)
	done := opened(1)
	done.Jobs = []checkout.Job{job(done.Next, checkout.JobNotify, 1)}
	must(t, "Settle", s.Settle(t.Context(), l, checkout.Outcome{State: checkout.JobDone}, checkout.JobEntry{Now: now(), Hold: leaseFor},
		deciding(func(checkout.Checkout) checkout.Change { return done })))
	same(t, "leased", jobIDs(leasedJobs(t, s, nil)), jobIDs(done.Jobs))
	settle(t, s, checkout.Lease{Job: checkout.DeliveryOf(done.Events[0]), Token: 1}, checkout.Outcome{State: checkout.JobDone})
}

func settledFenced(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	giveBack(t, s, lease(t, s, opened(1).Events[0].ID))
	l := lease(t, s, opened(1).Events[0].ID)
	unknown := l
	unknown.Job.ID, unknown.Token = "none", 1
	decide := func(c checkout.Checkout) (checkout.Change, error) {
		t.Error("decide is called for a job that is not the caller's")
		return checkout.Change{Next: c}, nil
	}
	unchanged(t, s, func() {
		for _, lost := range []checkout.Lease{{Job: l.Job, Token: 1}, {Job: l.Job}, {Job: l.Job, Token: 3}, unknown} {
			for _, state := range []checkout.JobState{checkout.JobPending, checkout.JobDone, checkout.JobDead} {
				o := checkout.Outcome{State: state, Attempts: 3, Moments: []checkout.Moment{moment(checkout.MomentEventFailed, 3)}}
				refused(t, "Settle", s.Settle(t.Context(), lost, o, pending(), nil), ports.ErrNotFound)
				refused(t, "Settle with a change", s.Settle(t.Context(), lost, o, pending(), decide), ports.ErrNotFound)
			}
		}
	})
	settle(t, s, l, checkout.Outcome{State: checkout.JobDone, Attempts: 1})
	refused(t, "Settle with a change when it is settled", s.Settle(t.Context(), l, checkout.Outcome{State: checkout.JobDone}, pending(), decide), ports.ErrNotFound)
}

func concurrentSettlements(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	l := lease(t, s, opened(1).Events[0].ID)
	errs := concurrently(many, func(i int) error {
		decide := deciding(func(c checkout.Checkout) checkout.Change {
			c.Setup.Try++
			return checkout.Change{Next: c}
		})
		if i%2 == 0 {
			decide = nil
		}
		return s.Settle(t.Context(), l, checkout.Outcome{State: checkout.JobDead, Attempts: i + 1}, pending(), decide)
	})
	winner := oneWins(t, "Settle", errs, ports.ErrNotFound)
	r := exported(t, s, 1)
	same(t, "attempts", r.Jobs[0].Attempts, winner+1)
	same(t, "changes", r.Checkout.Setup.Try, winner%2)
}

func concurrentDecisions(t *testing.T, s ports.Admin) {
	c := opened(1)
	for i := range many - 1 {
		c.Events = append(c.Events, event(c.Next, events.Name(fmt.Sprint("event.", i))))
	}
	hold(t, s, c, leaseFor)
	decide := deciding(func(c checkout.Checkout) checkout.Change {
		c.Setup.Try++
		return checkout.Change{Next: c, Moments: []checkout.Moment{moment(checkout.MomentPressed, 5)}}
	})
	allSucceed(t, "Settle or UpdateCheckout", 2*many, func(i int) error {
		if i < many {
			return s.Settle(t.Context(), checkout.Lease{Job: checkout.DeliveryOf(c.Events[i]), Token: 1}, checkout.Outcome{State: checkout.JobDone}, pending(), decide)
		}
		return s.UpdateCheckout(t.Context(), c.Next.ID, pending(), decide)
	})
	r := exported(t, s, 1)
	same(t, "decisions on record", r.Checkout.Setup.Try, 2*many)
	same(t, "moments", len(r.Moments), 1+2*many)
	for i, m := range r.Moments {
		same(t, "position", m.Position, i+1)
	}
	same(t, "pending", len(jobs(t, s, checkout.JobFilter{State: checkout.JobPending})), 0)
}

func removed(t *testing.T, s ports.Admin) {
	byHeader, byDefault := reserved(1), reserved(2)
	byDefault.Next.IdempotencyKey = checkout.DefaultKey(byDefault.Next.ProviderCode, byDefault.Next.OrderID)
	for i, reservation := range []checkout.Change{byHeader, byDefault} {
		c, n := reservation.Next, i+1
		for round := range 2 {
			insert(t, s, reservation)
			addJobs(t, s, n, job(c, checkout.JobNotify, 1))
			refused(t, "a second reservation", s.InsertCheckout(t.Context(), reservation, pending()), ports.ErrDuplicate)
			if round == 0 {
				change(t, s, n, checkout.Change{Remove: true})
			} else { // by the settlement of one of its jobs
				o := checkout.Outcome{State: checkout.JobDone, Moments: []checkout.Moment{moment(checkout.MomentCRMDone, 1)}}
				must(t, "Settle", s.Settle(t.Context(), lease(t, s, reservation.Jobs[0].ID), o, pending(), func(c checkout.Checkout) (checkout.Change, error) {
					return checkout.Change{Next: c, Remove: true}, nil
				}))
			}
			missing(t, "Checkout")(s.Checkout(t.Context(), c.ID))
			missing(t, "FindCheckout by order")(s.FindCheckout(t.Context(), byOrder(c.ProviderCode, c.OrderID)))
			missing(t, "FindCheckout by key")(s.FindCheckout(t.Context(), byKey(c.ProviderCode, c.IdempotencyKey)))
			refused(t, "UpdateCheckout", s.UpdateCheckout(t.Context(), c.ID, pending(), func(checkout.Checkout) (checkout.Change, error) {
				return checkout.Change{}, errors.New("decide is called for a checkout that was removed")
			}), ports.ErrNotFound)
			same(t, "jobs", len(jobs(t, s, checkout.JobFilter{})), 0)
			same(t, "leased", len(leases(t, s, nil)), 0)
			same(t, "moments", len(moments(t, s, c.ID)), 0)
			settled := s.Settle(t.Context(), checkout.Lease{Job: reservation.Jobs[0], Token: 1}, checkout.Outcome{State: checkout.JobDone}, pending(), nil)
			refused(t, "Settle", settled, ports.ErrNotFound)
		}
	}
	same(t, "record", len(export(t, s).Checkouts), 0)
}
