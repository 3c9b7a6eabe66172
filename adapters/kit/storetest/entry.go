package storetest

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func entry() []promise {
	return []promise{
		{"with hold the caller gets the direct jobs that are due at once, in their order", holdsDirect},
		{"of concurrent changes that hold one armed job one gets it", holdsOnce},
		{"an event behind a pending event of an earlier change is not leased to the caller", func(s *store) {
			s.insert(opened(1))
			c := opened(1).Next
			s.same("behind a pending event", s.ids(s.change(1, event(c, "second", 2), syncOf(c, 2))), []string{"sync"})
			first := s.leaseOne(opened(1).Jobs[0].ID)
			s.same("behind a leased event", len(s.change(1, event(c, "third", 2))), 0)
			s.done(first)
			for _, id := range []string{event(c, "second", 2).ID, event(c, "third", 2).ID} {
				s.settle(s.leaseOne(id), checkout.Outcome{State: checkout.JobFailed})
			}
			s.same("behind settled events", s.ids(s.change(1, event(c, "fourth", 2))), []string{event(c, "fourth", 2).ID})
		}},
		{"an event without a destination enters as dropped", func(s *store) {
			change := opened(1)
			change.Jobs[0].Unsent = true
			s.same("leases", s.ids(get(s.InsertCheckout(s.Context(), change, leaseFor))(s)), []string{"sync"})
			r, want := s.record(change.Jobs[0].ID), stored(opened(1)).Jobs[0]
			s.sameTime("settled", r.SettledAt, s.now())
			r.SettledAt = time.Time{}
			s.same("record", r, checkout.JobRecord{Job: want, State: checkout.JobDropped})
			next := event(change.Next, "second", 2)
			s.same("the next event", s.ids(s.change(1, next)), []string{next.ID})
		}},
		{"a notice enters once by its id", func(s *store) {
			s.insert(opened(1), opened(2))
			n, again := notice(opened(1).Next, 1), notice(opened(1).Next, 1)
			again.Name, again.CreatedAt = "another", at(9)
			s.change(1, n)
			before := s.record(n.ID)
			s.change(1, again)
			s.same("pending", s.record(n.ID), before)
			s.done(s.leaseOne(n.ID))
			before = s.record(n.ID)
			s.change(1, again)
			s.same("settled", s.record(n.ID), before)
			s.change(2, notice(opened(2).Next, 1))
			s.same("of another checkout", len(s.lease(checkout.JobNotify)), 1)
		}},
		{"a notice makes the pending notices of its checkout due, and no others", func(s *store) {
			s.insert(opened(1), opened(2))
			s.change(1, notice(opened(1).Next, 1))
			s.change(2, notice(opened(2).Next, 2))
			for _, l := range s.lease(checkout.JobNotify) {
				s.settle(l, checkout.Outcome{State: checkout.JobPending, Pause: time.Hour, Attempts: 1})
			}
			s.change(1, notice(opened(1).Next, 3))
			leases := s.lease(checkout.JobNotify)
			s.same("due", s.ids(leases), []string{"ntc_1"})
			s.same("attempts", leases[0].Attempts, 1)
			s.done(leases[0])
			s.same("then", s.ids(s.lease(checkout.JobNotify)), []string{"ntc_3"})
		}},
	}
}

