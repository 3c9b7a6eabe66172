package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	jobColumns = `provider_code, checkout_id, id, kind, position, request_id, name, body, try, created_ms, due_ms, state, again, token,
		leased_until_ms, attempts, cursor, failed_ms, failure, receipt, settled_ms`
	thisJob = ` WHERE provider_code = $1 AND checkout_id = $2 AND id = $3`
	// A pending job has no settled_ms. Where a job is found by its key, that is asked instead of its state: a server without statistics
	// would read the whole index of the pending jobs.
	heldJob  = thisJob + ` AND token = $4 AND settled_ms = 0`
	newToken = `SET token = token + 1, again = false, leased_until_ms = ` + clock + ` + `

	enteredColumns = ` (provider_code, checkout_id, id, kind, position, request_id, name, body, try, created_ms, due_ms, state, settled_ms) `
	enteredValues  = `CAST($3 AS text), CAST($4 AS text), CAST($5 AS bigint), CAST($6 AS text), CAST($7 AS text), CAST($8 AS bytea),
		CAST($9 AS bigint), CAST($10 AS bigint), CASE WHEN CAST($11 AS bigint) = 0 THEN 0 ELSE ` + clock + ` + CAST($11 AS bigint) END,
		CAST($12 AS text), CASE WHEN CAST($12 AS text) = 'pending' THEN 0 ELSE ` + clock + ` END`

	// A job enters with its checkout, or not at all.
	enterJob    = `INSERT INTO @.jobs AS j` + enteredColumns + `SELECT provider_code, id, ` + enteredValues + ` FROM @.checkouts WHERE provider_code = $1 AND id = $2`
	enterNotice = enterJob + ` ON CONFLICT (provider_code, checkout_id, id) DO NOTHING`
	armJob      = enterJob + onArmed
	armStoreJob = `INSERT INTO @.jobs AS j` + enteredColumns + `SELECT CAST($1 AS text), CAST($2 AS text), ` + enteredValues + onArmed

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

	retryJob = `UPDATE @.jobs SET state = 'pending', due_ms = 0, settled_ms = 0` + thisJob + ` AND state IN ('pending', 'failed')`
	hasten   = `UPDATE @.jobs SET due_ms = ` + clock + `
		WHERE provider_code = $1 AND checkout_id = $2 AND kind = 'notify' AND settled_ms = 0 AND due_ms > ` + clock

	// The job of a request is leased to it unless somebody has it, or must have it first.
	leaseEntered = `UPDATE @.jobs AS j ` + newToken + `$4` + thisJob + ` AND settled_ms = 0
		AND (leased_until_ms <= ` + clock + ` OR leased_until_ms > ` + clock + ` + $6)
		AND NOT EXISTS (SELECT 1 FROM @.jobs AS e WHERE e.provider_code = $1 AND e.checkout_id = $2 AND e.kind = j.kind
			AND j.kind = 'deliver' AND e.settled_ms = 0 AND e.position < $5)
		RETURNING ` + jobColumns

	selectDue = `SELECT ` + jobColumns + ` FROM @.jobs AS j WHERE kind = $1 AND state = 'pending' AND NOT provider_code = ANY($2)
		AND (due_ms <= ` + clock + ` OR due_ms > ` + clock + ` + $3)
		AND (leased_until_ms <= ` + clock + ` OR leased_until_ms > ` + clock + ` + $4)`
	firstOfKind = ` AND NOT EXISTS (SELECT 1 FROM @.jobs AS e WHERE e.provider_code = j.provider_code AND e.checkout_id = j.checkout_id
		AND e.kind = j.kind AND e.settled_ms = 0 AND e.position < j.position)`
	longestDue   = ` ORDER BY due_ms, position LIMIT $5`
	selectDueOne = selectDue + longestDue
	selectQueued = selectDue + firstOfKind + longestDue
	leaseDue     = `UPDATE @.jobs ` + newToken + `$6` + heldJob + ` AND leased_until_ms = $5 RETURNING 1`
)

