package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Leases tests a store against what ports.Queue promises about leases.
func Leases(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a job has token 1 with its first lease, and the next with every other", leaseTokens},
		{"a job is not leased before its time", leaseDue},
		{"a leased job is leased again once the lease is over", leaseOver},
		{"a lease that ends further ahead than any may is over", leaseTooLong},
		{"jobs that have been due for longest are leased first, up to the limit", leasesInOrder},
		{"a query leases the kinds, the job and the provider that it names, and no partition that it excepts", leasesAsked},
		{"of each partition no more is leased than the query says, so that one hides no other", leasesOfPartitions},
		{"jobs of one kind and one checkout are leased in the order in which they entered, one at a time", leasesOfCheckout},
		{"of many concurrent leases of one job one gets it", concurrentLeases},
		{"many who lease at once get every job once", everyJobOnce},
		{"events and jobs for the CRM may enter leased to their committer, and the other jobs do not", leaseHeld},
		{"a committer that has lost its lease is fenced off", leaseHeldLost},
		{"a lease is extended, or given back", leaseExtended},
		{"a holder whose lease is over extends it until another has the job", leaseExtendedLate},
		{"a holder that is fenced off extends nothing", leaseFenced},
		{"of many concurrent extensions those with the job's token succeed", concurrentExtensions},
	})
}

const (
	// leaseFor is shorter than ports.MaxLease by more than a call takes.
	leaseFor = 10 * time.Second
	// briefly is a lease whose end a case waits for.
	briefly = 200 * time.Millisecond
)

// leases leases due jobs. Unless the query says otherwise it is for every job.
func leases(t *testing.T, s ports.Admin, ask func(*ports.JobQuery)) []ports.Lease {
	t.Helper()
	q := ports.JobQuery{Now: now(), For: leaseFor, Kinds: checkout.JobKinds(), Limit: 1 << 20}
	if ask != nil {
		ask(&q)
	}
	list, err := s.Lease(t.Context(), q)
	must(t, "Lease", err)
	return list
}

func leasedJobs(t *testing.T, s ports.Admin, ask func(*ports.JobQuery)) (list []checkout.Job) {
	t.Helper()
	for _, l := range leases(t, s, ask) {
		list = append(list, l.Job)
	}
	return list
}

// leaseIf leases the job if it is due.
func leaseIf(t *testing.T, s ports.Admin, id string) []ports.Lease {
	t.Helper()
	return leases(t, s, func(q *ports.JobQuery) { q.ID = id })
}

// lease leases the job, which is due.
func lease(t *testing.T, s ports.Admin, id string) ports.Lease {
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

func giveBack(t *testing.T, s ports.Admin, l ports.Lease) {
	t.Helper()
	must(t, "Extend by 0", s.Extend(t.Context(), l, now(), 0))
}

func leaseTokens(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	id := opened(1).Events[0].ID
	for token := int64(1); token <= 3; token++ {
		l := lease(t, s, id)
		l.Until = time.Time{}
		same(t, "lease", l, ports.Lease{Job: checkout.DeliveryOf(opened(1).Events[0]), Token: token})
		same(t, "on record", jobOf(t, s, id), ports.JobRecord{Job: l.Job, State: checkout.JobPending, Token: token})
		giveBack(t, s, l)
	}
	same(t, "the other job", jobOf(t, s, opened(2).Events[0].ID).Token, int64(0))
}

// dueIn returns a job of the service's own that is due in a while.
func dueIn(n int, d time.Duration) checkout.Job {
	j := work(n)
	j.Due = j.CreatedAt.Add(d)
	return j
}

func leaseDue(t *testing.T, s ports.Admin) {
	enqueue(t, s, dueIn(1, time.Hour), dueIn(2, -time.Hour), work(3), dueIn(4, briefly))
	insert(t, s, opened(1))
	look := job(opened(1).Next, checkout.JobLook, 1)
	look.CreatedAt, look.Due = now(), now().Add(time.Hour)
	addJobs(t, s, 1, look)
	notDue(t, s, "a job of the next hour", work(1).ID)
	notDue(t, s, "a change's job of the next hour", look.ID)
	lease(t, s, work(2).ID)
	lease(t, s, work(3).ID)
	time.Sleep(briefly + 10*time.Millisecond)
	lease(t, s, work(4).ID)
}

func leaseOver(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1), work(2))
	for token := int64(1); token <= 2; token++ {
		l := leases(t, s, func(q *ports.JobQuery) { q.ID, q.For = work(1).ID, briefly })
		if len(l) != 1 || l[0].Token != token {
			t.Fatalf("Lease: got %+v, want the job with token %d", l, token)
		}
		held := lease(t, s, work(2).ID)
		notDue(t, s, "a job that is leased", work(2).ID)
		giveBack(t, s, held)
		time.Sleep(briefly + 10*time.Millisecond)
	}
	lease(t, s, work(1).ID)
}

