package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func queue() []promise {
	return []promise{
		{"a job is due from its time on, and not before", func(s *store) {
			change := opened(1)
			change.Jobs = []checkout.Job{change.Next.Job(checkout.JobLook, "", at(50).Add(600*time.Microsecond).In(nzdt), time.Minute)}
			s.insert(change)
			s.sameTime("due", s.record("look").Due, s.now().Add(time.Minute))
			s.dueIn(time.Minute, "look")
		}},
		{"a lease is over when it ends, and then another gets the job as a takeover", overInTime},
		{"an extended lease lasts from now on, also if it was over", func(s *store) {
			s.enqueue(pull())
			l := s.leaseOne("pull")
			for _, before := range []time.Duration{leaseFor / 2, leaseFor} {
				s.pass(before)
				s.must("Extend", s.Extend(s.Context(), l, leaseFor))
			}
			s.same("token of the next", s.dueIn(leaseFor, "pull").Token, int64(2))
		}},
		{"a pause counts from when it is settled", func(s *store) {
			s.insert(opened(1))
			l := s.leaseOne("sync")
			s.pass(leaseFor / 2)
			s.settle(l, checkout.Outcome{State: checkout.JobPending, Pause: time.Minute})
			s.sameTime("due", s.record("sync").Due, s.now().Add(time.Minute))
			s.dueIn(time.Minute, "sync")
		}},
		{"a job that is given back is due at once, and its next lease is no takeover", func(s *store) {
			s.enqueue(pull())
			l := s.leaseOne("pull")
			s.must("Extend", s.Extend(s.Context(), l, 0))
			s.same("due", s.record("pull").Due, time.Time{})
			l.Token++
			s.same("next lease", s.leaseOne("pull"), l)
		}},
		{"of many that lease at once one gets a job", leasesOnce},
		{"queued jobs are leased one at a time, in their order within checkout and kind", leasesInOrder},
		{"leases are bounded by kind, and the longest due come first", leasesByKind},
		{"jobs of a kind and provider that are left out are not leased", func(s *store) {
			s.insert(openedBy("KOWHAI", 1), openedBy("RIMU", 1), openedBy("TOTARA", 1))
			q := query(checkout.JobDeliver, checkout.JobSync)
			q.Except = []checkout.Queue{{Kind: checkout.JobDeliver, ProviderCode: "RIMU"}, {Kind: checkout.JobDeliver, ProviderCode: "KOWHAI"},
				{Kind: checkout.JobSync, ProviderCode: "TOTARA"}}
			var got []string
			for _, l := range get(s.Lease(s.Context(), q))(s) {
				got = append(got, string(l.Job.Kind)+" "+l.Job.ProviderCode)
			}
			s.same("leased", slices.Sorted(slices.Values(got)), []string{"deliver TOTARA", "sync KOWHAI", "sync RIMU"})
		}},
		{"where nothing is due nothing changes", func(s *store) {
			s.insert(opened(1))
			s.lease()
			s.unchanged(func() {
				s.same("leases", len(s.lease()), 0)
				s.same("without a limit", len(get(s.Lease(s.Context(), checkout.JobQuery{For: leaseFor}))(s)), 0)
			})
		}},
		{"a holder that has lost its lease settles and extends nothing", fenced},
		{"an outcome is stored: it adds its attempts, and keeps the failure on record unless it has one", settles},
	}
}

// clock has the promises of a store whose clock the test sets, back as well.
func clock() []promise {
	return []promise{
		{"a lease that ends further ahead than any may is over", func(s *store) {
			s.enqueue(pull())
			s.leaseOne("pull")
			s.pass(leaseFor - checkout.MaxLease)
			s.same("as far ahead as a lease may end", len(s.lease()), 0)
			s.pass(-time.Millisecond)
			s.same("further ahead", s.ids(s.lease()), []string{"pull"})
		}},
		{"a job that waits for longer than its kind may is due", func(s *store) {
			s.insert(opened(1))
			for kind, id := range map[checkout.JobKind]string{checkout.JobSync: "sync", checkout.JobDeliver: opened(1).Jobs[0].ID} {
				s.settle(s.leaseOne(id), checkout.Outcome{State: checkout.JobPending, Pause: time.Second})
				back := kind.LongestPause() + checkout.MaxLease - time.Second
				s.pass(-back)
				s.same(id+" as far ahead as it may be due", len(s.lease(kind)), 0)
				s.pass(-time.Millisecond)
				s.same(id+" further ahead", len(s.lease(kind)), 1)
				s.pass(back + time.Millisecond)
			}
		}},
	}
}