func arming() []promise {
	return []promise{
		{"a pending job that is armed is due at the earlier time, and is still the first", func(s *store) {
			change := opened(1)
			c := change.Next
			change.Jobs = []checkout.Job{later(syncOf(c, 1), time.Minute)}
			s.insert(change)
			s.change(1, later(syncOf(c, 2), 40*time.Second))
			s.change(1, later(syncOf(c, 2), 50*time.Second))
			l := s.dueIn(40*time.Second, "sync")
			want := stored(change).Jobs[0]
			want.Due = time.Time{}
			s.same("job", l.Job, want)
			o := checkout.Outcome{State: checkout.JobPending, Pause: time.Minute, Attempts: 1, Cursor: "5",
				Failure: checkout.Failure{At: at(2), Reason: "no"}}
			s.settle(l, o)
			leases := s.change(1, syncOf(c, 3))
			l.Token, l.Attempts, l.Cursor = 2, 1, "5"
			s.same("leases once it is armed at once", leases, []checkout.Lease{l})
			s.same("failure", s.record("sync").Failure, o.Failure)
		}},
		{"a leased job that is armed is not leased to the caller, and is due after its attempt, whatever the outcome", armsLeased},
		{"a settled job that is armed begins anew, with its token and cursor", armsSettled},
		{"a job of the store has one row, which is armed", func(s *store) {
			s.same("armed", s.enqueue(pull(), checkout.StoreJob(checkout.JobRetain, at(1))), 2)
			s.settle(s.leaseOne("pull"), checkout.Outcome{State: checkout.JobPending, Pause: time.Hour, Cursor: "page 2"})
			s.enqueue(pull())
			s.same("cursor", s.leaseOne("pull").Cursor, "page 2")
			s.same("jobs", len(s.jobs(checkout.JobFilter{})), 2)
		}},
		{"an event that failed and is enqueued is due at once, and its attempts go on until it is done", func(s *store) {
			s.insert(opened(1))
			e, want := opened(1).Jobs[0], stored(opened(1)).Jobs[0]
			failure := checkout.Failure{At: at(2), Reason: "410"}
			s.settle(s.leaseOne(e.ID), checkout.Outcome{State: checkout.JobFailed, Attempts: 3, Failure: failure})
			e.Body, e.Name, e.RequestID, e.CreatedAt = []byte("another"), "another", "req_another", at(9)
			s.same("armed", s.enqueue(e), 1)
			s.same("record", s.record(e.ID), checkout.JobRecord{Job: want, State: checkout.JobPending, Attempts: 3, Failure: failure})
			l := s.leaseOne(e.ID)
			s.same("lease", l, checkout.Lease{Job: want, Token: 2, Attempts: 3, For: leaseFor})
			s.same("armed under an attempt", s.enqueue(e), 1)
			s.settle(l, checkout.Outcome{State: checkout.JobDone, Attempts: 1})
			s.same("armed once it is done", s.enqueue(e), 0)
			r := s.record(e.ID)
			s.same("state and attempts", []any{r.State, r.Attempts}, []any{checkout.JobDone, 4})
		}},
		{"an unknown queued job, and a job of an unknown checkout, are left out", func(s *store) {
			s.insert(opened(1))
			known, unknown := opened(1).Next, opened(2).Next
			s.unchanged(func() {
				s.same("armed", s.enqueue(event(known, "unknown", 2), notice(known, 1), event(unknown, "unknown", 2), syncOf(unknown, 2)), 0)
			})
			s.same("armed", s.enqueue(event(known, "unknown", 2), known.Job(checkout.JobEnd, "", at(2), 0), syncOf(unknown, 2)), 1)
		}},
		{"an act is stored with the jobs that are enqueued, and also alone", func(s *store) {
			s.insert(opened(1))
			first, second := act(1), act(2)
			s.same("armed", get(s.Enqueue(s.Context(), nil, &first))(s), 0)
			s.same("armed", get(s.Enqueue(s.Context(), []checkout.Job{pull()}, &second))(s), 1)
			s.same("acts", s.acts(checkout.ActFilter{}), []checkout.Act{second, first})
		}},
		{"of concurrent calls that enqueue one job each arms it, and there is one", func(s *store) {
			s.insert(opened(1))
			s.concurrently("Enqueue", many, nil, func(s *store, i int) error {
				armed, err := s.Enqueue(s.Context(), []checkout.Job{pull(), opened(1).Next.Job(checkout.JobEnd, "", at(1), 0)}, nil)
				s.same("armed", armed, 2)
				return err
			})
			s.same("jobs", s.ids(s.lease()), []string{"end", opened(1).Jobs[0].ID, "pull", "sync"})
		}},
	}
}

// pull returns a job of the store.
func pull() checkout.Job { return checkout.StoreJob(checkout.JobPull, at(1)) }

// enqueue enqueues jobs, and returns how many were armed.
func (s *store) enqueue(jobs ...checkout.Job) int {
	s.Helper()
	return get(s.Enqueue(s.Context(), jobs, nil))(s)
}

