package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// clock is the time of the server in milliseconds: the clock of a process may be wrong.
const clock = `CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)`

const maxLeaseMS = int64(checkout.MaxLease / time.Millisecond)

const (
	thisJob = ` WHERE provider_code = $1 AND checkout_id = $2 AND id = $3`
	// A pending job has no settled_ms. Where a job is found by its key, that is asked instead of its state: a server without statistics
	// would read the whole index of the pending jobs.
	heldJob  = thisJob + ` AND token = $4 AND settled_ms = 0`
	newToken = `SET token = token + 1, again = false, leased_until_ms = ` + clock + ` + `

	enteredColumns = ` (provider_code, checkout_id, id, kind, position, request_id, name, body, try, created_ms, due_ms, state, settled_ms) `
	enteredValues  = `CAST($3 AS text), CAST($4 AS text), CAST($5 AS bigint), CAST($6 AS text), CAST($7 AS text), CAST($8 AS bytea),
		CAST($9 AS bigint), CAST($10 AS bigint), CASE WHEN CAST($11 AS bigint) = 0 THEN 0 ELSE ` + clock + ` + CAST($11 AS bigint) END,
		CAST($12 AS text), CASE WHEN CAST($12 AS text) = 'pending' THEN 0 ELSE ` + clock + ` END`

	enterJob    = `INSERT INTO jobs AS j` + enteredColumns + `VALUES ($1, $2, ` + enteredValues + `)`
	enterNotice = enterJob + ` ON CONFLICT (provider_code, checkout_id, id) DO NOTHING`
	armJob      = enterJob + onArmed
	// A job of a checkout that there may not be.
	armKnown = `INSERT INTO jobs AS j` + enteredColumns + `SELECT provider_code, id, ` + enteredValues + `
		FROM checkouts WHERE provider_code = $1 AND id = $2` + onArmed

	// A job that is armed and settled begins anew.
	onArmed = ` ON CONFLICT (provider_code, checkout_id, id) DO UPDATE SET again = true, state = 'pending',
		due_ms = CASE WHEN j.state = 'pending' THEN least(j.due_ms, excluded.due_ms) ELSE excluded.due_ms END,
		position = CASE WHEN j.state = 'pending' THEN j.position ELSE excluded.position END,
		request_id = CASE WHEN j.state = 'pending' THEN j.request_id ELSE excluded.request_id END,
		try = CASE WHEN j.state = 'pending' THEN j.try ELSE excluded.try END,
		created_ms = CASE WHEN j.state = 'pending' THEN j.created_ms ELSE excluded.created_ms END,
		attempts = CASE WHEN j.state = 'pending' THEN j.attempts ELSE 0 END,
		failed_ms = CASE WHEN j.state = 'pending' THEN j.failed_ms ELSE 0 END,
		failure = CASE WHEN j.state = 'pending' THEN j.failure ELSE '' END,
		receipt = CASE WHEN j.state = 'pending' THEN j.receipt ELSE '' END, settled_ms = 0`

	retryJob = `UPDATE jobs SET state = 'pending', due_ms = 0, settled_ms = 0` + thisJob + ` AND state IN ('pending', 'failed')`
	hasten   = `UPDATE jobs SET due_ms = ` + clock + `
		WHERE provider_code = $1 AND checkout_id = $2 AND kind = 'notify' AND settled_ms = 0 AND due_ms > ` + clock

	// The job of a request is leased to it unless somebody has it, or must have it first.
	leaseEntered = `UPDATE jobs AS j ` + newToken + `$4` + thisJob + ` AND settled_ms = 0
		AND (leased_until_ms <= ` + clock + ` OR leased_until_ms > ` + clock + ` + $6)
		AND NOT EXISTS (SELECT 1 FROM jobs AS e WHERE e.provider_code = $1 AND e.checkout_id = $2 AND e.kind = j.kind
			AND j.kind = 'deliver' AND e.settled_ms = 0 AND e.position < $5)
		RETURNING ` + rows.JobColumns

	// $6 says whether the jobs of the kind are queued.
	selectDue = `SELECT ` + rows.JobColumns + ` FROM jobs AS j WHERE kind = $1 AND state = 'pending' AND NOT provider_code = ANY($2)
		AND (due_ms <= ` + clock + ` OR due_ms > ` + clock + ` + $3)
		AND (leased_until_ms <= ` + clock + ` OR leased_until_ms > ` + clock + ` + $4)
		AND NOT ($6 AND EXISTS (SELECT 1 FROM jobs AS e WHERE e.provider_code = j.provider_code AND e.checkout_id = j.checkout_id
			AND e.kind = j.kind AND e.settled_ms = 0 AND e.position < j.position))
		ORDER BY due_ms, position LIMIT $5`
	leaseDue = `UPDATE jobs ` + newToken + `$6` + heldJob + ` AND leased_until_ms = $5`
)