func leaseTooLong(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	l := lease(t, s, work(1).ID)
	must(t, "Extend", s.Extend(t.Context(), l, now(), time.Hour))
	same(t, "token of the next", lease(t, s, work(1).ID).Token, int64(2))
	refused(t, "Extend of the holder that is fenced off", s.Extend(t.Context(), l, now(), 0), ports.ErrNotFound)

	held := opened(1)
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), held, ports.Enqueue{Now: now(), Hold: time.Hour}))
	same(t, "token of the next", lease(t, s, held.Events[0].ID).Token, int64(2))
}

func leasesInOrder(t *testing.T, s ports.Admin) {
	enqueue(t, s, dueIn(1, -time.Hour), dueIn(2, -3*time.Hour), dueIn(3, -2*time.Hour), dueIn(4, time.Hour))
	all := []string{work(2).ID, work(3).ID, work(1).ID}
	for limit := range len(all) + 2 {
		got := leases(t, s, func(q *ports.JobQuery) { q.Limit = limit })
		var ids []string
		for _, l := range got {
			ids = append(ids, l.Job.ID)
			settle(t, s, l, ports.Outcome{State: checkout.JobDone})
		}
		same(t, fmt.Sprint("at most ", limit), ids, slices.Concat(all[:min(limit, len(all))]))
		all = all[min(limit, len(all)):]
	}
}

func leasesAsked(t *testing.T, s ports.Admin) {
	rimu := otherProviders(2)
	insert(t, s, opened(1), rimu)
	notice := job(opened(1).Next, checkout.JobNotify, 1)
	addJobs(t, s, 1, notice)
	enqueue(t, s, work(1))
	kowhais, rimus, own := opened(1).Events[0].ID, rimu.Events[0].ID, work(1).ID
	for _, tt := range []struct {
		name string
		ask  func(*ports.JobQuery)
		want []string
	}{
		{"all", func(*ports.JobQuery) {}, []string{kowhais, rimus, notice.ID, own}},
		{"of no kind", func(q *ports.JobQuery) { q.Kinds = nil }, nil},
		{"of a kind", func(q *ports.JobQuery) { q.Kinds = []checkout.JobKind{checkout.JobDeliver} }, []string{kowhais, rimus}},
		{"by id", func(q *ports.JobQuery) { q.ID = rimus }, []string{rimus}},
		{"by id, of another kind", func(q *ports.JobQuery) { q.ID, q.Kinds = rimus, []checkout.JobKind{checkout.JobNotify} }, nil},
		{"of a provider", func(q *ports.JobQuery) { q.ProviderCode = "KOWHAI" }, []string{kowhais, notice.ID}},
		{"but for a partition", func(q *ports.JobQuery) {
			q.Except = []ports.Partition{{Kind: checkout.JobDeliver, ProviderCode: "KOWHAI"}}
		},
			[]string{rimus, notice.ID, own}},
		{"but for three partitions", func(q *ports.JobQuery) {
			q.Except = []ports.Partition{{Kind: checkout.JobNotified}, {Kind: checkout.JobNotify, ProviderCode: "KOWHAI"}, {Kind: checkout.JobDeliver}}
		}, []string{kowhais, rimus}},
	} {
		var got []string
		for _, l := range leases(t, s, tt.ask) {
			got = append(got, l.Job.ID)
			giveBack(t, s, l)
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		same(t, tt.name, got, tt.want)
	}
}

func leasesOfPartitions(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2), opened(3), otherProviders(4))
	addJobs(t, s, 1, job(opened(1).Next, checkout.JobNotify, 1))
	of := map[ports.Partition]int{}
	for _, j := range leasedJobs(t, s, func(q *ports.JobQuery) { q.PerPartition = 2 }) {
		of[ports.Partition{Kind: j.Kind, ProviderCode: j.ProviderCode}]++
	}
	same(t, "leased", of, map[ports.Partition]int{
		{Kind: checkout.JobDeliver, ProviderCode: "KOWHAI"}: 2,
		{Kind: checkout.JobDeliver, ProviderCode: "RIMU"}:   1,
		{Kind: checkout.JobNotify, ProviderCode: "KOWHAI"}:  1,
	})
	same(t, "the next of each", len(leases(t, s, func(q *ports.JobQuery) { q.PerPartition = 2 })), 1)

	for n := range 4 { // the first three of one partition
		c := opened(10 + n)
		if n == 3 {
			c = otherProviders(10 + n)
		}
		insert(t, s, c)
	}
	var providers []string
	for _, j := range leasedJobs(t, s, func(q *ports.JobQuery) { q.PerPartition, q.Limit = 1, 2 }) {
		providers = append(providers, j.ProviderCode)
	}
	slices.Sort(providers)
	same(t, "leased within a limit of all", providers, []string{"KOWHAI", "RIMU"})
}

