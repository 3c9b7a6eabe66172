package storetest

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// CallersClock tests a store on which the clock of its callers decides when a job is due and when a lease is over.
func CallersClock(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a job is due from the very millisecond of its time, and not before", dueToTheMillisecond},
		{"a lease is over from the very millisecond of its end, and then another gets the job", overToTheMillisecond},
		{"a lease that ends further ahead than any may is over, to the millisecond", tooLongToTheMillisecond},
		{"a job that is due further ahead than any of its kind is due, to the millisecond, and then as if always", tooFarToTheMillisecond},
		{"jobs that a clock an hour ahead enters keep their order when it is right again", orderOfTooFar},
		{"leases, pauses and settlements count from the caller's time", timesOfCaller},
	})
}

// OwnClock tests a store whose own clock decides when a job is due and when a lease is over: callers whose clocks are wrong
// neither hold work back nor do it twice.
func OwnClock(t *testing.T, open Open) {
	for _, clock := range []struct {
		name string
		off  time.Duration
	}{{"an hour ahead", time.Hour}, {"an hour behind", -time.Hour}} {
		off := func(check func(*testing.T, ports.Admin, time.Duration)) func(*testing.T, ports.Admin) {
			return func(t *testing.T, s ports.Admin) { check(t, s, clock.off) }
		}
		run(t, open, []promise{
			{"work that a clock " + clock.name + " enters is due in time, and not before", off(entersInTime)},
			{"a lease by a clock " + clock.name + " lasts as long as it says, and then another gets the job", off(lastsInTime)},
			{"a pause by a clock " + clock.name + " lasts as long as it says", off(pausesInTime)},
		})
	}
}

// leaseAt leases the job at a time, if it is due, and returns its token; 0 if it is not.
func leaseAt(t *testing.T, s ports.Admin, id string, when time.Time, d time.Duration) (token int64) {
	t.Helper()
	for _, l := range leases(t, s, func(q *checkout.JobQuery) { q.ID, q.Now, q.For = id, when, d }) {
		if want := when.Add(d).UTC().Truncate(time.Millisecond); !l.Until.Equal(want) {
			t.Errorf("the lease ends at %v, want %v", l.Until, want)
		}
		token = l.Token
	}
	return token
}

// nzdt is the zone of callers that do not use UTC.
var nzdt = time.FixedZone("NZDT", 13*60*60)

func dueToTheMillisecond(t *testing.T, s ports.Admin) {
	j := checkout.Job{ID: "pull", Kind: checkout.JobPull, CreatedAt: at(1), Due: at(20).Add(999 * time.Microsecond).In(nzdt)}
	enqueue(t, s, j)
	same(t, "a millisecond before", leaseAt(t, s, j.ID, at(20).Add(-time.Millisecond), leaseFor), int64(0))
	same(t, "within that millisecond", leaseAt(t, s, j.ID, at(20).Add(-time.Nanosecond).In(nzdt), leaseFor), int64(0))
	same(t, "at its time", leaseAt(t, s, j.ID, at(20).In(nzdt), leaseFor), int64(1))

	j = checkout.Job{ID: "retain", Kind: checkout.JobRetain, CreatedAt: at(1)}
	enqueue(t, s, j)
	same(t, "without a time, when it was created", leaseAt(t, s, j.ID, at(1), leaseFor), int64(1))
}

func overToTheMillisecond(t *testing.T, s ports.Admin) {
	enqueue(t, s, checkout.Job{ID: "pull", Kind: checkout.JobPull, CreatedAt: at(1)})
	same(t, "first", leaseAt(t, s, "pull", at(20), leaseFor), int64(1))
	end := at(20).Add(leaseFor)
	same(t, "a millisecond before the end", leaseAt(t, s, "pull", end.Add(-time.Millisecond), leaseFor), int64(0))
	same(t, "within that millisecond", leaseAt(t, s, "pull", end.Add(-time.Nanosecond).In(nzdt), leaseFor), int64(0))
	same(t, "at the end", leaseAt(t, s, "pull", end.Add(999*time.Microsecond).In(nzdt), leaseFor), int64(2))
	same(t, "a millisecond before the next end", leaseAt(t, s, "pull", end.Add(leaseFor-time.Millisecond), leaseFor), int64(0))
	same(t, "at the next end", leaseAt(t, s, "pull", end.Add(leaseFor), leaseFor), int64(3))
}

func tooLongToTheMillisecond(t *testing.T, s ports.Admin) {
	enqueue(t, s, checkout.Job{ID: "pull", Kind: checkout.JobPull, CreatedAt: at(1)})
	same(t, "by a clock that is ahead", leaseAt(t, s, "pull", at(30), leaseFor), int64(1))
	end := at(30).Add(leaseFor)
	same(t, "when it ends as far ahead as a lease may", leaseAt(t, s, "pull", end.Add(-checkout.MaxLease), leaseFor), int64(0))
	same(t, "when it ends further ahead", leaseAt(t, s, "pull", end.Add(-checkout.MaxLease-time.Millisecond), leaseFor), int64(2))
}

func tooFarToTheMillisecond(t *testing.T, s ports.Admin) {
	enqueue(t, s, checkout.Job{ID: "reconcile", Kind: checkout.JobReconcile, CreatedAt: at(30)})
	first := at(30).Add(-checkout.JobReconcile.LongestPause(0) - checkout.MaxLease)
	same(t, "when it is due as far ahead as a job may be", leaseAt(t, s, "reconcile", first, leaseFor), int64(0))
	same(t, "when it is due further ahead", leaseAt(t, s, "reconcile", first.Add(-time.Millisecond), leaseFor), int64(1))
	same(t, "when that lease is over", leaseAt(t, s, "reconcile", first.Add(leaseFor), leaseFor), int64(2))
}

