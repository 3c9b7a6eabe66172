package storetest

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file has the words in which the cases say what they do with jobs.

const (
	// leaseFor is shorter than checkout.MaxLease by more than any case lets pass.
	leaseFor = 10 * time.Second
	// briefly is a lease that a case lets end.
	briefly = 200 * time.Millisecond
)

func enqueue(t *testing.T, s ports.Admin, jobs ...checkout.Job) []checkout.Job {
	t.Helper()
	return result(s.Enqueue(t.Context(), jobs))(t)
}

// addJobs stores jobs with a change of checkout number n.
func addJobs(t *testing.T, s ports.Admin, n int, jobs ...checkout.Job) {
	t.Helper()
	change(t, s, n, checkout.Change{Jobs: jobs})
}

// jobs returns the jobs that a filter admits, without times of the store's clock.
func jobs(t *testing.T, s ports.Admin, f checkout.JobFilter) []checkout.JobRecord {
	t.Helper()
	return timeless(checkout.CheckoutRecord{Jobs: result(s.Jobs(t.Context(), f, 1<<20))(t)}).Jobs
}

// jobOf returns the record of a job, without times of the store's clock.
func jobOf(t *testing.T, s ports.Admin, id string) checkout.JobRecord {
	t.Helper()
	list := jobs(t, s, checkout.JobFilter{ID: id})
	if len(list) != 1 {
		t.Fatalf("%d jobs have the id %s, want 1", len(list), id)
	}
	return list[0]
}

func jobIDs(list []checkout.Job) (ids []string) {
	for _, j := range list {
		ids = append(ids, j.ID)
	}
	return ids
}

func recordIDs(list []checkout.JobRecord) (ids []string) {
	for _, r := range list {
		ids = append(ids, r.Job.ID)
	}
	return ids
}

// entering returns the jobs of a change, its events first.
func entering(c checkout.Change) (all []checkout.Job) {
	for _, e := range c.Events {
		all = append(all, checkout.DeliveryOf(e))
	}
	return append(all, c.Jobs...)
}

// waiting returns the record of a job that was never leased.
func waiting(j checkout.Job) checkout.JobRecord {
	return checkout.JobRecord{Job: j, State: checkout.JobPending}
}

// leases leases due jobs. Unless the query says otherwise it is for every job.
func leases(t *testing.T, s ports.Admin, ask func(*checkout.JobQuery)) []checkout.Lease {
	t.Helper()
	q := checkout.JobQuery{Now: timeOf(s), For: leaseFor, Kinds: checkout.JobKinds(), Limit: 1 << 20}
	if ask != nil {
		ask(&q)
	}
	return result(s.Lease(t.Context(), q))(t)
}

func leasedJobs(t *testing.T, s ports.Admin, ask func(*checkout.JobQuery)) (list []checkout.Job) {
	t.Helper()
	for _, l := range leases(t, s, ask) {
		list = append(list, l.Job)
	}
	return list
}

// leaseIf leases the job if it is due.
func leaseIf(t *testing.T, s ports.Admin, id string) []checkout.Lease {
	t.Helper()
	return leases(t, s, func(q *checkout.JobQuery) { q.ID = id })
}

// lease leases the job, which is due.
func lease(t *testing.T, s ports.Admin, id string) checkout.Lease {
	t.Helper()
	list := leaseIf(t, s, id)
	if len(list) != 1 || list[0].Job.ID != id {
		t.Fatalf("Lease of %s: got %+v, want the job", id, list)
	}
	return list[0]
}

// notDue reports if the job is due, which it is not any more then.
func notDue(t *testing.T, s ports.Admin, what, id string) {
	t.Helper()
	if list := leaseIf(t, s, id); len(list) > 0 {
		t.Errorf("%s: got the lease %+v, want none", what, list)
	}
}

func giveBack(t *testing.T, s ports.Admin, l checkout.Lease) {
	t.Helper()
	must(t, "Extend by 0", s.Extend(t.Context(), l, timeOf(s), 0))
}

// dueIn returns a job of the service's own that is due in a while.
func dueIn(n int, d time.Duration) checkout.Job {
	j := work(n)
	j.Due = j.CreatedAt.Add(d)
	return j
}

// hold stores what a create stores, its events and its jobs for the CRM leased to the caller.
func hold(t *testing.T, s ports.Admin, c checkout.Change, d time.Duration) {
	t.Helper()
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, checkout.JobEntry{Now: timeOf(s), Hold: d}))
}

func settle(t *testing.T, s ports.Admin, l checkout.Lease, o checkout.Outcome) {
	t.Helper()
	must(t, "Settle "+l.Job.ID, s.Settle(t.Context(), l, o, checkout.JobEntry{Now: timeOf(s)}, nil))
}

// settleEvent leases and settles the first event of a checkout.
func settleEvent(t *testing.T, s ports.Admin, c checkout.Change, o checkout.Outcome) {
	t.Helper()
	settle(t, s, lease(t, s, c.Events[0].ID), o)
}

// deciding returns a decision for a change of the checkout.
func deciding(f func(checkout.Checkout) checkout.Change) func(checkout.Checkout) (checkout.Change, error) {
	return func(c checkout.Checkout) (checkout.Change, error) { return f(c), nil }
}

func hasten(t *testing.T, s ports.Admin, id string) {
	t.Helper()
	must(t, "HastenJob", s.HastenJob(t.Context(), id, moment(checkout.MomentOperated, 9), *operation(1)))
}

// failed returns the outcome of attempts that are used up.
func failed() checkout.Outcome {
	return checkout.Outcome{State: checkout.JobDead, Attempts: 3, Failure: checkout.Failure{At: at(5), Reason: "answered 500"}}
}