// leaseFor is the length of the suite's leases.
const leaseFor = 10 * time.Second

// query returns a query for all jobs of some kinds, or of all.
func query(kinds ...checkout.JobKind) checkout.JobQuery {
	if len(kinds) == 0 {
		kinds = checkout.JobKinds()
	}
	q := checkout.JobQuery{For: leaseFor, Limits: map[checkout.JobKind]int{}}
	for _, k := range kinds {
		q.Limits[k] = 1000
	}
	return q
}

// lease leases everything that is due of some kinds, or of all.
func (s *store) lease(kinds ...checkout.JobKind) []checkout.Lease {
	s.Helper()
	return get(s.Lease(s.Context(), query(kinds...)))(s)
}

// leaseOne leases a job, and what else of its kind is due, which it gives back.
func (s *store) leaseOne(id string) (found checkout.Lease) {
	s.Helper()
	for _, l := range s.lease(s.record(id).Kind) {
		if l.Job.ID == id {
			found = l
		} else {
			s.must("Extend", s.Extend(s.Context(), l, 0))
		}
	}
	if found.Job.ID == "" {
		s.Fatalf("job %s is not due: %+v", id, s.record(id))
	}
	return found
}

func (s *store) settle(l checkout.Lease, o checkout.Outcome) {
	s.Helper()
	s.must("Settle "+l.Job.ID, s.Settle(s.Context(), l, o))
}

func (s *store) done(l checkout.Lease) {
	s.Helper()
	s.settle(l, checkout.Outcome{State: checkout.JobDone})
}

// jobs returns the jobs that a filter admits.
func (s *store) jobs(f checkout.JobFilter) []checkout.JobRecord {
	s.Helper()
	return get(s.Jobs(s.Context(), f, 1000))(s)
}

// record returns the first job with an id.
func (s *store) record(id string) checkout.JobRecord {
	s.Helper()
	list := s.jobs(checkout.JobFilter{ID: id})
	if len(list) == 0 {
		s.Fatalf("there is no job %s", id)
	}
	return list[0]
}

// ids returns the sorted ids of leased jobs.
func (s *store) ids(leases []checkout.Lease) (ids []string) {
	for _, l := range leases {
		ids = append(ids, l.Job.ID)
	}
	return slices.Sorted(slices.Values(ids))
}

// dueIn leases a job after a time, and reports a job that is due before.
func (s *store) dueIn(d time.Duration, id string) checkout.Lease {
	s.Helper()
	s.pass(d - s.margin())
	s.same("due before its time", s.ids(s.another().lease(s.record(id).Kind)), []string(nil))
	s.pass(s.margin())
	return s.leaseOne(id)
}

func overInTime(s *store) {
	s.enqueue(pull())
	want := checkout.Lease{Job: pull(), Token: 1, For: leaseFor}
	want.Job.Position = checkout.FirstPosition(at(1))
	s.same("lease", s.leaseOne("pull"), want)
	s.sameTime("due", s.record("pull").Due, s.now().Add(leaseFor))
	want.Token = 2
	s.same("next lease", s.another().dueIn(leaseFor, "pull"), want)
}

func leasesOnce(s *store) {
	const jobs = 40
	for i := range jobs {
		s.insert(opened(i))
	}
	got := make([][]checkout.Lease, many)
	s.concurrently("Lease", many, nil, func(s *store, i int) (err error) {
		q := query()
		q.Limits[checkout.JobSync] = 5
		got[i], err = s.Lease(s.Context(), q)
		return err
	})
	all := slices.Concat(append(got, s.lease())...)
	s.same("leases", len(all), 2*jobs)
	for _, l := range all {
		s.same("token of "+l.Job.CheckoutID, l.Token, int64(1))
	}
}

