package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// queue is the jobs.
type queue struct {
	all     []*job // in the order in which they entered
	byID    map[string]*job
	of      map[string][]*job // by checkout id, in the order in which they entered
	entered int64             // jobs so far
}

// job is a job with its lease. Due of the record is the time of the next attempt.
type job struct {
	checkout.JobRecord
	until    time.Time // the end of the lease; zero where it was given back
	position int64     // from 1 on, in the order in which the jobs entered
}

// record returns what is on record.
func (j *job) record() checkout.JobRecord { return j.Shown(j.until) }

// leased reports whether the job has a lease at a time. A lease that ends too far ahead was set by a wrong clock.
func (j *job) leased(now time.Time) bool {
	return j.until.After(now) && !j.until.After(now.Add(checkout.MaxLease))
}

// ready reports whether the time of the job has come. A time too far ahead was set by a wrong clock.
func (j *job) ready(now time.Time) bool {
	return !j.Due.After(now) || j.Due.After(now.Add(j.Job.Kind.LongestPause(j.Attempts)+checkout.MaxLease))
}

// since returns the time from which on the job has been due.
func (j *job) since(now time.Time) time.Time {
	if j.until.After(j.Due) && !j.until.After(now) {
		return j.until
	}
	return j.Due
}

// due reports whether the job may be leased.
func (q *queue) due(j *job, now time.Time) bool {
	return j.State == checkout.JobPending && j.ready(now) && !j.leased(now) && !q.blocked(j, now)
}

// blocked reports whether another pending job of its kind and checkout comes before the job: before an event an event that entered
// before it, and before a notice a job that entered before it and is due, or any that is leased.
func (q *queue) blocked(j *job, now time.Time) bool {
	if j.Job.Kind != checkout.JobDeliver && j.Job.Kind != checkout.JobNotify {
		return false
	}
	before := true
	for _, o := range q.of[j.Job.CheckoutID] {
		switch {
		case o == j:
			before = false
		case o.Job.Kind != j.Job.Kind, o.State != checkout.JobPending:
		case j.Job.Kind != checkout.JobDeliver && o.leased(now), before && (j.Job.Kind == checkout.JobDeliver || o.ready(now)):
			return true
		}
	}
	return false
}

// duplicates returns ErrDuplicate if an event has an id that is taken, or a name that its checkout has had.
func (q *queue) duplicates(evs []events.Event) error {
	for i, e := range evs {
		same := func(o events.Event) bool {
			return o.ID == e.ID || o.CheckoutID == e.CheckoutID && o.Name == e.Name
		}
		named := slices.ContainsFunc(q.of[e.CheckoutID], func(j *job) bool {
			return j.Job.Kind == checkout.JobDeliver && same(j.Job.Event())
		})
		if has(q.byID, e.ID) || named || slices.ContainsFunc(evs[:i], same) {
			return fmt.Errorf("event %s of checkout %s: %w", e.Name, e.CheckoutID, ports.ErrDuplicate)
		}
	}
	return nil
}

// add adds a job at a time, pending, and returns it; nil if its id is on record.
func (q *queue) add(given checkout.Job, at time.Time, clock func(time.Time) time.Time) *job {
	if has(q.byID, given.ID) {
		return nil
	}
	j := &job{JobRecord: checkout.JobRecord{Job: copyOf(given), State: checkout.JobPending, Due: stored(clock(at))}}
	if !given.Due.IsZero() {
		j.Due = j.Due.Add(stored(given.Due).Sub(j.Job.CreatedAt))
	}
	j.Job.Due = time.Time{}
	q.enter(j)
	return j
}

// enter has a job, whose id is not on record, enter behind all others.
func (q *queue) enter(j *job) {
	q.entered++
	j.position = q.entered
	q.byID[j.Job.ID] = j
	q.all = append(q.all, j)
	q.of[j.Job.CheckoutID] = append(q.of[j.Job.CheckoutID], j)
}

// addChange adds the events and the jobs of a change, none of whose events is on record.
func (q *queue) addChange(c checkout.Change, enqueue checkout.JobEntry, clock func(time.Time) time.Time) {
	hold := func(j *job) {
		if j != nil && enqueue.Hold > 0 {
			j.Token, j.until = 1, stored(clock(enqueue.Now).Add(enqueue.Hold))
		}
	}
	for _, e := range c.Events {
		j := q.add(checkout.DeliveryOf(e), enqueue.Now, clock)
		if enqueue.Unsent {
			j.State, j.SettledAt = checkout.JobDropped, stored(enqueue.Now)
			continue
		}
		hold(j)
	}
	for _, given := range c.Jobs {
		j := q.add(given, enqueue.Now, clock)
		if given.Kind == checkout.JobOpen || given.Kind == checkout.JobComplete {
			hold(j)
		}
	}
}

// remove removes the jobs of a checkout.
func (q *queue) remove(checkoutID string) {
	for _, j := range q.of[checkoutID] {
		delete(q.byID, j.Job.ID)
	}
	delete(q.of, checkoutID)
	q.all = slices.DeleteFunc(q.all, func(j *job) bool { return j.Job.CheckoutID == checkoutID })
}

// held returns the job of a lease; ErrNotFound if the lease was lost, or the job is not pending.
func (q *queue) held(l checkout.Lease) (*job, error) {
	j, ok := q.byID[l.Job.ID]
	if !ok || j.Token != l.Token || j.State != checkout.JobPending {
		return nil, fmt.Errorf("job %s with token %d: %w", l.Job.ID, l.Token, ports.ErrNotFound)
	}
	return j, nil
}

