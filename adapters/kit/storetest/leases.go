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

// Leases tests a store against what ports.Queue promises about leases, except for their times: see [CallersClock] and [OwnClock].
func Leases(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a job has token 1 with its first lease, and the next with every other", leaseTokens},
		{"a lease that ends further ahead than any may is over", leaseTooLong},
		{"a job that is put off for longer than any of its kind is due, and no sooner", leasePutOffTooLong},
		{"a job of a change is due by the time at which that enters, whatever time the job has", func(t *testing.T, s ports.Admin) {
			c := opened(1)
			j := job(c.Next, checkout.JobNotify, 3)
			j.CreatedAt = now().Add(30 * time.Second)
			c.Jobs = []checkout.Job{j}
			insert(t, s, c)
			lease(t, s, j.ID)
		}},
		{"jobs that have been due for longest are leased first, up to the limit", leasesInOrder},
		{"a job whose lease has ended is due since then, behind jobs that were due before", leasesEndedLast},
		{"a job that is given back or hastened keeps its place", leasesInPlace},
		{"a query leases what is due of the kinds, the job and the provider that it names, and of no partition that it excepts", leasesAsked},
		{"of each partition no more is leased than the query says, so that one hides no other", leasesOfPartitions},
		{"events of one checkout are leased in the order in which they entered, one at a time; jobs of other kinds have no order", leasesOfCheckout},
		{"notices of one checkout are leased one at a time, and one that waits for its next attempt holds up no other", leasesOneByOne},
		{"of many concurrent leases of one job one gets it, and fences off the holders before", inOne(concurrentLeases)},
		{"many who lease at once get every job once", everyJobOnce},
		{"events and jobs for the CRM may enter leased to their committer until that is fenced off, and other jobs do not", leaseHeld},
		{"a lease is extended, or given back", leaseExtended},
		{"a holder extends its lease, even one that is over, until another has the job", leaseFenced},
		{"of many concurrent extensions that with the job's token succeeds", concurrentExtensions},
	})
}

// ChangedMeanwhile tests a store that looks for jobs before it changes them, in another transaction: it finds out what
// became of them between the two. lock begins a transaction that locks out other writers.
func ChangedMeanwhile(t *testing.T, open func(t *testing.T) (s ports.Admin, execute func(statement string)), lock string) {
	for _, tt := range []struct {
		name, change string
		call         func(t *testing.T, s ports.Admin)
	}{
		{"a job that is put off is not leased", `UPDATE jobs SET due_ms = due_ms + 60000`, func(t *testing.T, s ports.Admin) {
			same(t, "leased", len(leases(t, s, nil)), 0)
			same(t, "leases on record", jobOf(t, s, work(1).ID).Token, int64(0))
		}},
		{"a job that is settled is not hastened", `UPDATE jobs SET state = 'done', settled_ms = due_ms`, func(t *testing.T, s ports.Admin) {
			err := s.HastenJob(t.Context(), work(1).ID, moment(checkout.MomentOperated, 9), *operation(1))
			refused(t, "HastenJob", err, ports.ErrNotFound)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, execute := open(t)
			insert(t, s, checkout.Change{Next: opened(1).Next})
			enqueue(t, s, work(1))
			execute(lock)
			var call sync.WaitGroup
			call.Go(func() { tt.call(t, s) })
			time.Sleep(briefly) // it has looked, and waits to write
			execute(tt.change + `; COMMIT`)
			call.Wait()
		})
	}
}

func leaseTokens(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	id := opened(1).Events[0].ID
	for token := int64(1); token <= 3; token++ {
		l := lease(t, s, id)
		l.Until = time.Time{}
		same(t, "lease", l, checkout.Lease{Job: checkout.DeliveryOf(opened(1).Events[0]), Token: token})
		same(t, "on record", jobOf(t, s, id), checkout.JobRecord{Job: l.Job, State: checkout.JobPending, Token: token})
		giveBack(t, s, l)
	}
	same(t, "the other job", jobOf(t, s, opened(2).Events[0].ID).Token, int64(0))
}