func leasesOfCheckout(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Events = append(c.Events, event(c.Next, "zzz"), event(c.Next, "aaa"))
	early := job(c.Next, checkout.JobNotify, 1)
	c.Jobs = []checkout.Job{early}
	insert(t, s, c, opened(2))
	last := event(c.Next, "mmm")
	update(t, s, c.Next.ID, func(c checkout.Checkout) checkout.Change {
		return checkout.Change{Next: c, Events: []events.Event{last}}
	})
	got := jobIDs(leasedJobs(t, s, nil))
	slices.Sort(got)
	want := []string{c.Events[0].ID, early.ID, opened(2).Events[0].ID}
	slices.Sort(want)
	same(t, "the first of each kind and checkout", got, want)
	for i, outcome := range []checkout.JobState{checkout.JobDead, checkout.JobDropped, checkout.JobDone} {
		of := append(c.Events, last)
		notDue(t, s, "an event behind one that is leased", of[i+1].ID)
		settle(t, s, ports.Lease{Job: checkout.DeliveryOf(of[i]), Token: 1}, ports.Outcome{State: outcome})
		same(t, "the next event", jobIDs(leasedJobs(t, s, nil)), []string{of[i+1].ID})
	}
	l := ports.Lease{Job: checkout.DeliveryOf(last), Token: 1}
	settle(t, s, l, ports.Outcome{State: checkout.JobPending, Again: time.Hour})
	update(t, s, c.Next.ID, func(c checkout.Checkout) checkout.Change {
		return checkout.Change{Next: c, Events: []events.Event{event(c, "later")}}
	})
	notDue(t, s, "an event behind one that is put off", event(c.Next, "later").ID)

	own := workFrom(1, 3)
	enqueue(t, s, own...)
	same(t, "leased of the service's own, which have no order", len(leases(t, s, nil)), 3)
}

func concurrentLeases(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	for round := int64(1); round <= 5; round++ {
		got := make([][]ports.Lease, many)
		allSucceed(t, "Lease", many, func(i int) (err error) {
			got[i], err = s.Lease(t.Context(), ports.JobQuery{Now: now(), For: leaseFor, Kinds: checkout.JobKinds(), ID: work(1).ID, Limit: 1})
			return err
		})
		all := slices.Concat(got...)
		if len(all) != 1 || all[0].Token != round {
			t.Fatalf("%d calls got the leases %+v, want one with token %d", many, all, round)
		}
		giveBack(t, s, all[0])
	}
}

func everyJobOnce(t *testing.T, s ports.Admin) {
	const workers, size = 6, 120
	enqueue(t, s, workFrom(0, size)...)
	for n := range 20 { // of which each holds the next one back
		c := opened(n)
		c.Events = append(c.Events, event(c.Next, "second"))
		insert(t, s, c)
	}
	var mu sync.Mutex
	var done []string
	allSucceed(t, "Lease and Settle", workers, func(int) error {
		for {
			list, err := s.Lease(t.Context(), ports.JobQuery{Now: now(), For: leaseFor, Kinds: checkout.JobKinds(), Limit: 7})
			if err != nil || len(list) == 0 {
				return err
			}
			for _, l := range list {
				if err := s.Settle(t.Context(), l, ports.Outcome{State: checkout.JobDone}, pending(), nil); err != nil {
					return err
				}
				mu.Lock()
				done = append(done, l.Job.ID)
				mu.Unlock()
			}
		}
	})
	for _, l := range leases(t, s, nil) { // that became due after the last worker had looked
		done = append(done, l.Job.ID)
	}
	slices.Sort(done)
	same(t, "leased", len(slices.Compact(slices.Clone(done))), len(done))
	same(t, "jobs", len(done), size+2*20)
}