var (
	extendJob = once(`UPDATE @.jobs SET leased_until_ms = CASE WHEN $5 = 0 THEN 0 ELSE ` + clock + ` + $5 END,
		due_ms = CASE WHEN $5 = 0 THEN 0 ELSE due_ms END` + heldJob)
	settleJob = once(`UPDATE @.jobs SET leased_until_ms = 0, attempts = attempts + $5, cursor = $6,
		failed_ms = CASE WHEN $7 THEN $8 ELSE failed_ms END, failure = CASE WHEN $7 THEN $9 ELSE failure END,
		receipt = CASE WHEN $10 = 'done' THEN $11 ELSE receipt END, state = CASE WHEN again THEN 'pending' ELSE $10 END,
		due_ms = CASE WHEN again THEN 0 WHEN $10 = 'pending' THEN ` + clock + ` + $12 ELSE due_ms END,
		settled_ms = CASE WHEN again OR $10 = 'pending' THEN 0 ELSE ` + clock + ` END` + heldJob)
)

// entering returns the arguments with which a job enters.
func entering(j checkout.Job) []any {
	row := rows.OfJob(j, time.UnixMilli(0)) // its time is a pause then
	return append(bound(row.Fields()[:11]), row.State)
}

// enter adds the jobs of a change, and returns the places of the leases of its caller, in the order of the change.
func (b *batch) enter(jobs []checkout.Job, hold time.Duration) []checkout.Lease {
	leases := make([]checkout.Lease, len(jobs))
	for _, j := range jobs {
		switch {
		case j.Kind == checkout.JobDeliver:
			b.add(enterJob, entering(j)...)
		case j.Kind == checkout.JobNotify:
			b.add(enterNotice, entering(j)...)
			b.add(hasten, j.ProviderCode, j.CheckoutID)
		default:
			b.add(armJob, entering(j)...)
		}
	}
	if hold == 0 {
		return leases
	}
	for i, j := range jobs {
		if !j.Kind.Direct() || !j.Due.IsZero() || j.Unsent {
			continue
		}
		b.add(leaseEntered, j.ProviderCode, j.CheckoutID, j.ID, hold.Milliseconds(), jobs[0].Position, maxLeaseMS).Query(func(found pgx.Rows) error {
			list, err := pgx.CollectRows(found, scan[rows.Job])
			for _, r := range list {
				r.Token-- // as it was before
				leases[i] = r.Lease(hold)
			}
			return err
		})
	}
	return leases
}

// entered returns the leases that were made.
func entered(places []checkout.Lease) (leases []checkout.Lease) {
	for _, l := range places {
		if l.Token != 0 {
			leases = append(leases, l)
		}
	}
	return leases
}

// Enqueue implements [ports.Queue].
func (db *DB) Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (armed int, err error) {
	err = db.write(ctx, func(b *batch) {
		armed = 0
		for i, j := range jobs {
			j.Position = checkout.FirstPosition(j.CreatedAt) + int64(i)
			var q *pgx.QueuedQuery
			switch {
			case j.Kind.Queued():
				q = b.add(retryJob, j.ProviderCode, j.CheckoutID, j.ID)
			case j.CheckoutID == "":
				q = b.add(armStoreJob, entering(j)...)
			default:
				q = b.add(armJob, entering(j)...)
			}
			q.Exec(func(tag pgconn.CommandTag) error {
				armed += int(tag.RowsAffected())
				return nil
			})
		}
		if act != nil {
			b.act(*act)
		}
	})
	if err != nil {
		return 0, fmt.Errorf("arm jobs: %w", err)
	}
	return armed, nil
}