func leaseTooLong(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	l := lease(t, s, work(1).ID)
	must(t, "Extend", s.Extend(t.Context(), l, now(), time.Hour))
	same(t, "token of the next", lease(t, s, work(1).ID).Token, int64(2))
	refused(t, "Extend of the holder that is fenced off", s.Extend(t.Context(), l, now(), 0), ports.ErrNotFound)

	held := opened(1)
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), held, checkout.JobEntry{Now: now(), Hold: time.Hour}))
	same(t, "token of the next", lease(t, s, held.Events[0].ID).Token, int64(2))
}

func leasePutOffTooLong(t *testing.T, s ports.Admin) {
	for _, kind := range checkout.JobKinds() {
		enqueue(t, s, checkout.Job{ID: string(kind) + ":1", Kind: kind, CreatedAt: now()})
	}
	for attempts := range 2 { // on record
		held := leases(t, s, nil)
		same(t, "due", len(held), len(checkout.JobKinds()))
		putOff := func(more time.Duration, made int) {
			for _, l := range held {
				settle(t, s, l, checkout.Outcome{State: checkout.JobPending, Attempts: made, Pause: l.Job.Kind.LongestPause(attempts) + more})
			}
		}
		putOff(0, attempts)
		same(t, "put off for as long as their kinds", len(leases(t, s, nil)), 0)
		putOff(checkout.MaxLease+time.Minute, 0)
	}
	same(t, "due after an attempt", len(leases(t, s, nil)), len(checkout.JobKinds()))
}

func leasesInOrder(t *testing.T, s ports.Admin) {
	enqueue(t, s, dueIn(1, -time.Hour), dueIn(2, -3*time.Hour), dueIn(3, -2*time.Hour), dueIn(4, time.Minute))
	all := []string{work(2).ID, work(3).ID, work(1).ID}
	for limit := range len(all) + 2 {
		got := leases(t, s, func(q *checkout.JobQuery) { q.Limit = limit })
		var ids []string
		for _, l := range got {
			ids = append(ids, l.Job.ID)
			settle(t, s, l, checkout.Outcome{State: checkout.JobDone})
		}
		same(t, fmt.Sprint("at most ", limit), ids, slices.Concat(all[:min(limit, len(all))]))
		all = all[min(limit, len(all)):]
	}
}

func leasesEndedLast(t *testing.T, s ports.Admin) {
	enqueue(t, s, dueIn(1, -time.Hour), dueIn(2, -time.Minute))
	must(t, "Extend", s.Extend(t.Context(), lease(t, s, work(1).ID), timeOf(s), briefly))
	pass(t, s, briefly)
	for _, id := range []string{work(2).ID, work(1).ID} {
		same(t, "leased", jobIDs(leasedJobs(t, s, func(q *checkout.JobQuery) { q.Limit = 1 })), []string{id})
	}
}

func leasesInPlace(t *testing.T, s ports.Admin) {
	enqueue(t, s, dueIn(1, -time.Hour), dueIn(2, -time.Minute))
	first := func(q *checkout.JobQuery) { q.Limit = 1 }
	giveBack(t, s, leases(t, s, first)[0])
	same(t, "leased when it was given back", jobIDs(leasedJobs(t, s, first)), []string{work(1).ID})
	hasten(t, s, work(1).ID)
	same(t, "leased when it was hastened", jobIDs(leasedJobs(t, s, first)), []string{work(1).ID})
}

