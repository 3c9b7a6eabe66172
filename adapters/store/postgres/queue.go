package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// nowMS is the time of the database in milliseconds, when it got the statement. The clocks of the processes decide nothing: one of
// them may be wrong.
const nowMS = `CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)`

var (
	insertEvent = `INSERT INTO @.jobs (` + sqlstore.Job.Names() + `, state, token, settled_ms, position, due_ms, leased_until_ms)
		VALUES (` + sqlstore.Job.Numbers(1) + `, $11, $12, $13, $14, ` + nowMS + ` + $15::bigint, ` + nowMS + ` + $16::bigint)`
	insertJob = insertEvent + ` ON CONFLICT (provider_code, checkout_id, id) DO NOTHING`

	lockJob   = `SELECT ` + sqlstore.JobRecord.Names() + ` FROM @.jobs` + ofJob + ` FOR UPDATE`
	settleJob = `UPDATE @.jobs SET due_ms = ` + nowMS + ` + $4::bigint, leased_until_ms = NULL,
		(` + sqlstore.Outcome.Names() + `) = (` + sqlstore.Outcome.Numbers(5) + `)` + ofJob

	// A job that another process is leasing, settling or extending is left to it.
	leaseJob = `UPDATE @.jobs SET leased_until_ms = ` + nowMS + ` + $4::bigint, token = token + 1` + ofJob + ` AND state = 'pending'
			AND due_ms <= ` + nowMS + ` AND (leased_until_ms IS NULL OR leased_until_ms <= ` + nowMS + ` OR leased_until_ms > ` + nowMS + ` + $5::bigint)
			AND id IN (SELECT id FROM @.jobs` + ofJob + ` FOR UPDATE SKIP LOCKED)
		RETURNING ` + sqlstore.JobRecord.Names()

	insertRedelivery = `INSERT INTO @.redeliveries (provider_code, event_id, position, ` + sqlstore.Redelivery.Names() + `)
		VALUES ($1, $2, $3, ` + sqlstore.Redelivery.Numbers(4) + `)`
)

const (
	ofJob         = ` WHERE provider_code = $1 AND checkout_id = $2 AND id = $3`
	extendJob     = `UPDATE @.jobs SET leased_until_ms = ` + nowMS + ` + $5::bigint` + ofJob + ` AND token = $4 AND state = 'pending'`
	giveBackJob   = `UPDATE @.jobs SET leased_until_ms = NULL, due_ms = least(due_ms, ` + nowMS + `)` + ofJob + ` AND token = $4 AND state = 'pending'`
	hastenJob     = `UPDATE @.jobs SET leased_until_ms = NULL, due_ms = least(due_ms, ` + nowMS + `)` + ofJob
	selectPending = `SELECT provider_code, checkout_id, id FROM @.jobs WHERE id = ? AND state = 'pending'`

	redeliverEvent      = `UPDATE @.jobs SET state = $4, failure = $5, failed_ms = $6` + ofJob
	selectRedeliveryEnd = `SELECT coalesce(max(position), 0), coalesce(max(sent_ms), 0) FROM @.redeliveries WHERE provider_code = $1 AND event_id = $2`
)

// queueJobs adds what enters the jobs of a change into the queue.
func (b *batch) queueJobs(l *locked, change checkout.Change, q checkout.Enqueue) error {
	if err := sqlstore.CheckEvents(change.Events); err != nil {
		return err
	}
	for _, e := range change.Events {
		if slices.Contains(l.events, e.ID) || slices.Contains(l.names, string(e.Name)) {
			return fmt.Errorf("event %s of checkout %s: %w", e.Name, e.CheckoutID, ports.ErrDuplicate)
		}
	}
	for _, job := range sqlstore.EnterAll(change, q) {
		l.job++
		b.queueJob(job, l.job)
	}
	return nil
}

