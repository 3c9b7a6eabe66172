package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Jobs tests a store against what ports.Queue promises about the jobs on record: how they enter, and how they are read.
func Jobs(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a job comes back as it entered, its body byte for byte", jobComesBack},
		{"text comes back byte for byte, and ids that look alike are different jobs", jobText},
		{"times come back in UTC to the millisecond", jobTimes},
		{"the events of a change enter in their order, and then its jobs", jobsOfChange},
		{"events without a destination enter as dropped, and the other jobs do not", eventsDropped},
		{"a job that is on record enters no second time, whatever became of it", jobOnce},
		{"an id that comes twice in one call counts once, and fresh jobs are returned in the order given", func(t *testing.T, s ports.Admin) {
			enqueue(t, s, work(4), work(6))
			second := work(7)
			second.Name = "other"
			given := []checkout.Job{work(7), work(4), work(9), second, work(1), work(6), work(8), work(9), work(2)}
			same(t, "fresh", jobIDs(enqueue(t, s, given...)), jobIDs([]checkout.Job{work(7), work(9), work(1), work(8), work(2)}))
			same(t, "the first of an id", jobOf(t, s, work(7).ID).Job.Name, work(7).Name)
			same(t, "fresh of none", len(enqueue(t, s)), 0)
			same(t, "on record", len(jobs(t, s, checkout.JobFilter{})), 7)
		}},
		{"of many concurrent calls with the same ids in other orders one returns each", inOne(jobsEnterConcurrently)},
		{"of many concurrent changes with one job it enters once", jobOfConcurrentChanges},
		{"a reader sees all jobs of a call or none", jobsEnterAtOnce},
		{"of a call that is interrupted all jobs enter or none", jobsEnterInPart},
		{"jobs come the newest or the oldest first, up to the limit", jobsInOrder},
		{"jobs of one checkout come in the order in which they entered, whatever their times say", jobsOfOne},
		{"jobs are all that the filter says", jobsFiltered},
		{"jobs since a time are those that were created or failed latest at it or after it", jobsSince},
		{"the backlog counts pending jobs by kind, leased or not, with the time of the oldest", backlog},
	})
}

func jobComesBack(t *testing.T, s ports.Admin) {
	c := opened(1)
	full, bare := job(c.Next, checkout.JobNotify, 3), checkout.Job{ID: "retain", Kind: checkout.JobRetain, CreatedAt: at(3)}
	c.Jobs = []checkout.Job{full}
	insert(t, s, c)
	same(t, "fresh", enqueue(t, s, bare), []checkout.Job{bare})
	for _, j := range []checkout.Job{full, bare, checkout.DeliveryOf(c.Events[0])} {
		same(t, "on record", jobOf(t, s, j.ID), waiting(j))
		same(t, "leased", lease(t, s, j.ID).Job, j)
	}
	same(t, "the event of a job", jobOf(t, s, c.Events[0].ID).Job.Event(), c.Events[0])
}

func jobText(t *testing.T, s ports.Admin) {
	var all []checkout.Job
	for _, text := range oddTexts() {
		all = append(all, checkout.Job{ID: text, Kind: checkout.JobNotified, RequestID: text, Name: text, Body: []byte(text), CreatedAt: at(1)})
	}
	same(t, "fresh", enqueue(t, s, all...), all)
	same(t, "fresh again", len(enqueue(t, s, all...)), 0)
	for _, j := range all {
		same(t, "leased", lease(t, s, j.ID).Job, j)
	}
	c := opened(1)
	c.Events[0].Body = []byte("{\"a\" : 1e2,\r\n \"ā\":\"\\u0000\", \"a\u0304\": \"\u2028\"}\n\n")
	insert(t, s, c)
	same(t, "body", jobOf(t, s, c.Events[0].ID).Job.Body, c.Events[0].Body)
}

// oddTimes are times that a careless store changes.
func oddTimes() []time.Time {
	return []time.Time{
		time.Date(2027, time.January, 1, 0, 30, 0, 123_456_789, time.FixedZone("NZDT", 13*60*60)),
		time.Date(1969, time.July, 20, 20, 17, 40, 999_999, time.UTC),
		time.Date(9999, time.December, 31, 23, 59, 59, 999_999_999, time.UTC),
	}
}