func leasesAsked(t *testing.T, s ports.Admin) {
	rimu := otherProviders(2)
	insert(t, s, opened(1), rimu)
	notice, later := job(opened(1).Next, checkout.JobNotify, 1), job(opened(1).Next, checkout.JobNotify, 2)
	later.Due = now().Add(time.Hour)
	addJobs(t, s, 1, notice, later)
	enqueue(t, s, work(1), dueIn(2, time.Minute))
	except := func(list ...checkout.Partition) func(*checkout.JobQuery) {
		return func(q *checkout.JobQuery) { q.Except = list }
	}
	kowhais, rimus, own := opened(1).Events[0].ID, rimu.Events[0].ID, work(1).ID
	for _, tt := range []struct {
		name string
		ask  func(*checkout.JobQuery)
		want []string
	}{
		{"all", func(*checkout.JobQuery) {}, []string{kowhais, rimus, notice.ID, own}},
		{"of no kind", func(q *checkout.JobQuery) { q.Kinds = nil }, nil},
		{"of a kind", func(q *checkout.JobQuery) { q.Kinds = []checkout.JobKind{checkout.JobDeliver} }, []string{kowhais, rimus}},
		{"by id", func(q *checkout.JobQuery) { q.ID = rimus }, []string{rimus}},
		{"by id, due later", func(q *checkout.JobQuery) { q.ID = later.ID }, nil},
		{"by id, of another kind", func(q *checkout.JobQuery) { q.ID, q.Kinds = rimus, []checkout.JobKind{checkout.JobNotify} }, nil},
		{"of a checkout", func(q *checkout.JobQuery) { q.CheckoutID = opened(1).Next.ID }, []string{kowhais, notice.ID}},
		{"by id, of another checkout", func(q *checkout.JobQuery) { q.ID, q.CheckoutID = rimus, opened(1).Next.ID }, nil},
		{"of a provider", func(q *checkout.JobQuery) { q.ProviderCode = "KOWHAI" }, []string{kowhais, notice.ID}},
		{"but for a partition", except(checkout.Partition{Kind: checkout.JobDeliver, ProviderCode: "KOWHAI"}), []string{rimus, notice.ID, own}},
		{"but for three partitions", except(checkout.Partition{Kind: checkout.JobNotified}, checkout.Partition{Kind: checkout.JobDeliver},
			checkout.Partition{Kind: checkout.JobNotify, ProviderCode: "KOWHAI"}), []string{kowhais, rimus}},
	} {
		var got []string
		for _, l := range leases(t, s, tt.ask) {
			got = append(got, l.Job.ID)
			giveBack(t, s, l)
		}
		sameSet(t, tt.name, got, tt.want...)
	}
}

func leasesOfPartitions(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2), opened(3), otherProviders(4))
	addJobs(t, s, 1, job(opened(1).Next, checkout.JobNotify, 1))
	var of []string
	for _, j := range leasedJobs(t, s, func(q *checkout.JobQuery) { q.PerPartition = 2 }) {
		of = append(of, string(j.Kind)+" "+j.ProviderCode)
	}
	sameSet(t, "leased", of, "deliver KOWHAI", "deliver KOWHAI", "deliver RIMU", "notify KOWHAI")
	same(t, "the next of each", len(leases(t, s, func(q *checkout.JobQuery) { q.PerPartition = 2 })), 1)

	insert(t, s, opened(10), opened(11), opened(12), otherProviders(13))
	got := leasedJobs(t, s, func(q *checkout.JobQuery) { q.PerPartition, q.Limit = 1, 2 })
	sameSet(t, "leased within a limit of all", []string{got[0].ProviderCode, got[len(got)-1].ProviderCode}, "KOWHAI", "RIMU")
	addJobs(t, s, 2, job(opened(2).Next, checkout.JobLook, 1), job(opened(2).Next, checkout.JobLook, 2))
	ofCheckout := leasedJobs(t, s, func(q *checkout.JobQuery) { q.PerPartition, q.CheckoutID = 1, opened(2).Next.ID })
	same(t, "the jobs of one checkout, one of each partition", len(ofCheckout), 1)
}