func orderOfTooFar(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Events = append(c.Events, event(c.Next, "later"))
	c.Jobs = []checkout.Job{job(c.Next, checkout.JobNotify, 1), job(c.Next, checkout.JobNotify, 2)}
	for i := range c.Jobs {
		c.Jobs[i].CreatedAt = at(59)
	}
	for i := range c.Events {
		c.Events[i].CreatedAt = at(59)
	}
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, checkout.JobEntry{Now: at(59)}))
	want := []string{c.Events[0].ID, c.Jobs[0].ID}
	sameSet(t, "leased", jobIDs(leasedJobs(t, s, func(q *checkout.JobQuery) { q.Now = at(3) })), want...)
}

func timesOfCaller(t *testing.T, s ports.Admin) {
	record := func(id string) checkout.JobRecord {
		t.Helper()
		list := result(s.Jobs(t.Context(), checkout.JobFilter{ID: id}, 1))(t)
		return list[0]
	}
	c := opened(1)
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, checkout.JobEntry{Now: at(20), Hold: leaseFor}))
	id := c.Events[0].ID
	same(t, "held until", record(id).Due, at(20).Add(leaseFor))
	l := checkout.Lease{Job: checkout.DeliveryOf(c.Events[0]), Token: 1}
	must(t, "Extend", s.Extend(t.Context(), l, at(20).Add(time.Second), leaseFor))
	same(t, "extended until", record(id).Due, at(20).Add(time.Second+leaseFor))
	put := checkout.Outcome{State: checkout.JobPending, Pause: time.Minute}
	must(t, "Settle", s.Settle(t.Context(), l, put, checkout.JobEntry{Now: at(21).In(nzdt)}, nil))
	same(t, "put off until", record(id).Due, at(21).Add(time.Minute))
	same(t, "too early", leaseAt(t, s, id, at(21).Add(time.Minute-time.Millisecond), leaseFor), int64(0))
	same(t, "in time", leaseAt(t, s, id, at(21).Add(time.Minute), leaseFor), int64(2))
	l.Token = 2
	must(t, "Settle", s.Settle(t.Context(), l, checkout.Outcome{State: checkout.JobDone}, checkout.JobEntry{Now: at(59)}, nil))
	same(t, "settled at", record(id).SettledAt, at(59))
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), opened(2), checkout.JobEntry{Now: at(21), Unsent: true}))
	same(t, "dropped at", record(opened(2).Events[0].ID).SettledAt, at(21))
}

// entersInTime enters work by a clock that is off.
func entersInTime(t *testing.T, s ports.Admin, off time.Duration) {
	wrong := timeOf(s).Add(off)
	c := opened(1)
	c.Events[0].CreatedAt = wrong
	look := job(c.Next, checkout.JobLook, 1)
	look.CreatedAt, look.Due = wrong, wrong.Add(time.Minute)
	c.Jobs = []checkout.Job{look}
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, checkout.JobEntry{Now: wrong}))
	soon := checkout.Job{ID: "pull", Kind: checkout.JobPull, CreatedAt: wrong}
	later := checkout.Job{ID: "retain", Kind: checkout.JobRetain, CreatedAt: wrong, Due: wrong.Add(briefly)}
	enqueue(t, s, soon, later)
	lease(t, s, soon.ID)
	lease(t, s, c.Events[0].ID)
	notDue(t, s, "a job of the next minute", look.ID)
	pass(t, s, briefly)
	lease(t, s, later.ID)
}

// lastsInTime leases by a clock that is off.
func lastsInTime(t *testing.T, s ports.Admin, off time.Duration) {
	wrong := func(q *checkout.JobQuery) { q.Now, q.Limit = timeOf(s).Add(off), 1 }
	enqueue(t, s, work(1))
	held := opened(1)
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), held, checkout.JobEntry{Now: timeOf(s).Add(off), Hold: leaseFor}))
	l := leases(t, s, wrong)
	same(t, "leased", len(l), 1)
	same(t, "leased by a right clock", len(leases(t, s, nil)), 0)
	same(t, "leased by a wrong clock", len(leases(t, s, wrong)), 0)
	must(t, "Extend", s.Extend(t.Context(), l[0], timeOf(s).Add(off), briefly))
	pass(t, s, briefly)
	same(t, "token of the next", lease(t, s, work(1).ID).Token, int64(2))
}

// pausesInTime settles by a clock that is off.
func pausesInTime(t *testing.T, s ports.Admin, off time.Duration) {
	enqueue(t, s, work(1))
	for _, again := range []time.Duration{0, briefly, time.Minute} {
		put := checkout.Outcome{State: checkout.JobPending, Pause: again}
		must(t, "Settle", s.Settle(t.Context(), lease(t, s, work(1).ID), put, checkout.JobEntry{Now: timeOf(s).Add(off)}, nil))
		if again > 0 {
			notDue(t, s, "a job that is put off", work(1).ID)
		}
		if again < time.Minute {
			pass(t, s, again)
		}
	}
	same(t, "leased by a wrong clock", len(leases(t, s, func(q *checkout.JobQuery) { q.Now = timeOf(s).Add(2 * off) })), 0)
}