func (b *batch) queueJob(e sqlstore.Entering, position int64) *pgx.QueuedQuery {
	row, statement := e.Row, insertJob
	if e.Event {
		statement = insertEvent
	}
	var lease any
	if e.Hold > 0 {
		row.Token, lease = 1, e.Hold.Milliseconds()
	}
	return b.queue(statement, append(sqlstore.Job.Values(&row.Job),
		string(row.State), row.Token, sqlstore.Millis(row.SettledAt), position, e.After.Milliseconds(), lease)...)
}

// Enqueue implements [ports.Queue]. If the outcome of an attempt is not known, a further one finds what that stored by the content.
func (db *DB) Enqueue(ctx context.Context, jobs []checkout.Job) (fresh []checkout.Job, err error) {
	given := distinct(jobs)
	if len(given) == 0 {
		return nil, nil
	}
	err = db.do(ctx, func(ctx context.Context, t *attempt) (err error) {
		fresh, err = t.enqueue(ctx, given)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("enqueue %d jobs: %w", len(jobs), err)
	}
	return fresh, nil
}

// jobKey is the key of a job.
type jobKey struct{ provider, checkout, id string }

func keyOf(j checkout.Job) jobKey { return jobKey{j.ProviderCode, j.CheckoutID, j.ID} }

// distinct returns the first job of each id.
func distinct(jobs []checkout.Job) (first []checkout.Job) {
	seen := make(map[jobKey]bool, len(jobs))
	for _, j := range jobs {
		if !seen[keyOf(j)] {
			seen[keyOf(j)] = true
			first = append(first, j)
		}
	}
	return first
}

// enqueue inserts in the order of the keys, so that two calls with the same ids do not deadlock. Each key comes once.
func (t *attempt) enqueue(ctx context.Context, given []checkout.Job) (fresh []checkout.Job, err error) {
	var ids []string // of checkouts
	for _, j := range given {
		if j.CheckoutID != "" {
			ids = append(ids, j.CheckoutID)
		}
	}
	position := map[string]*locked{}
	if len(ids) > 0 {
		found, err := t.lockAll(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			position[l.id] = l
		}
	}
	kept := map[jobKey]bool{}
	if t.outcomeUnknown {
		if kept, err = t.keptBefore(ctx, given); err != nil {
			return nil, err
		}
	}
	order := slices.SortedStableFunc(slices.Values(given), func(a, b checkout.Job) int {
		c := cmp.Or(cmp.Compare(a.ProviderCode, b.ProviderCode), cmp.Compare(a.CheckoutID, b.CheckoutID))
		if c == 0 && a.CheckoutID == "" { // the jobs of a checkout stay in the order in which they enter
			c = cmp.Compare(a.ID, b.ID)
		}
		return c
	})
	b := t.batch()
	for _, j := range order {
		at := int64(0)
		if l := position[j.CheckoutID]; l != nil {
			l.job++
			at = l.job
		}
		b.queueJob(sqlstore.Enter(j), at).Exec(func(tag pgconn.CommandTag) error {
			kept[keyOf(j)] = kept[keyOf(j)] || tag.RowsAffected() == 1
			return nil
		})
	}
	if err := t.commit(ctx, b); err != nil {
		return nil, err
	}
	for _, j := range given {
		if kept[keyOf(j)] {
			fresh = append(fresh, sqlstore.EnteredJob(j))
		}
	}
	return fresh, nil
}

// keptBefore returns the jobs that an earlier attempt stored: they are on record just as they are given, with the very millisecond
// in which this process made them.
func (t *attempt) keptBefore(ctx context.Context, given []checkout.Job) (map[jobKey]bool, error) {
	kept := map[jobKey]bool{}
	for _, j := range given {
		list, err := all(ctx, t, sqlstore.ScanJob, sqlstore.SelectJob, sqlstore.JobKey(j)...)
		if err != nil {
			return nil, err
		}
		entered := sqlstore.EnteredJob(j)
		kept[keyOf(j)] = len(list) == 1 && slices.EqualFunc(sqlstore.Job.Values(&entered), sqlstore.Job.Values(&list[0].Job), sameValue)
	}
	return kept, nil
}

func sameValue(a, b any) bool {
	x, isBytes := a.([]byte)
	if y, ok := b.([]byte); isBytes && ok {
		return string(x) == string(y)
	}
	return !isBytes && a == b
}

// due returns the dialect of the query for jobs that are due.
func (db *DB) due() sqlstore.DueDialect {
	return sqlstore.DueDialect{Now: nowMS, Lateral: true, Distributed: db.distributed, Pending: `e.kind = 'deliver' AND e.state = 'pending'`}
}

// Lease implements [ports.Queue]. What is due is found by a read, and leased by a second round trip: where nothing is due, nothing
// is written. If the outcome of that is not known, it cannot be known who has a lease: the jobs wait until it ends.
func (db *DB) Lease(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	if len(q.Kinds) == 0 {
		return nil, nil
	}
	statement, args := sqlstore.DueQuery(q, db.due())
	due, err := all(ctx, db, sqlstore.ScanDue, statement, args...)
	if err == nil && len(due) > 0 {
		due = sqlstore.Fair(q, due)
		err = db.do(ctx, func(ctx context.Context, t *attempt) (err error) {
			leases, err = t.lease(ctx, q, due)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("lease jobs: %w", err)
	}
	return leases, nil
}

func (t *attempt) lease(ctx context.Context, q checkout.JobQuery, due []sqlstore.DueJob) (leases []checkout.Lease, err error) {
	b := t.batch()
	for _, j := range due {
		b.queue(leaseJob, j.ProviderCode, j.CheckoutID, j.ID, q.For.Milliseconds(), checkout.MaxLease.Milliseconds()).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				row, err := sqlstore.ScanJob(rows)
				if err != nil {
					return err
				}
				leases = append(leases, row.Leased(q.Now.Add(q.For)))
			}
			return rows.Err()
		})
	}
	err = t.commit(ctx, b)
	return leases, err
}