func jobTimes(t *testing.T, s ports.Admin) {
	for i, when := range oddTimes() {
		j := work(i)
		j.CreatedAt = when
		enqueue(t, s, j)
		same(t, "created", jobOf(t, s, j.ID).Job.CreatedAt, when.UTC().Truncate(time.Millisecond))
	}
	// Times of the store's clock: a machine's clocks differ by less than a minute.
	later := work(10)
	later.Due = now().Add(time.Hour)
	enqueue(t, s, later, work(11))
	holdsFor := func(what string, got time.Time, want time.Duration) {
		t.Helper()
		if d := got.Sub(timeOf(s)) - want; d.Abs() > time.Minute {
			t.Errorf("%s: %v, want about %v from now on", what, got, want)
		}
	}
	due := func(id string) time.Time {
		list := result(s.Jobs(t.Context(), checkout.JobFilter{ID: id}, 1))(t)
		return list[0].Due
	}
	holdsFor("the first attempt", due(later.ID), time.Hour)
	l := lease(t, s, work(11).ID)
	holdsFor("the end of a lease", l.Until, leaseFor)
	holdsFor("the next attempt of a leased job", due(l.Job.ID), leaseFor)
	settle(t, s, l, checkout.Outcome{State: checkout.JobPending, Pause: 2 * time.Hour})
	holdsFor("the next attempt", due(l.Job.ID), 2*time.Hour)
	hasten(t, s, l.Job.ID)
	settle(t, s, lease(t, s, l.Job.ID), checkout.Outcome{State: checkout.JobDone})
	list := result(s.Jobs(t.Context(), checkout.JobFilter{ID: l.Job.ID}, 1))(t)
	holdsFor("settled", list[0].SettledAt, 0)
	same(t, "the next attempt of a settled job", list[0].Due, time.Time{})
	same(t, "a pending job was settled", list[0].SettledAt.IsZero(), false)
}

func jobsOfChange(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Events = append(c.Events, event(c.Next, "zzz"), event(c.Next, "aaa"), event(c.Next, "mmm"))
	c.Jobs = []checkout.Job{job(c.Next, checkout.JobNotify, 9), job(c.Next, checkout.JobLook, 3), job(c.Next, checkout.JobNotify, 1)}
	insert(t, s, c, opened(2))
	done := confirm(t, s, c.Next.ID, 1)
	var want []checkout.JobRecord
	for _, change := range []checkout.Change{c, done} {
		for _, j := range entering(change) {
			want = append(want, waiting(j))
		}
	}
	same(t, "jobs", exported(t, s, 1).Jobs, want)
	same(t, "jobs of the other checkout", len(exported(t, s, 2).Jobs), 1)
}

func eventsDropped(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Jobs = []checkout.Job{job(c.Next, checkout.JobNotify, 1)}
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, checkout.JobEntry{Now: now(), Unsent: true, Hold: leaseFor}))
	same(t, "state", jobOf(t, s, c.Events[0].ID).State, checkout.JobDropped)
	same(t, "leased", jobIDs(leasedJobs(t, s, nil)), jobIDs(c.Jobs))
	err := s.Settle(t.Context(), checkout.Lease{Job: checkout.DeliveryOf(c.Events[0]), Token: 1}, checkout.Outcome{State: checkout.JobDone}, pending(), nil)
	refused(t, "Settle of an event that is dropped", err, ports.ErrNotFound)
}

func jobOnce(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	for i, state := range []checkout.JobState{checkout.JobPending, checkout.JobDone, checkout.JobDead, checkout.JobDropped} {
		mine, own := job(opened(1).Next, checkout.JobLook, i), work(i)
		record := func() []checkout.JobRecord { return []checkout.JobRecord{jobOf(t, s, mine.ID), jobOf(t, s, own.ID)} }
		addJobs(t, s, 1, mine)
		enqueue(t, s, own)
		settle(t, s, lease(t, s, own.ID), checkout.Outcome{State: state, Pause: time.Minute, Attempts: 1})
		want := record()
		mine.Name, own.Name, mine.CreatedAt = "other", "other", at(9)
		addJobs(t, s, 1, mine)
		same(t, "fresh", len(enqueue(t, s, own)), 0)
		same(t, "on record", record(), want)
	}
	same(t, "leased of the service's own", len(leasedJobs(t, s, func(q *checkout.JobQuery) { q.Kinds = []checkout.JobKind{checkout.JobNotified} })), 0)
}

func nilIfEmpty[T any](list []T, err error) ([]T, error) {
	if len(list) == 0 {
		return nil, err
	}
	return list, err
}

func jobsEnterConcurrently(t *testing.T, s processes) {
	const calls, size = 8, 100
	returned := make([][]checkout.Job, calls)
	allSucceed(t, "Enqueue", calls, func(i int) (err error) {
		given := workFrom(0, size)
		given = append(given[i*size/calls:], given[:i*size/calls]...)
		if i%2 == 1 {
			slices.Reverse(given)
		}
		returned[i], err = s[i/2%2].Enqueue(t.Context(), given)
		return err
	})
	sameSet(t, "returned by one of the calls", jobIDs(slices.Concat(returned...)), jobIDs(workFrom(0, size))...)
	same(t, "on record", len(jobs(t, s[0], checkout.JobFilter{})), size)
}

