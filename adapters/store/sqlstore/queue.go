package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// The indexes of the pending and of the dead jobs are each used where a SELECT names their state.
	selectHastened = `SELECT provider_code, checkout_id, id FROM @.jobs WHERE id = ? AND state = 'pending'
		UNION ALL SELECT provider_code, checkout_id, id FROM @.jobs WHERE id = ? AND state = 'dead'`
)

// enter adds what enters a job into the queue by a statement. A position is that of the job within its checkout.
func (s *Store) enter(b *Batch, statement string, j checkout.Job, position int64, q checkout.JobEntry, stored *int64) {
	state, token, settled := checkout.JobPending, 0, any(nil)
	var place, lease any
	switch j.Kind {
	case checkout.JobDeliver, checkout.JobOpen, checkout.JobComplete:
		if q.Unsent && j.Kind == checkout.JobDeliver {
			state, settled = checkout.JobDropped, Millis(q.Now)
		} else if q.Hold > 0 {
			token, lease = 1, s.dialect.at(q.Now, q.Hold)
		}
	}
	if s.dialect.Server {
		place = position
	}
	after := time.Duration(0)
	if !j.Due.IsZero() {
		after = j.Due.Sub(j.CreatedAt)
	}
	entered := q.Now
	if entered.IsZero() {
		entered = j.CreatedAt
	}
	due := s.dialect.at(entered, after)
	b.count(stored, statement, append(Job.Values(&j), string(state), token, settled, place, due, lease)...)
}

// entering is a job that enters the queue by itself.
type entering struct {
	checkout.Job
	stored int64 // 1 if its id was not on record
}

// Enqueue implements [ports.Queue]. If the outcome of an attempt is not known, a further one finds what that stored by the
// content.
func (s *Store) Enqueue(ctx context.Context, jobs []checkout.Job) (fresh []checkout.Job, err error) {
	var given []*entering // each key once
	seen := make(map[[3]string]bool, len(jobs))
	for _, j := range jobs {
		if key := [3]string{j.ProviderCode, j.CheckoutID, j.ID}; !seen[key] {
			seen[key] = true
			given = append(given, &entering{Job: j})
		}
	}
	if len(given) == 0 {
		return nil, nil
	}
	// In the order of the keys two calls with the same ids do not deadlock. The jobs of a checkout stay in the order in which
	// they enter.
	order := slices.SortedStableFunc(slices.Values(given), func(a, b *entering) int {
		c := cmp.Or(cmp.Compare(a.ProviderCode, b.ProviderCode), cmp.Compare(a.CheckoutID, b.CheckoutID))
		if c == 0 && a.CheckoutID == "" {
			c = cmp.Compare(a.ID, b.ID)
		}
		return c
	})
	err = s.Do(ctx, fmt.Sprintf("enqueue %d jobs", len(jobs)), func(ctx context.Context, t Tx) error {
		return s.enqueue(ctx, t, order)
	})
	if err != nil {
		return nil, err
	}
	for _, j := range given {
		if j.stored > 0 {
			fresh = append(fresh, entered(j.Job))
		}
	}
	return fresh, nil
}

// enqueue inserts the jobs. Where the store numbers them, it locks their checkouts first.
func (s *Store) enqueue(ctx context.Context, t Tx, order []*entering) error {
	var b Batch
	of := map[string]*locked{}
	for _, j := range order {
		if s.dialect.Server && j.CheckoutID != "" && of[j.CheckoutID] == nil {
			of[j.CheckoutID] = s.lockID(&b, j.CheckoutID)
			of[j.CheckoutID].readJobs(&b)
		}
	}
	if len(of) > 0 {
		if err := t.Lock(ctx, &b); err != nil {
			return err
		}
	}
	b = Batch{}
	for _, j := range order {
		if stored, err := j.storedBefore(ctx, t); stored || err != nil {
			if err != nil {
				return err
			}
			j.stored = 1
			continue
		}
		position := int64(0)
		if l := of[j.CheckoutID]; l != nil && l.found {
			l.job++
			position = l.job
		}
		s.enter(&b, s.statements.insertJob, j.Job, position, checkout.JobEntry{}, &j.stored)
	}
	return t.Commit(ctx, &b)
}

// storedBefore reports whether an earlier attempt stored the job: it is on record just as it is given, with the very
// millisecond in which this process made it.
func (j *entering) storedBefore(ctx context.Context, t Tx) (bool, error) {
	if !t.Again() {
		return false, nil
	}
	list, err := All(ctx, t, scanJob, selectJob, jobValues(j.Job)...)
	e := entered(j.Job)
	return len(list) == 1 && reflect.DeepEqual(Job.Values(&e), Job.Values(&list[0].Job)), err
}