// Extend implements [ports.Queue].
func (db *DB) Extend(ctx context.Context, l checkout.Lease, _ time.Time, d time.Duration) error {
	args := append(sqlstore.JobKey(l.Job), l.Token)
	statement := giveBackJob
	if d != 0 {
		statement, args = extendJob, append(args, d.Milliseconds())
	}
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		n, err := t.exec(ctx, statement, args...)
		if err == nil && n == 0 {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("extend the lease of job %s with token %d: %w", l.Job.ID, l.Token, err)
	}
	return nil
}

// Settle implements [ports.Queue]. It takes two round trips: one locks the checkout and the job, the other writes and commits. If the
// outcome of that is not known, a further attempt finds the outcome on record, because only the holder of the lease stores one.
func (db *DB) Settle(ctx context.Context, lease checkout.Lease, o checkout.Outcome, enqueue checkout.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var refusal error
	var wanted checkout.Change // of the latest attempt, like settled
	var settled sqlstore.JobRow
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		l, row := &locked{}, sqlstore.JobRow{}
		err := t.begin(ctx, func(b *batch) {
			switch {
			case decide != nil:
				l = b.lock(lease.Job.CheckoutID)
			case lease.Job.CheckoutID != "":
				l = b.lockJournal(lease.Job.CheckoutID)
			}
			b.queue(lockJob, sqlstore.JobKey(lease.Job)...).QueryRow(into(sqlstore.JobRecord, &row))
		})
		switch {
		case t.outcomeUnknown && wanted.Remove && errors.Is(err, ports.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("lock: %w", err)
		case t.outcomeUnknown && row.Token == lease.Token && row.Until.IsZero() &&
			slices.Equal(sqlstore.Outcome.Values(&row), sqlstore.Outcome.Values(&settled)):
			return nil
		case row.Token != lease.Token || row.State != checkout.JobPending:
			return ports.ErrNotFound
		}
		b := t.batch()
		if decide != nil {
			if wanted, refusal = l.decide(decide); refusal != nil {
				t.rollback(ctx) // nothing was written
				return t.proveAnswer(ctx, l.checkout)
			}
			if err := b.queueChange(l, wanted, enqueue); err != nil {
				return err
			}
		}
		if !wanted.Remove {
			settled = row.Settled(o, enqueue.Now)
			b.settle(lease.Job, settled, o)
			if l.id != "" {
				b.note(l, o.Moments)
			}
		}
		return t.commitUnless(ctx, b, func() (bool, error) { return t.taken(ctx, l, wanted) })
	})
	switch {
	case err != nil:
		return fmt.Errorf("settle job %s with token %d: %w", lease.Job.ID, lease.Token, err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// settle adds the statement that stores the outcome of an attempt at a job. Only a pending job is due at any time.
func (b *batch) settle(j checkout.Job, settled sqlstore.JobRow, o checkout.Outcome) {
	b.queue(settleJob, sqlstore.Outcome.Values(&settled, append(sqlstore.JobKey(j), o.Again.Milliseconds())...)...)
}

func scanJobKey(r sqlstore.Row) (j checkout.Job, err error) {
	err = r.Scan(&j.ProviderCode, &j.CheckoutID, &j.ID)
	return j, err
}

// HastenJob implements [ports.Operations]. If the outcome of an attempt is not known, a further one finds the entry of the evidence
// log that it stored.
func (db *DB) HastenJob(ctx context.Context, id string, m checkout.Moment, did evidence.Entry) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		if t.outcomeUnknown {
			if found, err := t.recorded(ctx, &did); found || err != nil {
				return err
			}
		}
		j, err := one(ctx, t, scanJobKey, selectPending, id)
		if err != nil {
			return err
		}
		var l *locked
		var row sqlstore.JobRow
		err = t.begin(ctx, func(b *batch) {
			l = b.lockJournal(j.CheckoutID)
			b.queue(lockJob, sqlstore.JobKey(j)...).QueryRow(into(sqlstore.JobRecord, &row))
		})
		if err == nil && row.State != checkout.JobPending {
			err = ports.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		b := t.batch()
		b.queue(hastenJob, sqlstore.JobKey(j)...)
		b.queueEvidence(&did)
		if l.id != "" {
			b.note(l, []checkout.Moment{m})
		}
		return t.commitUnless(ctx, b, func() (bool, error) { return t.recorded(ctx, &did) })
	})
	if err != nil {
		return fmt.Errorf("hasten job %s: %w", id, err)
	}
	return nil
}