func jobOfConcurrentChanges(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	allSucceed(t, "UpdateCheckout", 8, func(int) error {
		return s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			return checkout.Change{Next: c, Jobs: []checkout.Job{job(c, checkout.JobNotify, 1)}}, nil
		})
	})
	same(t, "notices", len(jobs(t, s, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobNotify}})), 1)
}

func jobsEnterAtOnce(t *testing.T, s ports.Admin) {
	const batches, size = 6, 250
	var entered sync.WaitGroup
	done := make(chan struct{})
	entered.Go(func() {
		defer close(done)
		for i := range batches {
			if _, err := s.Enqueue(t.Context(), workFrom(i*size, size)); err != nil {
				t.Errorf("Enqueue: %v", err)
			}
		}
	})
	defer entered.Wait()
	for {
		if n := len(jobs(t, s, checkout.JobFilter{})); n%size != 0 {
			t.Errorf("a reader sees %d jobs, want a multiple of %d", n, size)
		}
		select {
		case <-done:
			same(t, "on record", len(jobs(t, s, checkout.JobFilter{})), batches*size)
			return
		default:
		}
	}
}

func jobsEnterInPart(t *testing.T, s ports.Admin) {
	const calls, size = 20, 250
	for i := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
		_, err := s.Enqueue(ctx, workFrom(i*size, size))
		cancel()
		fresh := len(enqueue(t, s, workFrom(i*size, size)...))
		if fresh != 0 && (fresh != size || err == nil) {
			t.Errorf("a call that returned %v entered %d of %d jobs", err, size-fresh, size)
		}
	}
	same(t, "on record", len(jobs(t, s, checkout.JobFilter{})), calls*size)
}

func jobsInOrder(t *testing.T, s ports.Admin) {
	same(t, "of an empty store", len(jobs(t, s, checkout.JobFilter{})), 0)
	for _, n := range []int{3, 1, 2} { // ids do not sort in the order of their creation
		c := opened(n)
		c.Events[0].CreatedAt = at(10 - n)
		insert(t, s, c)
	}
	two := []events.Event{event(opened(3).Next, "zzz"), event(opened(3).Next, "aaa")}
	two[0].CreatedAt, two[1].CreatedAt = at(20), at(20)
	change(t, s, 3, checkout.Change{Events: two})
	want := []string{opened(3).Events[0].ID, opened(2).Events[0].ID, opened(1).Events[0].ID,
		two[0].ID, two[1].ID}
	for _, oldest := range []bool{true, false} {
		for limit := range len(want) + 2 {
			list := result(s.Jobs(t.Context(), checkout.JobFilter{OldestFirst: oldest}, limit))(t)
			same(t, fmt.Sprintf("at most %d, the oldest first: %v", limit, oldest), slices.Concat(recordIDs(list)), slices.Concat(want[:min(limit, len(want))]))
		}
		slices.Reverse(want)
	}
}

// jobsOfOne has events whose times go back: processes whose clocks are wrong made them.
func jobsOfOne(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	c := opened(1).Next
	want := []string{opened(1).Events[0].ID}
	for i, name := range []events.Name{events.CheckoutConfirmed, events.AgreementGenerated} {
		e := event(c, name)
		e.CreatedAt = at(-60 * i)
		change(t, s, 1, checkout.Change{Events: []events.Event{e}})
		want = append(want, e.ID)
	}
	for _, oldest := range []bool{true, false} {
		list := result(s.Jobs(t.Context(), checkout.JobFilter{CheckoutID: c.ID, OldestFirst: oldest}, 10))(t)
		same(t, fmt.Sprint("the oldest first: ", oldest), recordIDs(list), want)
		slices.Reverse(want)
	}
}