// Lease implements [ports.Queue].
func (db *DB) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	due, err := read(ctx, db, func(ctx context.Context, c *conn) ([]rows.Job, error) { return c.due(ctx, q) })
	if err != nil || len(due) == 0 {
		return nil, err
	}
	won := make([]bool, len(due))
	err = db.write(ctx, func(b *batch) {
		for i, r := range due {
			won[i] = false
			b.add(leaseDue, r.ProviderCode, r.CheckoutID, r.ID, r.Token, r.LeasedUntilMS, q.For.Milliseconds()).Exec(func(tag pgconn.CommandTag) error {
				won[i] = tag.RowsAffected() == 1
				return nil
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("lease jobs: %w", err)
	}
	var leases []checkout.Lease
	for i, r := range due {
		if won[i] {
			leases = append(leases, r.Lease(q.For))
		}
	}
	return leases, nil
}

// due returns jobs that may be leased, in one round trip.
func (c *conn) due(ctx context.Context, q checkout.JobQuery) (list []rows.Job, err error) {
	var b pgx.Batch
	for _, kind := range checkout.JobKinds() {
		limit := q.Limits[kind]
		if limit <= 0 {
			continue
		}
		except := []string{}
		for _, e := range q.Except {
			if e.Kind == kind {
				except = append(except, e.ProviderCode)
			}
		}
		query := selectDueOne
		if kind.Queued() {
			query = selectQueued
		}
		b.Queue(c.db.sql(query), string(kind), except, (kind.LongestPause() + checkout.MaxLease).Milliseconds(),
			maxLeaseMS, limit).Query(func(found pgx.Rows) error {
			of, err := pgx.CollectRows(found, scan[rows.Job])
			list = append(list, of...)
			return err
		})
	}
	return list, c.SendBatch(ctx, &b).Close()
}

// held names the job of a lease in the arguments of a statement.
func held(l checkout.Lease, args ...any) []any {
	return append([]any{l.Job.ProviderCode, l.Job.CheckoutID, l.Job.ID, l.Token}, args...)
}

// lost returns ErrNotFound for a lease that was lost.
func lost(l checkout.Lease, err error) error {
	if is(err, divisionByZero) {
		err = ports.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("job %s with token %d: %w", l.Job.ID, l.Token, err)
	}
	return nil
}

// Extend implements [ports.Queue].
func (db *DB) Extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	return lost(l, db.write(ctx, func(b *batch) { b.add(extendJob, held(l, d.Milliseconds())...) }))
}

// Settle implements [ports.Queue].
func (db *DB) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	return lost(l, db.write(ctx, func(b *batch) {
		b.add(settleJob, held(l, o.Attempts, o.Cursor, o.Failure != (checkout.Failure{}), rows.Millis(o.Failure.At), o.Failure.Reason,
			string(o.State), o.Receipt, o.Pause.Milliseconds())...)
		if len(o.Moments) > 0 {
			b.moments(l.Job.ProviderCode, l.Job.CheckoutID, checkout.NumberMoments(o.Moments, checkout.FirstPosition(o.Moments[0].At)))
		}
	}))
}

// cursor is a place in the order in which the events of a provider enter: by their transactions, and within one by checkout and
// position. Another origin has another order: it is another server, or the same one after a failover to a standby.
type cursor struct {
	origin, entered, checkoutID string
	position, createdMS         int64
}

const noCursor = "cursor %q: %w"

// overlap is the time before a cursor of another origin from which on events are listed again.
const overlap = time.Minute

func parseCursor(c checkout.Cursor) (cursor, error) {
	parts := strings.Split(string(c), ".")
	if len(parts) != 5 {
		return cursor{}, fmt.Errorf(noCursor, c, ports.ErrNotFound)
	}
	_, enteredErr := strconv.ParseUint(parts[1], 10, 63)
	position, positionErr := strconv.ParseInt(parts[3], 10, 64)
	ms, msErr := strconv.ParseInt(parts[4], 10, 64)
	if errors.Join(enteredErr, positionErr, msErr) != nil || !checkout.PlausibleID(parts[2]) {
		return cursor{}, fmt.Errorf(noCursor, c, ports.ErrNotFound)
	}
	return cursor{parts[0], parts[1], parts[2], position, ms}, nil
}

func (c cursor) String() string {
	return fmt.Sprintf("%s.%s.%s.%d.%d", c.origin, c.entered, c.checkoutID, c.position, c.createdMS)
}

// listed is a job with its place.
type listed struct {
	rows.Job
	entered string
}

func (l *listed) Fields() []any { return append(l.Job.Fields(), &l.entered) }

// selectOrigin has what changes when another server takes over: a copy of the files has the same identifier, and a promotion makes
// another timeline.
const selectOrigin = `SELECT substr(md5(system_identifier || ' ' || timeline_id), 1, 8) FROM pg_control_system(), pg_control_checkpoint()`

// Jobs implements [ports.Queue].
func (db *DB) Jobs(ctx context.Context, f checkout.JobFilter, limit int) (list []checkout.JobRecord, err error) {
	w := admitted(f)
	if f.After == nil {
		query := `SELECT ` + jobColumns + ` FROM @.jobs` + w.text() + ` ORDER BY created_ms DESC, position DESC, id DESC LIMIT ` + w.arg(limit)
		found, err := read(ctx, db, func(ctx context.Context, c *conn) ([]rows.Job, error) { return all[rows.Job](ctx, c, query, w.args...) })
		for _, r := range found {
			list = append(list, r.Record())
		}
		return list, err
	}
	var after cursor
	if *f.After != "" {
		if after, err = parseCursor(*f.After); err != nil {
			return nil, err
		}
	}
	_, err = read(ctx, db, func(ctx context.Context, c *conn) (struct{}, error) {
		list, err = c.listed(ctx, w, after, limit)
		return struct{}{}, err
	})
	return list, err
}

// listed returns jobs behind a cursor. A transaction that may still commit has a number that no transaction before the oldest of
// them has.
func (c *conn) listed(ctx context.Context, w where, after cursor, limit int) (list []checkout.JobRecord, err error) {
	origin, err := one[value[string]](ctx, c, selectOrigin)
	if err != nil {
		return nil, err
	}
	w.conditions = append(w.conditions, `entered < pg_snapshot_xmin(pg_current_snapshot())`)
	switch after.origin {
	case "":
	case origin.v:
		w.add(`(entered, checkout_id, position) > (CAST(CAST(? AS text) AS xid8), ?, ?)`, after.entered, after.checkoutID, after.position)
	default:
		w.add(`created_ms >= ?`, after.createdMS-overlap.Milliseconds())
	}
	found, err := all[listed](ctx, c, `SELECT `+jobColumns+`, CAST(entered AS text) FROM @.jobs`+w.text()+
		` ORDER BY entered, checkout_id, position LIMIT `+w.arg(limit), w.args...)
	for _, l := range found {
		r := l.Record()
		r.Cursor = checkout.Cursor(cursor{origin.v, l.entered, l.CheckoutID, l.Position, rows.Millis(l.CreatedAt)}.String())
		list = append(list, r)
	}
	return list, err
}

// where is the conditions of a query with their arguments.
type where struct {
	conditions []string
	args       []any
}

// add adds a condition; each ? in it stands for an argument.
func (w *where) add(condition string, args ...any) {
	for _, arg := range args {
		condition = strings.Replace(condition, "?", w.arg(arg), 1)
	}
	w.conditions = append(w.conditions, condition)
}

// arg adds an argument, and returns its parameter.
func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

func (w *where) text() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(w.conditions, ` AND `)
}