func leasesOfCheckout(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Events = append(c.Events, event(c.Next, "zzz"), event(c.Next, "aaa"))
	early, late := job(c.Next, checkout.JobLook, 1), job(c.Next, checkout.JobLook, 2)
	c.Jobs = []checkout.Job{early, late}
	insert(t, s, c, opened(2))
	last := event(c.Next, "mmm")
	change(t, s, 1, checkout.Change{Events: []events.Event{last}})
	sameSet(t, "the first event of each checkout, and every look", jobIDs(leasedJobs(t, s, nil)), c.Events[0].ID, early.ID, late.ID, opened(2).Events[0].ID)
	for i, outcome := range []checkout.JobState{checkout.JobDead, checkout.JobDropped, checkout.JobDone} {
		of := append(c.Events, last)
		notDue(t, s, "an event behind one that is leased", of[i+1].ID)
		settle(t, s, checkout.Lease{Job: checkout.DeliveryOf(of[i]), Token: 1}, checkout.Outcome{State: outcome})
		same(t, "the next event", jobIDs(leasedJobs(t, s, nil)), []string{of[i+1].ID})
	}
	settle(t, s, checkout.Lease{Job: checkout.DeliveryOf(last), Token: 1}, checkout.Outcome{State: checkout.JobPending, Pause: time.Minute})
	change(t, s, 1, checkout.Change{Events: []events.Event{event(c.Next, "later")}})
	notDue(t, s, "an event behind one that is put off", event(c.Next, "later").ID)

	enqueue(t, s, workFrom(1, 3)...)
	own := func(q *checkout.JobQuery) { q.Kinds = []checkout.JobKind{work(1).Kind} }
	same(t, "leased of the service's own, which have no order", len(leases(t, s, own)), 3)
}

func leasesOneByOne(t *testing.T, s ports.Admin) {
	const kind = checkout.JobNotify
	c, other := opened(1), opened(2)
	for n := range 4 {
		c.Jobs = append(c.Jobs, job(c.Next, kind, n))
	}
	other.Jobs = []checkout.Job{job(other.Next, kind, 9)}
	insert(t, s, c, other)
	next := func(what string, want ...checkout.Job) []checkout.Lease {
		t.Helper()
		got := leases(t, s, func(q *checkout.JobQuery) { q.Kinds = []checkout.JobKind{kind} })
		var ids []checkout.Job
		for _, l := range got {
			ids = append(ids, l.Job)
		}
		sameSet(t, what, jobIDs(ids), jobIDs(want)...)
		return got
	}
	first := next("the first of each checkout", c.Jobs[0], other.Jobs[0])[0]
	if first.Job.ID == other.Jobs[0].ID {
		first = checkout.Lease{Job: c.Jobs[0], Token: 1}
	}
	next("while it is leased")
	settle(t, s, first, checkout.Outcome{State: checkout.JobPending, Attempts: 1, Pause: time.Hour})
	second := next("while the first waits for its next attempt", c.Jobs[1])[0]
	hasten(t, s, first.Job.ID)
	next("while one that entered later is leased")
	settle(t, s, second, checkout.Outcome{State: checkout.JobDone})
	first = next("the first again, before the next", c.Jobs[0])[0]
	giveBack(t, s, first)
	first = next("the first when its lease is over", c.Jobs[0])[0]
	for i, state := range []checkout.JobState{checkout.JobDropped, checkout.JobDead} {
		settle(t, s, first, checkout.Outcome{State: state})
		first = next("the next once it is settled", c.Jobs[2+i])[0]
	}
}