// RecordRedelivery implements [ports.Deliveries]. If the outcome of its commit is not known and a further attempt finds a
// redelivery at the same millisecond, it takes it for its own.
func (db *DB) RecordRedelivery(ctx context.Context, e events.Event, r checkout.Redelivery, m checkout.Moment) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		key := sqlstore.JobKey(checkout.DeliveryOf(e))
		var l *locked
		var row sqlstore.JobRow
		var position, latest int64
		err := t.begin(ctx, func(b *batch) {
			l = b.lockJournal(e.CheckoutID)
			b.queue(lockJob, key...).QueryRow(into(sqlstore.JobRecord, &row))
			b.queue(selectRedeliveryEnd, e.ProviderCode, e.ID).QueryRow(func(r pgx.Row) error { return r.Scan(&position, &latest) })
		})
		if err != nil || t.outcomeUnknown && latest == r.At.UnixMilli() {
			return err
		}
		if row, err = row.Redelivered(r); err != nil {
			return err
		}
		b := t.batch()
		b.queue(redeliverEvent, append(key, string(row.State), row.Failure.Reason, sqlstore.Millis(row.Failure.At))...)
		b.queue(insertRedelivery, sqlstore.Redelivery.Values(&r, e.ProviderCode, e.ID, position+1)...)
		if l.id != "" {
			b.note(l, []checkout.Moment{m})
		}
		return t.commit(ctx, b)
	})
	if err != nil {
		return fmt.Errorf("record a redelivery of %s: %w", e.ID, err)
	}
	return nil
}
