package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// JobRow is a job in the form of its row. Its Due is when the next attempt may be made, whatever its lease.
type JobRow struct {
	checkout.JobRecord
	Until time.Time // the end of the lease; zero if it is not leased
}

// Record returns the job as it is on record.
func (r JobRow) Record() checkout.JobRecord {
	switch {
	case r.State != checkout.JobPending:
		r.Due, r.Cursor = time.Time{}, ""
	case r.Until.After(r.Due):
		r.Due = r.Until
	}
	return r.JobRecord
}

// settled returns the job after an attempt of its holder at a time.
func (r JobRow) settled(o checkout.Outcome, now time.Time) JobRow {
	r.Attempts += o.Attempts
	r.Until = time.Time{}
	if o.Failure != (checkout.Failure{}) {
		r.Failure = o.Failure
	}
	r.State = o.State
	switch o.State {
	case checkout.JobPending:
		r.Due, r.Cursor = now.Add(o.Again), o.Cursor
		return r
	case checkout.JobDone:
		r.Receipt = o.Receipt
	}
	r.SettledAt = now
	return r
}

// redelivered returns the job of an event that was sent again. ErrNotFound unless it is failed or delivered.
func (r JobRow) redelivered(again checkout.Redelivery) (JobRow, error) {
	switch {
	case r.Job.Kind != checkout.JobDeliver || r.State != checkout.JobDead && r.State != checkout.JobDone:
		return r, ports.ErrNotFound
	case again.Delivered:
		r.State = checkout.JobDone
	case r.State == checkout.JobDead:
		r.Failure = checkout.Failure{At: again.At, Reason: again.Failure}
	}
	return r, nil
}

// leased returns the lease of a job that was leased with its next token.
func (r JobRow) leased(until time.Time) checkout.Lease {
	return checkout.Lease{Job: r.Job, Token: r.Token, Attempts: r.Attempts, Cursor: r.Cursor, Until: Stored(until)}
}

// Entering is a job that enters the queue.
type Entering struct {
	Row   JobRow        // with State, and with SettledAt if it is settled; its Due follows from After
	Event bool          // an id or a name that is on record is an error; of another job nothing is stored then
	Hold  time.Duration // the first lease; 0 for no lease
	After time.Duration // before the first attempt
}

// Enter returns how a job enters that no change brings.
func Enter(j checkout.Job) Entering {
	e := Entering{Row: JobRow{JobRecord: checkout.JobRecord{Job: j, State: checkout.JobPending}}}
	if !j.Due.IsZero() {
		e.After = j.Due.Sub(j.CreatedAt)
	}
	e.Row.Job.Due = time.Time{}
	return e
}

// EnterAll returns how the jobs of a change enter, its events first.
func EnterAll(change checkout.Change, q checkout.Enqueue) (list []Entering) {
	for _, e := range change.Events {
		job := Enter(checkout.DeliveryOf(e))
		job.Event, job.Hold = true, q.Hold
		if q.Unsent {
			job.Row.State, job.Row.SettledAt, job.Hold = checkout.JobDropped, q.Now, 0
		}
		list = append(list, job)
	}
	for _, j := range change.Jobs {
		job := Enter(j)
		if j.Kind == checkout.JobOpen || j.Kind == checkout.JobComplete {
			job.Hold = q.Hold
		}
		list = append(list, job)
	}
	return list
}

// EnteredJob returns the job as it is stored.
func EnteredJob(j checkout.Job) checkout.Job {
	j.CreatedAt, j.Due = Stored(j.CreatedAt), time.Time{}
	j.Body = append([]byte(nil), j.Body...)
	return j
}

var jobs = `SELECT ` + JobRecord.Names() + ` FROM @.jobs`

// selectJob reads a job by its provider, checkout and id.
var selectJob = jobs + ` WHERE provider_code = ? AND checkout_id = ? AND id = ?`

// JobKey returns the values by which a job is found.
func JobKey(j checkout.Job) []any { return []any{j.ProviderCode, j.CheckoutID, j.ID} }

// ScanJob scans a row of JobRecord.
func ScanJob(r Row) (JobRow, error) { return Scan(JobRecord)(r) }

const selectBacklog = `SELECT kind, count(*), min(created_ms) FROM @.jobs
		WHERE state = 'pending' AND kind <> 'seal' GROUP BY kind
	UNION ALL SELECT 'seal', count(*), coalesce(min(recorded_ms), 0) FROM @.evidence WHERE position IS NULL`

type backlog struct {
	kind checkout.JobKind
	checkout.Backlog
}

// Backlog implements [ports.Queue].
func (s *Store) Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	list, err := All(ctx, s.engine, func(r Row) (b backlog, err error) {
		err = r.Scan((*string)(&b.kind), &b.Waiting, (*Instant)(&b.Oldest))
		return b, err
	}, selectBacklog)
	if err != nil {
		return nil, fmt.Errorf("count the jobs: %w", err)
	}
	all := map[checkout.JobKind]checkout.Backlog{}
	for _, b := range list {
		if b.Waiting > 0 {
			all[b.kind] = b.Backlog
		}
	}
	return all, nil
}

// where is the conditions of a query, with their arguments.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions, w.args = append(w.conditions, condition), append(w.args, args...)
}

func (w *where) addIf(given bool, condition string, args ...any) {
	if given {
		w.add(condition, args...)
	}
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(w.conditions, ` AND `)
}

// kindIn adds that a job is of one of the kinds.
func (w *where) kindIn(kinds []checkout.JobKind) {
	values := make([]any, len(kinds))
	for i, kind := range kinds {
		values[i] = string(kind)
	}
	w.add(`kind IN (`+marks(len(kinds))+`)`, values...)
}

// Jobs implements [ports.Queue].
func (s *Store) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	var w where
	switch f.State {
	case "":
	case checkout.JobPending, checkout.JobDead: // an index of these states is used only where the statement names them
		w.add(`state = '` + string(f.State) + `'`)
	default:
		w.add(`state = ?`, string(f.State))
	}
	if len(f.Kinds) > 0 {
		w.kindIn(f.Kinds)
	}
	w.addIf(f.ProviderCode != "", `provider_code = ?`, f.ProviderCode)
	w.addIf(f.CheckoutID != "", `provider_code = ? AND checkout_id = ?`, checkout.ProviderOf(f.CheckoutID), f.CheckoutID)
	w.addIf(f.ID != "", `id = ?`, f.ID)
	w.addIf(f.OrderID != "", `provider_order_id = ?`, f.OrderID)
	w.addIf(f.OrderID != "" && f.ProviderCode != "",
		`checkout_id IN (SELECT c.id FROM @.checkouts AS c WHERE c.provider_code = ? AND c.provider_order_id = ?)`, f.ProviderCode, f.OrderID)
	w.addIf(!f.Since.IsZero(), `(created_ms >= ? OR failed_ms >= ?)`, f.Since.UnixMilli(), f.Since.UnixMilli())
	order := ` ORDER BY created_ms DESC, position DESC LIMIT ?`
	if f.OldestFirst {
		order = ` ORDER BY created_ms, position LIMIT ?`
	}
	list, err := All(ctx, s.engine, ScanJob, jobs+w.String()+order, append(w.args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	return records(list), nil
}

func records(rows []JobRow) (list []checkout.JobRecord) {
	for _, row := range rows {
		list = append(list, row.Record())
	}
	return list
}