var (
	extendJob = once(`UPDATE jobs SET leased_until_ms = CASE WHEN $5 = 0 THEN 0 ELSE ` + clock + ` + $5 END,
		due_ms = CASE WHEN $5 = 0 THEN 0 ELSE due_ms END` + heldJob)
	settleJob = once(`UPDATE jobs SET leased_until_ms = 0, attempts = attempts + $5, cursor = $6,
		failed_ms = CASE WHEN $7 THEN $8 ELSE failed_ms END, failure = CASE WHEN $7 THEN $9 ELSE failure END,
		receipt = CASE WHEN $10 = 'done' THEN $11 ELSE receipt END, state = CASE WHEN again THEN 'pending' ELSE $10 END,
		due_ms = CASE WHEN again THEN 0 WHEN $10 = 'pending' THEN ` + clock + ` + $12 ELSE due_ms END,
		settled_ms = CASE WHEN again OR $10 = 'pending' THEN 0 ELSE ` + clock + ` END` + heldJob)
)

// entering returns the arguments with which a job enters.
func entering(j checkout.Job) []any {
	row := rows.OfJob(j, time.UnixMilli(0)) // its time is a pause then
	return append(rows.Values(row.Fields()[:11]), string(row.State))
}

// enter adds the jobs of a change, and the leases that its caller gets, in the order of the change.
func (b *batch) enter(jobs []checkout.Job, hold time.Duration, leases *[]checkout.Lease) {
	*leases = nil
	for _, j := range jobs {
		switch {
		case j.Kind == checkout.JobDeliver:
			b.Queue(enterJob, entering(j)...)
		case j.Kind == checkout.JobNotify:
			b.Queue(enterNotice, entering(j)...)
			b.Queue(hasten, j.ProviderCode, j.CheckoutID)
		default:
			b.Queue(armJob, entering(j)...)
		}
	}
	for _, j := range jobs {
		if hold == 0 || !j.Kind.Direct() || !j.Due.IsZero() || j.Unsent {
			continue
		}
		b.Queue(leaseEntered, j.ProviderCode, j.CheckoutID, j.ID, hold.Milliseconds(), jobs[0].Position, maxLeaseMS).Query(func(found pgx.Rows) error {
			leased, err := pgx.CollectRows(found, scan[rows.Job])
			for _, r := range leased {
				r.Token-- // as it was before
				*leases = append(*leases, r.Lease(hold))
			}
			return err
		})
	}
}

func (db *DB) Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (armed int, err error) {
	err = db.write(ctx, "enqueue jobs", func(b *batch) {
		armed = 0
		for i, j := range jobs {
			j.Position = checkout.FirstPosition(j.CreatedAt) + int64(i)
			statement, args := armKnown, entering(j)
			switch {
			case j.Kind.Queued():
				statement, args = retryJob, args[:3]
			case j.CheckoutID == "":
				statement = armJob
			}
			b.Queue(statement, args...).Exec(func(tag pgconn.CommandTag) error {
				armed += int(tag.RowsAffected())
				return nil
			})
		}
		if act != nil {
			insert(b, insertAct, rows.OfAct(*act))
		}
	})
	return armed, err
}

func (db *DB) Lease(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	due, err := read(ctx, db, "due jobs", readTimeout, func(ctx context.Context, c *conn) ([]rows.Job, error) { return c.due(ctx, q) })
	if err != nil || len(due) == 0 {
		return nil, err
	}
	err = db.write(ctx, "lease jobs", func(b *batch) {
		leases = nil
		for _, r := range due {
			b.Queue(leaseDue, r.ProviderCode, r.CheckoutID, r.ID, r.Token, r.LeasedUntilMS, q.For.Milliseconds()).Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 1 {
					leases = append(leases, r.Lease(q.For))
				}
				return nil
			})
		}
	})
	return leases, err
}

// due returns jobs that may be leased, in one round trip.
func (c *conn) due(ctx context.Context, q checkout.JobQuery) (due []rows.Job, err error) {
	var b pgx.Batch
	for _, kind := range checkout.JobKinds() {
		if q.Limits[kind] <= 0 {
			continue
		}
		except := []string{}
		for _, e := range q.Except {
			if e.Kind == kind {
				except = append(except, e.ProviderCode)
			}
		}
		b.Queue(selectDue, string(kind), except, (kind.LongestPause() + checkout.MaxLease).Milliseconds(), maxLeaseMS, q.Limits[kind],
			kind.Queued()).Query(func(found pgx.Rows) (err error) {
			due, err = pgx.AppendRows(due, found, scan[rows.Job])
			return err
		})
	}
	return due, c.SendBatch(ctx, &b).Close()
}

func (db *DB) Extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	return db.write(ctx, held(l), func(b *batch) {
		b.Queue(extendJob, l.Job.ProviderCode, l.Job.CheckoutID, l.Job.ID, l.Token, d.Milliseconds())
	})
}

func (db *DB) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	return db.write(ctx, held(l), func(b *batch) {
		b.Queue(settleJob, l.Job.ProviderCode, l.Job.CheckoutID, l.Job.ID, l.Token, o.Attempts, o.Cursor, o.Failure != (checkout.Failure{}),
			rows.Millis(o.Failure.At), o.Failure.Reason, string(o.State), o.Receipt, o.Pause.Milliseconds())
		insert(b, addMoment, rows.OfOutcome(l.Job, o)...)
	})
}