func concurrentLeases(t *testing.T, s processes) {
	enqueue(t, s[0], work(1))
	for round := int64(1); round <= 5; round++ {
		got := make([][]checkout.Lease, many)
		allSucceed(t, "Lease", many, func(i int) (err error) {
			q := checkout.JobQuery{Now: now(), For: leaseFor, Kinds: checkout.JobKinds(), ID: work(1).ID, Limit: 1}
			got[i], err = s[i%2].Lease(t.Context(), q)
			return err
		})
		all := slices.Concat(got...)
		if len(all) != 1 || all[0].Token != 2*round-1 {
			t.Fatalf("%d calls got the leases %+v, want one with token %d", many, all, 2*round-1)
		}
		winner := slices.IndexFunc(got, func(l []checkout.Lease) bool { return len(l) > 0 }) % 2
		settle(t, s[winner], all[0], checkout.Outcome{State: checkout.JobPending, Cursor: fmt.Sprint(round)})
		next := lease(t, s[1-winner], work(1).ID)
		same(t, "the other's cursor", next.Cursor, fmt.Sprint(round))
		err := s[winner].Settle(t.Context(), all[0], checkout.Outcome{State: checkout.JobDone}, pending(), nil)
		refused(t, "Settle of the one that is fenced off", err, ports.ErrNotFound)
		giveBack(t, s[1-winner], next)
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
			list, err := s.Lease(t.Context(), checkout.JobQuery{Now: now(), For: leaseFor, Kinds: checkout.JobKinds(), Limit: 7})
			if err != nil || len(list) == 0 {
				return err
			}
			for _, l := range list {
				if err := s.Settle(t.Context(), l, checkout.Outcome{State: checkout.JobDone}, pending(), nil); err != nil {
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

func leaseHeld(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Events = append(c.Events, event(c.Next, "second"))
	c.Jobs = []checkout.Job{job(c.Next, checkout.JobNotify, 1), job(c.Next, checkout.JobOpen, 1), job(c.Next, checkout.JobComplete, 1)}
	hold(t, s, c, leaseFor)
	same(t, "leased", jobIDs(leasedJobs(t, s, nil)), []string{c.Jobs[0].ID})
	held := []checkout.Job{checkout.DeliveryOf(c.Events[1]), checkout.DeliveryOf(c.Events[0]), c.Jobs[1], c.Jobs[2]}
	for _, j := range held { // whatever the order
		same(t, "token", jobOf(t, s, j.ID).Token, int64(1))
		settle(t, s, checkout.Lease{Job: j, Token: 1}, checkout.Outcome{State: checkout.JobDone, Attempts: 1})
	}
	insert(t, s, reserved(2))
	same(t, "token of a job that is not held", lease(t, s, reserved(2).Jobs[0].ID).Token, int64(1))

	hold(t, s, opened(3), briefly)
	pass(t, s, briefly)
	next := lease(t, s, opened(3).Events[0].ID)
	same(t, "token of the next", next.Token, int64(2))
	mine := checkout.Lease{Job: next.Job, Token: 1}
	refused(t, "Settle", s.Settle(t.Context(), mine, checkout.Outcome{State: checkout.JobDead}, pending(), nil), ports.ErrNotFound)
}

func leaseExtended(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	for range 2 {
		l := leases(t, s, func(q *checkout.JobQuery) { q.For = briefly })[0]
		must(t, "Extend", s.Extend(t.Context(), l, timeOf(s), leaseFor))
		pass(t, s, briefly)
		notDue(t, s, "a job whose lease was extended", work(1).ID)
		must(t, "Extend for less", s.Extend(t.Context(), l, timeOf(s), briefly))
		pass(t, s, briefly)
		l = lease(t, s, work(1).ID)
		giveBack(t, s, l)
	}
}

func leaseFenced(t *testing.T, s ports.Admin) {
	enqueue(t, s, work(1))
	first := lease(t, s, work(1).ID)
	giveBack(t, s, first)
	must(t, "Extend of a lease that is over", s.Extend(t.Context(), first, now(), leaseFor))
	notDue(t, s, "a job whose lease was extended late", work(1).ID)
	giveBack(t, s, first)
	l := lease(t, s, work(1).ID)
	unknown := l
	unknown.Job.ID = "none"
	for _, lost := range []checkout.Lease{first, unknown, {Job: l.Job}, {Job: l.Job, Token: 3}, {Job: l.Job, Token: -1}} {
		for _, d := range []time.Duration{0, leaseFor} {
			refused(t, fmt.Sprintf("Extend of %s with token %d", lost.Job.ID, lost.Token), s.Extend(t.Context(), lost, now(), d), ports.ErrNotFound)
			notDue(t, s, "the holder's job", work(1).ID)
		}
	}
	settle(t, s, l, checkout.Outcome{State: checkout.JobDone})
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
		return s.Extend(t.Context(), checkout.Lease{Job: l.Job, Token: int64(i)}, now(), leaseFor)
	})
	same(t, "token that extended", oneWins(t, "Extend", errs, ports.ErrNotFound), many/2)
}