// hold stores what a create stores, its events and its jobs for the CRM leased to the caller.
func hold(t *testing.T, s ports.Admin, c checkout.Change, d time.Duration) {
	t.Helper()
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, ports.Enqueue{Now: now(), Hold: d}))
}

func leaseHeld(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Events = append(c.Events, event(c.Next, "second"))
	c.Jobs = []checkout.Job{job(c.Next, checkout.JobNotify, 1), job(c.Next, checkout.JobOpen, 1), job(c.Next, checkout.JobComplete, 1)}
	hold(t, s, c, leaseFor)
	same(t, "leased", jobIDs(leasedJobs(t, s, nil)), []string{c.Jobs[0].ID})
	held := []checkout.Job{checkout.DeliveryOf(c.Events[1]), checkout.DeliveryOf(c.Events[0]), c.Jobs[1], c.Jobs[2]}
	for _, j := range held { // whatever the order
		same(t, "token", jobOf(t, s, j.ID).Token, int64(1))
		settle(t, s, ports.Lease{Job: j, Token: 1}, ports.Outcome{State: checkout.JobDone, Attempts: 1})
	}
	insert(t, s, reserved(2))
	same(t, "token of a job that is not held", jobOf(t, s, reserved(2).Jobs[0].ID).Token, int64(0))
	lease(t, s, reserved(2).Jobs[0].ID)
}

func leaseHeldLost(t *testing.T, s ports.Admin) {
	c := opened(1)
	hold(t, s, c, briefly)
	time.Sleep(briefly + 10*time.Millisecond)
	next := lease(t, s, c.Events[0].ID)
	same(t, "token of the next", next.Token, int64(2))
	mine := ports.Lease{Job: next.Job, Token: 1}
	refused(t, "Settle", s.Settle(t.Context(), mine, ports.Outcome{State: checkout.JobDead}, pending(), nil), ports.ErrNotFound)
	settle(t, s, next, ports.Outcome{State: checkout.JobDone})
}

func leaseExtended(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	for range 2 {
		l := leases(t, s, func(q *ports.JobQuery) { q.For = briefly })[0]
		must(t, "Extend", s.Extend(t.Context(), l, now(), leaseFor))
		time.Sleep(briefly + 10*time.Millisecond)
		notDue(t, s, "a job whose lease was extended", work(1).ID)
		must(t, "Extend for less", s.Extend(t.Context(), l, now(), briefly))
		time.Sleep(briefly + 10*time.Millisecond)
		l = lease(t, s, work(1).ID)
		giveBack(t, s, l)
	}
}

func leaseExtendedLate(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	l := lease(t, s, work(1).ID)
	giveBack(t, s, l)
	must(t, "Extend", s.Extend(t.Context(), l, now(), leaseFor))
	notDue(t, s, "a job whose lease was extended late", work(1).ID)
	giveBack(t, s, l)
	same(t, "token", lease(t, s, work(1).ID).Token, int64(2))
	refused(t, "Extend when another has it", s.Extend(t.Context(), l, now(), leaseFor), ports.ErrNotFound)
}

func leaseFenced(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1), work(2))
	giveBack(t, s, lease(t, s, work(1).ID))
	l := lease(t, s, work(1).ID)
	for _, token := range []int64{1, 0, 3, -1} {
		for _, d := range []time.Duration{0, leaseFor} {
			refused(t, fmt.Sprint("Extend with token ", token), s.Extend(t.Context(), ports.Lease{Job: l.Job, Token: token}, now(), d), ports.ErrNotFound)
			notDue(t, s, "the holder's job", work(1).ID)
		}
	}
	unknown := l
	unknown.Job.ID = "none"
	refused(t, "Extend of a job that does not exist", s.Extend(t.Context(), unknown, now(), leaseFor), ports.ErrNotFound)
	settle(t, s, l, ports.Outcome{State: checkout.JobDone})
	refused(t, "Extend of a job that is done", s.Extend(t.Context(), l, now(), leaseFor), ports.ErrNotFound)
	notDue(t, s, "a job that is done", work(1).ID)
}

func concurrentExtensions(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	for range many/2 - 1 {
		giveBack(t, s, lease(t, s, work(1).ID))
	}
	l := lease(t, s, work(1).ID)
	errs := concurrently(many, func(i int) error {
		return s.Extend(t.Context(), ports.Lease{Job: l.Job, Token: int64(i)}, now(), leaseFor)
	})
	same(t, "token that extended", oneWins(t, "Extend", errs, ports.ErrNotFound), many/2)
}