// held names a lease in errors.
func held(l checkout.Lease) string { return fmt.Sprintf("job %s with token %d", l.Job.ID, l.Token) }

// cursor is a place in the order in which the events of a provider enter: by their transactions, and within one by checkout and
// position. Another origin has another order: it is another server, or the same one after a failover to a standby.
type cursor struct {
	origin, checkoutID           string
	entered, position, createdMS int64
}

// overlap is the time before a cursor of another origin from which on events are listed again.
const overlap = time.Minute

func parseCursor(c checkout.Cursor) (cursor, error) {
	parts := strings.Split(string(c), ".")
	if len(parts) != 5 {
		return cursor{}, fmt.Errorf("cursor %q: %w", c, ports.ErrNotFound)
	}
	entered, enteredErr := strconv.ParseUint(parts[1], 10, 63)
	position, positionErr := strconv.ParseInt(parts[3], 10, 64)
	ms, msErr := strconv.ParseInt(parts[4], 10, 64)
	if errors.Join(enteredErr, positionErr, msErr) != nil || !checkout.PlausibleID(parts[2]) {
		return cursor{}, fmt.Errorf("cursor %q: %w", c, ports.ErrNotFound)
	}
	return cursor{parts[0], parts[2], int64(entered), position, ms}, nil
}

func (c cursor) String() string {
	return fmt.Sprintf("%s.%d.%s.%d.%d", c.origin, c.entered, c.checkoutID, c.position, c.createdMS)
}

// listed is a job with its place.
type listed struct {
	rows.Job
	entered int64
}

func (l *listed) Fields() []any { return append(l.Job.Fields(), &l.entered) }

const (
	// admitted takes a filter, where an empty value admits every job. Each query is planned for its values, so that it has an index for
	// what it is given.
	admitted = ` WHERE ($1 = '' OR id = $1) AND (CAST($2 AS text[]) = '{}' OR kind = ANY($2)) AND ($3 = '' OR state = $3)
		AND ($4 = '' OR provider_code = $4) AND ($5 = '' OR checkout_id = $5) AND created_ms >= $6`

	selectJobs = `SELECT ` + rows.JobColumns + ` FROM jobs` + admitted + ` ORDER BY created_ms DESC, position DESC, id DESC LIMIT $7`

	// A transaction that may still commit has a number that no transaction before the oldest of them has.
	selectEntered = `SELECT ` + rows.JobColumns + `, CAST(CAST(entered AS text) AS bigint) FROM jobs` + admitted + `
		AND entered < pg_snapshot_xmin(pg_current_snapshot())
		AND (CAST($8 AS bigint) < 0 OR (entered, checkout_id, position) > (CAST(CAST($8 AS text) AS xid8), $9, $10))
		ORDER BY jobs.entered, checkout_id, position LIMIT $7`

	// selectOrigin has what changes when another server takes over: a copy of the files has the same identifier, and a promotion makes
	// another timeline.
	selectOrigin = `SELECT substr(md5(system_identifier || ' ' || timeline_id), 1, 8) FROM pg_control_system(), pg_control_checkpoint()`
)

// filtered returns the arguments of a query with a filter and a time.
func filtered(f checkout.JobFilter, sinceMS int64, limit int) []any {
	kinds, provider := []string{}, f.ProviderCode
	for _, k := range f.Kinds {
		kinds = append(kinds, string(k))
	}
	if f.CheckoutID != "" && provider == "" {
		provider = checkout.ProviderOf(f.CheckoutID)
	}
	return []any{pgx.QueryExecModeExec, f.ID, kinds, string(f.State), provider, f.CheckoutID, sinceMS, limit}
}

func (db *DB) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	since := rows.Millis(f.Since)
	if f.After == nil {
		return list(ctx, db, "jobs", rows.Job.Record, selectJobs, filtered(f, since, limit)...)
	}
	var after cursor
	if *f.After != "" {
		var err error
		if after, err = parseCursor(*f.After); err != nil {
			return nil, err
		}
	}
	return read(ctx, db, "events", readTimeout, func(ctx context.Context, c *conn) ([]checkout.JobRecord, error) {
		origin, err := one(ctx, c, itself[value[string]], selectOrigin)
		if err != nil {
			return nil, err
		}
		from, since := after.entered, since
		if after.origin != origin.V {
			from, since = -1, max(since, after.createdMS-overlap.Milliseconds())
		}
		return all(ctx, c, func(l listed) (checkout.JobRecord, error) {
			r, err := l.Record()
			r.Cursor = checkout.Cursor(cursor{origin.V, l.CheckoutID, l.entered, l.Position, rows.Millis(l.CreatedAt)}.String())
			return r, err
		}, selectEntered, append(filtered(f, since, limit), from, after.checkoutID, after.position)...)
	})
}

const selectBacklog = `SELECT kind, count(*), count(*) FILTER (WHERE failed_ms <> 0 OR failure <> ''), min(created_ms)
	FROM jobs WHERE state = 'pending' GROUP BY kind`

func (db *DB) Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	found, err := list(ctx, db, "backlog", itself[rows.Backlog], selectBacklog)
	return rows.Backlogs(found), err
}