func jobsFiltered(t *testing.T, s ports.Admin) {
	rimu := otherProviders(4)
	insert(t, s, opened(1), opened(2), opened(3), rimu)
	settleEvent(t, s, opened(1), failed())
	settleEvent(t, s, opened(2), checkout.Outcome{State: checkout.JobDone, Attempts: 1})
	settleEvent(t, s, rimu, failed())
	addJobs(t, s, 3, job(opened(3).Next, checkout.JobNotify, 1))
	enqueue(t, s, work(1))
	kinds := func(kinds ...checkout.JobKind) []checkout.JobKind { return kinds }
	e1, e2, e3, e4 := opened(1).Events[0].ID, opened(2).Events[0].ID, opened(3).Events[0].ID, rimu.Events[0].ID
	notice := job(opened(3).Next, checkout.JobNotify, 1).ID
	for _, tt := range []struct {
		name   string
		filter checkout.JobFilter
		want   []string
	}{
		{"by id", checkout.JobFilter{ID: work(1).ID}, []string{work(1).ID}},
		{"by an id that does not exist", checkout.JobFilter{ID: "none"}, nil},
		{"dead", checkout.JobFilter{State: checkout.JobDead}, []string{e1, e4}},
		{"done", checkout.JobFilter{State: checkout.JobDone}, []string{e2}},
		{"pending events", checkout.JobFilter{State: checkout.JobPending, Kinds: kinds(checkout.JobDeliver)}, []string{e3}},
		{"of one kind", checkout.JobFilter{Kinds: kinds(checkout.JobNotify)}, []string{notice}},
		{"of two kinds", checkout.JobFilter{Kinds: kinds(checkout.JobNotify, checkout.JobNotified)}, []string{notice, work(1).ID}},
		{"of a provider", checkout.JobFilter{ProviderCode: "RIMU"}, []string{e4}},
		{"of an order", checkout.JobFilter{OrderID: opened(2).Next.OrderID}, []string{e2}},
		{"of a checkout", checkout.JobFilter{CheckoutID: opened(3).Next.ID}, []string{e3, notice}},
		{"dead of a provider since", checkout.JobFilter{State: checkout.JobDead, ProviderCode: "KOWHAI", Since: at(5)}, []string{e1}},
		{"an order of another provider", checkout.JobFilter{ProviderCode: "RIMU", OrderID: opened(2).Next.OrderID}, nil},
		{"an order that does not exist", checkout.JobFilter{OrderID: "none"}, nil},
	} {
		sameSet(t, tt.name, recordIDs(jobs(t, s, tt.filter)), tt.want...)
	}
}

// otherProviders returns checkout number n, of the provider RIMU.
func otherProviders(n int) checkout.Change { return ofProvider("RIMU", opened(n)) }

func jobsSince(t *testing.T, s ports.Admin) {
	late := opened(2)
	late.Events[0].CreatedAt = at(20)
	insert(t, s, opened(1), late) // the first was made at(1)
	since := func(what string, when time.Time, want ...string) {
		t.Helper()
		same(t, what, recordIDs(jobs(t, s, checkout.JobFilter{Since: when})), want)
	}
	first, second := opened(1).Events[0].ID, late.Events[0].ID
	since("the creation of the first", at(1), second, first)
	since("a millisecond later", at(1).Add(time.Millisecond), second)
	settleEvent(t, s, opened(1), checkout.Outcome{State: checkout.JobDead, Failure: checkout.Failure{At: at(30), Reason: "answered 500"}})
	since("its failure", at(30), first)
	same(t, "created since", recordIDs(jobs(t, s, checkout.JobFilter{CreatedSince: at(20)})), []string{second})
	since("a millisecond after its failure", at(30).Add(time.Millisecond))
}

func backlog(t *testing.T, s ports.Admin) {
	type byKind = map[checkout.JobKind]checkout.Backlog
	is := func(what string, want byKind) {
		t.Helper()
		got := result(s.Backlog(t.Context()))(t)
		same(t, what, maps.Collect(maps.All(got)), maps.Collect(maps.All(want)))
	}
	is("nothing stored", nil)
	aged := func(n, minute int) checkout.Change {
		c := opened(n)
		c.Events[0].CreatedAt = at(minute)
		return c
	}
	insert(t, s, aged(1, 5), aged(2, 3), aged(3, 4)) // the oldest is not the first that was stored
	notice := job(opened(1).Next, checkout.JobNotify, 1)
	addJobs(t, s, 1, notice)
	must(t, "InsertCheckout", s.InsertCheckout(t.Context(), aged(4, 1), checkout.JobEntry{Now: now(), Unsent: true}))
	all := byKind{checkout.JobDeliver: {Waiting: 3, Oldest: at(3)}, checkout.JobNotify: {Waiting: 1, Oldest: at(2)}}
	is("all pending", all)
	oldest := lease(t, s, opened(2).Events[0].ID)
	is("the oldest leased", all)
	settle(t, s, oldest, checkout.Outcome{State: checkout.JobDone, Attempts: 1})
	all[checkout.JobDeliver] = checkout.Backlog{Waiting: 2, Oldest: at(4)}
	is("the oldest delivered", all)
	settle(t, s, lease(t, s, notice.ID), checkout.Outcome{State: checkout.JobDropped})
	for _, n := range []int{1, 3} {
		settleEvent(t, s, opened(n), failed())
	}
	is("all settled", nil)
}