// change stores jobs with a change of checkout number n, and returns the leases on them.
func (s *store) change(n int, jobs ...checkout.Job) []checkout.Lease {
	s.Helper()
	_, leases := s.updateHolding(leaseFor, s.read(n), func(c checkout.Checkout) checkout.Change {
		return checkout.Change{At: at(2), Next: c, Jobs: jobs}
	})
	return leases
}

// later returns the job due after a pause.
func later(j checkout.Job, pause time.Duration) checkout.Job {
	j.Due = j.CreatedAt.Add(pause)
	return j
}

func holdsDirect(s *store) {
	change := opened(1)
	c := change.Next
	change.Jobs = []checkout.Job{notice(c, 1), syncOf(c, 1), event(c, "first", 1), c.Job(checkout.JobLook, "", at(1), time.Minute),
		event(c, "second", 1), c.Job(checkout.JobEnd, "", at(1), 0)}
	leases := get(s.InsertCheckout(s.Context(), change, leaseFor))(s)
	numbered := stored(change).Jobs
	var want []checkout.Lease
	for _, j := range []checkout.Job{numbered[1], numbered[2], numbered[4]} {
		want = append(want, checkout.Lease{Job: j, Token: 1, For: leaseFor})
	}
	s.same("leases of the insert", leases, want)
	s.same("leased by another", s.ids(s.another().lease()), []string{"end", "ntc_1"})
	for _, l := range leases {
		s.done(l)
	}
	leases = s.change(1, event(c, "third", 2), later(syncOf(c, 2), time.Second))
	s.same("leases of the update", s.ids(leases), []string{event(c, "third", 2).ID})
}

func holdsOnce(s *store) {
	s.insert(opened(1))
	known := s.read(1)
	for _, l := range s.lease() {
		s.done(l)
	}
	s.concurrently("leases", 1, errNo, func(s *store, i int) error {
		_, leases, err := s.UpdateCheckout(s.Context(), known, leaseFor, deciding(func(c checkout.Checkout) checkout.Change {
			return checkout.Change{At: at(2), Next: c, Jobs: []checkout.Job{syncOf(c, 2)}}
		}))
		if err == nil && len(leases) == 0 {
			err = errNo
		}
		return err
	})
}

func armsLeased(s *store) {
	s.insert(opened(1))
	for i, state := range []checkout.JobState{checkout.JobDone, checkout.JobFailed, checkout.JobDropped, checkout.JobPending} {
		l := s.leaseOne("sync")
		s.same("token", l.Token, int64(i+1))
		s.same("leases of the change", len(s.change(1, syncOf(opened(1).Next, 2))), 0)
		s.same("due while it is leased", len(s.lease(checkout.JobSync)), 0)
		s.settle(l, checkout.Outcome{State: state, Cursor: "7", Pause: time.Hour})
		r := s.record("sync")
		s.same("state after "+string(state), r.State, checkout.JobPending)
		s.same("settled", r.SettledAt, time.Time{})
	}
	l := s.leaseOne("sync")
	s.same("cursor", l.Cursor, "7")
	s.done(l)
	s.same("state once it is not armed any more", s.record("sync").State, checkout.JobDone)
}

func armsSettled(s *store) {
	s.insert(opened(1))
	for i, state := range []checkout.JobState{checkout.JobDone, checkout.JobFailed, checkout.JobDropped} {
		cursor := fmt.Sprint("cursor ", i)
		s.settle(s.leaseOne("sync"), checkout.Outcome{State: state, Attempts: 3, Cursor: cursor, Receipt: "ok",
			Failure: checkout.Failure{At: at(2), Reason: "no"}})
		anew := later(syncOf(opened(1).Next, 10+i), time.Second)
		anew.RequestID = "req_anew"
		s.change(1, anew)
		r := s.record("sync")
		s.sameTime("due", r.Due, s.now().Add(time.Second))
		anew.Due, anew.Position, r.Due = time.Time{}, s.read(1).Revision*1000, time.Time{}
		s.same("after "+string(state), r, checkout.JobRecord{Job: anew, State: checkout.JobPending, Progress: cursor})
		s.pass(time.Second)
		l := s.leaseOne("sync")
		s.same("lease", l, checkout.Lease{Job: anew, Token: int64(2*i + 2), Cursor: cursor, For: leaseFor})
		s.must("Extend", s.Extend(s.Context(), l, 0))
	}
}
