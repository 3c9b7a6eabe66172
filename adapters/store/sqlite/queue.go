package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertEvent = `INSERT INTO jobs (` + sqlstore.Entered.Names() + `) VALUES (` + sqlstore.Entered.Marks() + `)`
	insertJob   = insertEvent + ` ON CONFLICT (provider_code, checkout_id, id) DO NOTHING`
	settleJob   = `UPDATE jobs SET (due_ms, leased_until_ms, ` + sqlstore.Outcome.Names() + `) = (?, NULL, ` + sqlstore.Outcome.Marks() + `)` + ofJob

	insertRedelivery = `INSERT INTO redeliveries (provider_code, event_id, position, ` + sqlstore.Redelivery.Names() + `)
		VALUES (?, ?, (SELECT count(*) + 1 FROM redeliveries WHERE provider_code = ? AND event_id = ?), ` + sqlstore.Redelivery.Marks() + `)`
)

const (
	ofJob          = ` WHERE provider_code = ? AND checkout_id = ? AND id = ?`
	selectEventOf  = `SELECT id FROM jobs WHERE provider_code = ? AND checkout_id = ? AND kind = 'deliver' AND name = ?`
	leaseJob       = `UPDATE jobs SET leased_until_ms = ?, token = token + 1` + ofJob
	extendJob      = `UPDATE jobs SET leased_until_ms = ?` + ofJob + ` AND token = ? AND state = 'pending'`
	releaseJob     = `UPDATE jobs SET leased_until_ms = NULL, due_ms = min(due_ms, ?)` + ofJob + ` AND state = 'pending'`
	selectPending  = `SELECT provider_code, checkout_id, id FROM jobs WHERE id = ? AND state = 'pending'`
	redeliverEvent = `UPDATE jobs SET state = ?, failure = ?, failed_ms = ?` + ofJob
)

// enter enters the jobs of a change into the queue. A new checkout has no events yet.
func (tx *tx) enter(ctx context.Context, change checkout.Change, q checkout.Enqueue, isNew bool) error {
	if err := sqlstore.CheckEvents(change.Events); err != nil {
		return err
	}
	for _, e := range change.Events {
		if isNew {
			break
		}
		switch named, err := all(ctx, tx, scanValue[string], selectEventOf, change.Next.ProviderCode, change.Next.ID, string(e.Name)); {
		case err != nil:
			return err
		case len(named) > 0:
			return fmt.Errorf("the checkout has an event %s: %w", e.Name, ports.ErrDuplicate)
		}
	}
	for _, job := range sqlstore.EnterAll(change, q) {
		if _, err := tx.enterOne(ctx, job, q.Now); err != nil {
			return fmt.Errorf("enqueue job %s: %w", job.Row.Job.ID, err)
		}
	}
	return nil
}

// enterOne reports whether it stored the job: its id was not on record.
func (tx *tx) enterOne(ctx context.Context, e sqlstore.Entering, now time.Time) (stored bool, err error) {
	row := e.Row
	row.Due = row.Job.CreatedAt.Add(e.After)
	if e.Hold > 0 {
		row.Token, row.Until = 1, now.Add(e.Hold)
	}
	if !e.Event {
		err := tx.execOne(ctx, insertJob, sqlstore.Entered.Values(&row)...)
		if errors.Is(err, ports.ErrNotFound) { // nothing was written
			return false, nil
		}
		return err == nil, err
	}
	_, err = tx.exec(ctx, insertEvent, sqlstore.Entered.Values(&row)...)
	return err == nil, err
}