// Lease implements [ports.Queue]. What is due is found by a read: where nothing is due, nothing is written. If the outcome of a
// commit is not known, it cannot be known who has a lease: the jobs wait until it ends.
func (s *Store) Lease(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	if len(q.Kinds) == 0 {
		return nil, nil
	}
	statement, args := s.dueQuery(q)
	due, err := All(ctx, s.engine, scanDue, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("look for jobs: %w", err)
	}
	if len(due) == 0 {
		return nil, nil
	}
	err = s.Do(ctx, "lease jobs", func(ctx context.Context, t Tx) error {
		leases = nil
		var b Batch
		at, now := s.dialect.at, s.dialect.at(q.Now, 0)
		for _, j := range fair(q, due) {
			key := jobValues(j.Job)
			Get(&b, scanJob, func(row JobRow) { leases = append(leases, row.leased(q.Now.Add(q.For))) }, s.statements.leaseJob,
				slices.Concat([]any{at(q.Now, q.For), now}, key, []any{now, now, now, now, at(q.Now, checkout.MaxLease)}, key)...)
		}
		return t.Commit(ctx, &b)
	})
	if err != nil {
		return nil, err
	}
	return leases, nil
}

// Extend implements [ports.Queue].
func (s *Store) Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error {
	statement, at := s.statements.extendJob, []any{s.dialect.at(now, d)}
	if d == 0 {
		statement, at = s.statements.hastenJob+` AND state = 'pending' AND token = ?`, []any{s.dialect.at(now, 0)}
	}
	doing := fmt.Sprintf("extend the lease of job %s with token %d", l.Job.ID, l.Token)
	return s.Do(ctx, doing, func(ctx context.Context, t Tx) error {
		var b Batch
		var n int64
		b.count(&n, statement, slices.Concat(at, jobValues(l.Job), []any{l.Token})...)
		if err := t.Commit(ctx, &b); err != nil || n == 1 {
			return err
		}
		return ports.ErrNotFound
	})
}

// Settle implements [ports.Queue]. If the outcome of a commit is not known, a further attempt finds the outcome on record,
// because only the holder of the lease stores one.
func (s *Store) Settle(ctx context.Context, lease checkout.Lease, o checkout.Outcome, enqueue checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var wanted checkout.Change // of the latest attempt, like settled
	var settled JobRow
	doing := fmt.Sprintf("settle job %s with token %d", lease.Job.ID, lease.Token)
	return s.Do(ctx, doing, func(ctx context.Context, t Tx) error {
		var b Batch
		l := &locked{}
		switch {
		case decide != nil:
			l = s.lock(&b, lease.Job.CheckoutID)
		case lease.Job.CheckoutID != "" && len(o.Moments) > 0:
			l = s.lockJournal(&b, lease.Job.CheckoutID)
		}
		row := s.lockJob(&b, lease.Job)
		switch err := t.Lock(ctx, &b); {
		case err != nil:
			return wrap(err, "lock")
		case t.Again() && wanted.Remove && !row.found:
			return nil
		case t.Again() && row.Token == lease.Token && row.Until.IsZero() &&
			slices.Equal(Outcome.Values(&row.JobRow), Outcome.Values(&settled)):
			return nil
		case !row.found || row.Token != lease.Token || row.State != checkout.JobPending || decide != nil && !l.found:
			return ports.ErrNotFound
		}
		b = Batch{}
		if decide != nil {
			var err error
			if wanted, err = s.change(ctx, t, &b, l, enqueue, decide, o.Moments...); err != nil {
				return err
			}
		}
		if !wanted.Remove {
			settled = JobRow{JobRecord: row.Settled(o, enqueue.Now)}
			again := s.dialect.at(enqueue.Now, o.Pause) // no job is due that is settled
			b.Write(s.statements.settleJob, slices.Concat([]any{again}, Outcome.Values(&settled), jobValues(lease.Job))...)
		}
		if decide == nil {
			b.note(l, o.Moments)
		}
		return t.Commit(ctx, &b)
	})
}

// lockedJob is a job whose row is locked.
type lockedJob struct {
	JobRow
	found bool
}

// lockJob adds the statement that locks and reads a job.
func (s *Store) lockJob(b *Batch, j checkout.Job) *lockedJob {
	row := &lockedJob{}
	Get(b, scanJob, func(r JobRow) { row.JobRow, row.found = r, true }, s.statements.lockJob, jobValues(j)...)
	return row
}

// HastenJob implements [ports.Operations].
func (s *Store) HastenJob(ctx context.Context, id string, m checkout.Moment, did checkout.Act) error {
	return s.Do(ctx, "hasten job "+id, func(ctx context.Context, t Tx) error {
		if err := once(t); err != nil {
			return err
		}
		j, err := One(ctx, t, Fields(func(j *checkout.Job) []any { return []any{&j.ProviderCode, &j.CheckoutID, &j.ID} }),
			selectHastened, id, id)
		if err != nil {
			return err
		}
		var b Batch
		l := s.lockJournal(&b, j.CheckoutID)
		row := s.lockJob(&b, j)
		err = t.Lock(ctx, &b)
		if err == nil && (!row.found || !row.Hastens()) {
			err = ports.ErrNotFound
		}
		if err != nil {
			return wrap(err, "lock")
		}
		b = Batch{}
		b.record(&did)
		b.Write(s.statements.hastenJob, slices.Concat([]any{s.dialect.at(m.At, 0)}, jobValues(j))...)
		b.note(l, []checkout.Moment{m})
		return t.Commit(ctx, &b)
	})
}