func leasesInOrder(s *store) {
	s.insert(opened(1), opened(2))
	c, first, others := opened(1).Next, opened(1).Jobs[0].ID, opened(2).Jobs[0].ID
	second, third := event(c, "second", 2).ID, event(c, "third", 2).ID
	s.change(1, event(c, "second", 2), event(c, "third", 2), notice(c, 1), notice(c, 2))
	s.same("the first of each", s.ids(s.lease(checkout.JobDeliver, checkout.JobNotify)), []string{first, others, "ntc_1"})
	s.same("while they are leased", len(s.lease(checkout.JobDeliver, checkout.JobNotify)), 0)
	s.pass(leaseFor)
	s.settle(s.leaseOne(first), checkout.Outcome{State: checkout.JobPending, Pause: time.Minute})
	s.done(s.leaseOne(others))
	for _, next := range []struct {
		id    string
		state checkout.JobState
	}{{first, checkout.JobFailed}, {second, checkout.JobDropped}, {third, checkout.JobDone}} {
		s.pass(time.Minute)
		leases := s.lease(checkout.JobDeliver)
		s.same("due", s.ids(leases), []string{next.id})
		s.settle(leases[0], checkout.Outcome{State: next.state})
	}
}

func leasesByKind(s *store) {
	limits, got := map[checkout.JobKind]int{checkout.JobSync: 2, checkout.JobDeliver: 3}, map[checkout.JobKind][]string{}
	for i := range 5 {
		change := opened(i)
		change.Jobs[1] = later(change.Jobs[1], time.Duration(60-10*i)*time.Second)
		s.insert(change)
	}
	s.pass(time.Minute)
	for _, l := range get(s.Lease(s.Context(), checkout.JobQuery{For: leaseFor, Limits: limits}))(s) {
		got[l.Job.Kind] = append(got[l.Job.Kind], l.Job.CheckoutID)
	}
	s.same("the longest due", got[checkout.JobSync], []string{idOf("KOWHAI", 4), idOf("KOWHAI", 3)})
	s.same("kinds, and events", []int{len(got), len(got[checkout.JobDeliver])}, []int{2, 3})
}

func fenced(s *store) {
	s.insert(opened(1))
	lost := s.leaseOne("sync")
	s.pass(leaseFor)
	held := s.another().leaseOne("sync")
	never, unknown := held, held
	never.Token++
	unknown.Job.CheckoutID = opened(2).Next.ID
	o := checkout.Outcome{State: checkout.JobDone, Attempts: 1, Moments: []checkout.Moment{moment(checkout.MomentCRMRefused, 2)}}
	refused := func(leases ...checkout.Lease) {
		s.Helper()
		s.unchanged(func() {
			for i, l := range leases {
				s.refused(fmt.Sprint("Settle ", i), s.Settle(s.Context(), l, o), ports.ErrNotFound)
				s.refused(fmt.Sprint("Extend ", i), s.Extend(s.Context(), l, leaseFor), ports.ErrNotFound)
				s.refused(fmt.Sprint("give back ", i), s.Extend(s.Context(), l, 0), ports.ErrNotFound)
			}
		})
	}
	refused(lost, never, unknown)
	s.done(held)
	refused(lost, held)
	s.enqueue(syncOf(opened(1).Next, 3))
	refused(lost)
}

func settles(s *store) {
	s.insert(opened(1))
	want := checkout.JobRecord{Job: stored(opened(1)).Jobs[1]}
	var moments []checkout.Moment
	for i, state := range []checkout.JobState{checkout.JobPending, checkout.JobPending, checkout.JobPending, checkout.JobDone} {
		m := moment(checkout.MomentCRMRefused, 10+i)
		o := checkout.Outcome{State: state, Attempts: i, Cursor: fmt.Sprint("cursor ", i), Receipt: "250 ok", Moments: []checkout.Moment{m}}
		if i%2 == 1 {
			o.Failure = checkout.Failure{At: at(i).Add(time.Microsecond).In(nzdt), Reason: fmt.Sprint("Ō no ", i)}
			want.Failure = checkout.Failure{At: at(i), Reason: o.Failure.Reason}
		}
		s.settle(s.leaseOne("sync"), o)
		want.State, want.Attempts, want.Progress = state, want.Attempts+i, o.Cursor
		r := s.record("sync")
		if state == checkout.JobDone {
			s.sameTime("settled", r.SettledAt, s.now())
			want.Receipt = o.Receipt
		}
		want.Due, want.SettledAt = r.Due, r.SettledAt
		s.same(fmt.Sprint("record ", i), r, want)
		m.Position = checkout.FirstPosition(m.At)
		moments = append(moments, m)
	}
	s.same("moments", s.moments(1), moments)
	s.enqueue(pull())
	s.settle(s.leaseOne("pull"), checkout.Outcome{State: checkout.JobFailed})
	s.same("state of a job of the store", s.record("pull").State, checkout.JobFailed)
}