// Enqueue implements [ports.Queue].
func (db *DB) Enqueue(ctx context.Context, jobs []checkout.Job) (fresh []checkout.Job, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	err = db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		fresh = nil
		for _, j := range jobs {
			stored, err := tx.enterOne(ctx, sqlstore.Enter(j), time.Time{})
			if err != nil {
				return fmt.Errorf("enqueue job %s: %w", j.ID, err)
			}
			if stored {
				fresh = append(fresh, sqlstore.EnteredJob(j))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

// dueDialect is the dialect of the query for jobs that are due. A sign before a column keeps the index of what is pending from being used to find the
// earlier jobs of a checkout.
var dueDialect = sqlstore.DueDialect{Now: `?`, Pending: `+e.kind = 'deliver' AND +e.state = 'pending'`}

// Lease implements [ports.Queue]. What is due is found by a connection that reads: where nothing is, nothing is written.
func (db *DB) Lease(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	if len(q.Kinds) == 0 {
		return nil, nil
	}
	statement, args := sqlstore.DueQuery(q, dueDialect)
	due, err := all(ctx, db.readers, sqlstore.ScanDue, statement, args...)
	if err == nil && len(due) > 0 {
		due = sqlstore.Fair(q, due)
		err = db.inTx(ctx, func(ctx context.Context, tx *tx) error {
			leases = nil
			for _, j := range due {
				l, err := tx.lease(ctx, q, j)
				if err != nil {
					return err
				}
				leases = append(leases, l...)
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("lease jobs: %w", err)
	}
	return leases, nil
}

// lease leases one job, if it is still due.
func (tx *tx) lease(ctx context.Context, q checkout.JobQuery, j sqlstore.DueJob) ([]checkout.Lease, error) {
	one := checkout.JobQuery{Now: q.Now, Kinds: []checkout.JobKind{j.Kind}, ID: j.ID, CheckoutID: j.CheckoutID, ProviderCode: j.ProviderCode}
	statement, args := sqlstore.DueQuery(one, dueDialect)
	due, err := all(ctx, tx, sqlstore.ScanDue, statement, args...)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	until := q.Now.Add(q.For)
	key := []any{j.ProviderCode, j.CheckoutID, j.ID}
	if err := tx.execOne(ctx, leaseJob, append([]any{until.UnixMilli()}, key...)...); err != nil {
		return nil, err
	}
	row, err := all(ctx, tx, sqlstore.ScanJob, sqlstore.SelectJob, key...)
	if err != nil {
		return nil, err
	}
	return []checkout.Lease{row[0].Leased(until)}, nil
}

// Extend implements [ports.Queue].
func (db *DB) Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error {
	statement, at := extendJob, now.Add(d)
	if d == 0 {
		statement = releaseJob + ` AND token = ?`
	} else {
		statement = extendJob
	}
	args := append([]any{at.UnixMilli()}, sqlstore.JobKey(l.Job)...)
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error { return tx.execOne(ctx, statement, append(args, l.Token)...) })
	if err != nil {
		return fmt.Errorf("extend the lease of job %s with token %d: %w", l.Job.ID, l.Token, err)
	}
	return nil
}

// Settle implements [ports.Queue].
func (db *DB) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, enqueue checkout.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		row, err := one(ctx, tx, sqlstore.ScanJob, sqlstore.SelectJob, sqlstore.JobKey(l.Job)...)
		if err == nil && (row.State != checkout.JobPending || row.Token != l.Token) {
			err = ports.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("settle job %s with token %d: %w", l.Job.ID, l.Token, err)
		}
		if decide != nil {
			if removed, err := tx.update(ctx, l.Job.CheckoutID, enqueue, decide); err != nil || removed {
				return err
			}
		}
		row = row.Settled(o, enqueue.Now)
		args := append([]any{row.Due.UnixMilli()}, sqlstore.Outcome.Values(&row)...)
		if _, err := tx.exec(ctx, settleJob, append(args, sqlstore.JobKey(l.Job)...)...); err != nil {
			return fmt.Errorf("settle job %s: %w", l.Job.ID, err)
		}
		if l.Job.CheckoutID == "" {
			return nil
		}
		return tx.note(ctx, l.Job.ProviderCode, l.Job.CheckoutID, o.Moments)
	})
}

func scanJobKey(r sqlstore.Row) (j checkout.Job, err error) {
	err = r.Scan(&j.ProviderCode, &j.CheckoutID, &j.ID)
	return j, err
}

// HastenJob implements [ports.Operations].
func (db *DB) HastenJob(ctx context.Context, id string, m checkout.Moment, did evidence.Entry) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		j, err := one(ctx, tx, scanJobKey, selectPending, id)
		if err != nil {
			return err
		}
		if err := tx.storeEvidence(ctx, did); err != nil {
			return err
		}
		if err := tx.execOne(ctx, releaseJob, append([]any{m.At.UnixMilli()}, sqlstore.JobKey(j)...)...); err != nil || j.CheckoutID == "" {
			return err
		}
		return tx.note(ctx, j.ProviderCode, j.CheckoutID, []checkout.Moment{m})
	})
	if err != nil {
		return fmt.Errorf("hasten job %s: %w", id, err)
	}
	return nil
}

// RecordRedelivery implements [ports.Deliveries].
func (db *DB) RecordRedelivery(ctx context.Context, e events.Event, r checkout.Redelivery, m checkout.Moment) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		key := sqlstore.JobKey(checkout.DeliveryOf(e))
		row, err := one(ctx, tx, sqlstore.ScanJob, sqlstore.SelectJob, key...)
		if err != nil {
			return err
		}
		if row, err = row.Redelivered(r); err != nil {
			return err
		}
		args := []any{string(row.State), row.Failure.Reason, sqlstore.Millis(row.Failure.At)}
		if _, err := tx.exec(ctx, redeliverEvent, append(args, key...)...); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, insertRedelivery, sqlstore.Redelivery.Values(&r, e.ProviderCode, e.ID, e.ProviderCode, e.ID)...); err != nil {
			return err
		}
		return tx.note(ctx, e.ProviderCode, e.CheckoutID, []checkout.Moment{m})
	})
	if err != nil {
		return fmt.Errorf("record a redelivery of %s: %w", e.ID, err)
	}
	return nil
}