// Enqueue implements [ports.Queue].
func (s *Store) Enqueue(ctx context.Context, jobs []checkout.Job) ([]checkout.Job, error) {
	return read(ctx, s, func() (fresh []checkout.Job, err error) {
		for _, given := range jobs {
			if j := s.queue.add(given, given.CreatedAt, s.clock); j != nil {
				fresh = append(fresh, j.Job)
			}
		}
		return fresh, nil
	})
}

// Lease implements [ports.Queue].
func (s *Store) Lease(ctx context.Context, query checkout.JobQuery) ([]checkout.Lease, error) {
	now := stored(s.clock(query.Now))
	return read(ctx, s, func() (leases []checkout.Lease, err error) {
		var due []*job
		for _, j := range s.queue.all {
			if asked(query, j.Job) && s.queue.due(j, now) {
				due = append(due, j)
			}
		}
		slices.SortStableFunc(due, func(a, b *job) int { return a.since(now).Compare(b.since(now)) })
		of := map[checkout.Partition]int{}
		for _, j := range due {
			p := checkout.Partition{Kind: j.Job.Kind, ProviderCode: j.Job.ProviderCode}
			if len(leases) == query.Limit {
				break
			}
			if query.PerPartition > 0 && of[p] == query.PerPartition {
				continue
			}
			of[p]++
			j.Token++
			j.until = stored(now.Add(query.For))
			if j.Due.After(now) {
				j.Due = now
			}
			leases = append(leases, checkout.Lease{Job: j.Job, Token: j.Token, Attempts: j.Attempts, Cursor: j.Cursor,
				Until: stored(query.Now.Add(query.For))})
		}
		return leases, nil
	})
}

// asked reports whether the query is for jobs like this one.
func asked(q checkout.JobQuery, j checkout.Job) bool {
	return slices.Contains(q.Kinds, j.Kind) &&
		(q.ID == "" || q.ID == j.ID) &&
		(q.CheckoutID == "" || q.CheckoutID == j.CheckoutID) &&
		(q.ProviderCode == "" || q.ProviderCode == j.ProviderCode) &&
		!slices.Contains(q.Except, checkout.Partition{Kind: j.Kind, ProviderCode: j.ProviderCode})
}

// Extend implements [ports.Queue].
func (s *Store) Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error {
	return s.locked(ctx, func() error {
		j, err := s.queue.held(l)
		if err != nil {
			return err
		}
		now := s.clock(now)
		if j.until = stored(now.Add(d)); d == 0 {
			j.release(now)
		}
		return nil
	})
}

// release ends the lease of a job, which is due from a time on at the latest.
func (j *job) release(now time.Time) {
	j.until = time.Time{}
	if now := stored(now); j.Due.After(now) {
		j.Due = now
	}
}

// Settle implements [ports.Queue].
func (s *Store) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, enqueue checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return s.locked(ctx, func() error {
		j, err := s.queue.held(l)
		if err != nil {
			return err
		}
		if decide != nil {
			if err := s.update(j.Job.CheckoutID, enqueue, decide); err != nil {
				return err
			}
		}
		if !has(s.queue.byID, j.Job.ID) {
			return nil // the change removed the checkout
		}
		o := copyOf(o)
		j.JobRecord, j.until = j.Settled(o, stored(enqueue.Now)), time.Time{}
		if j.State == checkout.JobPending {
			j.Due = stored(s.clock(enqueue.Now).Add(o.Pause))
		}
		s.append(j.Job.CheckoutID, o.Moments...)
		return nil
	})
}

// Jobs implements [ports.Queue].
func (s *Store) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	return read(ctx, s, func() (list []checkout.JobRecord, err error) {
		for _, j := range s.queue.all {
			if j.admitted(f) {
				list = append(list, j.record())
			}
		}
		if f.CheckoutID == "" {
			slices.SortStableFunc(list, func(a, b checkout.JobRecord) int { return a.Job.CreatedAt.Compare(b.Job.CreatedAt) })
		}
		if !f.OldestFirst {
			slices.Reverse(list)
		}
		return list[:min(len(list), limit)], nil
	})
}

// admitted reports whether the filter admits the job.
func (j *job) admitted(f checkout.JobFilter) bool {
	since := stored(f.Since)
	return (f.ID == "" || f.ID == j.Job.ID) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, j.Job.Kind)) &&
		(f.State == "" || f.State == j.State) &&
		(f.ProviderCode == "" || f.ProviderCode == j.Job.ProviderCode) &&
		(!f.Settled || j.Job.Kind == checkout.JobDeliver && j.State != checkout.JobPending) &&
		(f.OrderID == "" || f.OrderID == j.Job.OrderID) &&
		(f.CheckoutID == "" || f.CheckoutID == j.Job.CheckoutID) &&
		!j.Job.CreatedAt.Before(stored(f.CreatedSince)) &&
		(!j.Job.CreatedAt.Before(since) || !j.Failure.At.Before(since))
}

// Backlog implements [ports.Queue].
func (s *Store) Backlog(ctx context.Context) (all map[checkout.JobKind]checkout.Backlog, err error) {
	all = map[checkout.JobKind]checkout.Backlog{}
	count := func(kind checkout.JobKind, at time.Time) {
		b := all[kind]
		if b.Waiting++; b.Waiting == 1 || at.Before(b.Oldest) {
			b.Oldest = at
		}
		all[kind] = b
	}
	err = s.locked(ctx, func() error {
		for _, j := range s.queue.all {
			if j.State == checkout.JobPending {
				count(j.Job.Kind, j.Job.CreatedAt)
			}
		}
		return nil
	})
	return all, err
}