// admitted returns the conditions of a filter. Queries of one filter have one text.
func admitted(f checkout.JobFilter) (w where) {
	texts := []struct{ column, value string }{{"id", f.ID}, {"state", string(f.State)}, {"provider_code", f.ProviderCode}, {"checkout_id", f.CheckoutID}}
	if f.CheckoutID != "" && f.ProviderCode == "" {
		texts[2].value = checkout.ProviderOf(f.CheckoutID)
	}
	for _, t := range texts {
		if t.value != "" {
			w.add(t.column+` = ?`, t.value)
		}
	}
	var kinds []string
	for _, k := range f.Kinds {
		kinds = append(kinds, string(k))
	}
	slices.Sort(kinds)
	switch kinds = slices.Compact(kinds); len(kinds) {
	case 0:
	case 1: // as a constant, for the index over events
		w.add(`kind = '` + strings.ReplaceAll(kinds[0], "'", "''") + `'`)
	default:
		w.add(`kind = ANY(?)`, kinds)
	}
	if !f.Since.IsZero() {
		w.add(`created_ms >= ?`, rows.Millis(f.Since))
	}
	return w
}

// waiting is the pending jobs of a kind.
type waiting struct {
	kind                       string
	waiting, failing, oldestMS int64
}

func (w *waiting) Fields() []any { return []any{&w.kind, &w.waiting, &w.failing, &w.oldestMS} }

const selectBacklog = `SELECT kind, count(*), count(*) FILTER (WHERE failed_ms <> 0 OR failure <> ''), min(created_ms)
	FROM @.jobs WHERE state = 'pending' GROUP BY kind`

// Backlog implements [ports.Queue].
func (db *DB) Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	list, err := read(ctx, db, func(ctx context.Context, c *conn) ([]waiting, error) { return all[waiting](ctx, c, selectBacklog) })
	all := map[checkout.JobKind]checkout.Backlog{}
	for _, w := range list {
		all[checkout.JobKind(w.kind)] = checkout.Backlog{Waiting: int(w.waiting), Failing: int(w.failing), Oldest: rows.Time(w.oldestMS)}
	}
	return all, err
}
