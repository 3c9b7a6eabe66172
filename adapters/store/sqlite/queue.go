package sqlite

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	insertJob = `INSERT INTO jobs (entered, ` + rows.JobColumns + `)
		VALUES ((SELECT max(?, 1 + ifnull(max(entered), 0)) FROM jobs), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertNotice  = insertJob + ` ON CONFLICT (provider_code, checkout_id, id) DO NOTHING`
	hastenNotices = `UPDATE jobs SET due_ms = ?1
		WHERE provider_code = ?2 AND checkout_id = ?3 AND +kind = 'notify' AND +state = 'pending' AND due_ms > ?1`
	updateJob = `UPDATE jobs SET (` + rows.JobStateColumns + `) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		WHERE provider_code = ? AND checkout_id = ? AND id = ?`
	selectJob = `SELECT ` + rows.JobColumns + ` FROM jobs WHERE provider_code = ? AND checkout_id = ? AND id = ?`

	existsPendingEvent = `SELECT EXISTS (SELECT 1 FROM jobs
		WHERE provider_code = ? AND checkout_id = ? AND +kind = 'deliver' AND +state = 'pending')`
	existsCheckout = `SELECT EXISTS (SELECT 1 FROM checkouts WHERE provider_code = ? AND id = ?)`

	// selectDue takes a kind, the first and the last time due, the times between which a lease holds, whether the jobs are queued,
	// the providers that are left out, as JSON, and a limit. The signs keep the index of pending jobs for the outer query.
	selectDue = `SELECT entered, ` + rows.JobColumns + ` FROM jobs AS j
		WHERE state = 'pending' AND kind = ?1 AND due_ms BETWEEN ?2 AND ?3 AND leased_until_ms NOT BETWEEN ?4 AND ?5
			AND (?6 = 0 OR NOT EXISTS (SELECT 1 FROM jobs AS e WHERE e.provider_code = j.provider_code AND e.checkout_id = j.checkout_id
				AND +e.kind = j.kind AND +e.state = 'pending' AND e.position < j.position))
			AND provider_code NOT IN (SELECT value FROM json_each(?7))
		ORDER BY due_ms, entered LIMIT ?8`
	// lease leases a job if it is as it was read, and still the first.
	lease = `UPDATE jobs AS j SET token = token + 1, leased_until_ms = ?2, again = 0
		WHERE entered = ?1 AND state = 'pending' AND token = ?3 AND due_ms = ?4 AND leased_until_ms = ?5
			AND (?6 = 0 OR NOT EXISTS (SELECT 1 FROM jobs AS e WHERE e.provider_code = j.provider_code AND e.checkout_id = j.checkout_id
				AND +e.kind = j.kind AND +e.state = 'pending' AND e.position < j.position))`
	// extend takes the key and the token, and the end of the lease, which is 0 for a job that is given back.
	extend = `UPDATE jobs SET leased_until_ms = ?5, due_ms = iif(?5 = 0, 0, due_ms)
		WHERE provider_code = ?1 AND checkout_id = ?2 AND id = ?3 AND token = ?4 AND state = 'pending'`
	// settle takes the key and the token, the state, the time due, the time now, attempts, cursor, failure and receipt.
	settle = `UPDATE jobs SET leased_until_ms = 0,
			state = iif(again, 'pending', ?5),
			due_ms = CASE WHEN again THEN 0 WHEN ?5 = 'pending' THEN ?6 ELSE due_ms END,
			settled_ms = iif(again OR ?5 = 'pending', 0, ?7),
			attempts = attempts + ?8, cursor = ?9,
			failed_ms = iif(?10 <> 0 OR ?11 <> '', ?10, failed_ms), failure = iif(?10 <> 0 OR ?11 <> '', ?11, failure),
			receipt = iif(?5 = 'done', ?12, receipt)
		WHERE provider_code = ?1 AND checkout_id = ?2 AND id = ?3 AND token = ?4 AND state = 'pending'`
)

// enter writes the jobs of a change, and leases the jobs that its caller attempts.
func (t *tx) enter(jobs []checkout.Job, isNew bool, now time.Time, hold time.Duration) (leases []checkout.Lease) {
	// an event of an earlier change is pending
	behind := !isNew && hold > 0 && len(jobs) > 0 && t.reports(existsPendingEvent, jobs[0].ProviderCode, jobs[0].CheckoutID)
	for _, j := range jobs {
		r, write := rows.OfJob(j, now), t.insertJob
		switch {
		case !isNew && j.Kind == checkout.JobNotify:
			if t.exec(insertNotice, entering(r, now)...) > 0 {
				t.exec(hastenNotices, rows.Millis(now), j.ProviderCode, j.CheckoutID)
			}
			continue
		case !isNew && !j.Kind.Queued():
			if known, found := first[rows.Job](t, selectJob, j.ProviderCode, j.CheckoutID, j.ID); found {
				known.Arm(r)
				r, write = known, t.overwrite
			}
		}
		if hold > 0 && j.Kind.Direct() && j.Due.IsZero() && !j.Unsent && !(behind && j.Kind == checkout.JobDeliver) && !r.IsLeased(now) {
			leases = append(leases, r.LeaseAt(now, hold))
		}
		write(r, now)
	}
	if t.err != nil {
		return nil
	}
	return leases
}

// entering returns the arguments to insert a job.
func entering(r rows.Job, now time.Time) []any { return append([]any{now.UnixMicro()}, r.Fields()...) }

func (t *tx) insertJob(r rows.Job, now time.Time) { t.exec(insertJob, entering(r, now)...) }

// overwrite writes a job on record.
func (t *tx) overwrite(r rows.Job, _ time.Time) {
	t.exec(updateJob, append(r.UpdateFields(), r.ProviderCode, r.CheckoutID, r.ID)...)
}

func (db *DB) Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (count int, err error) {
	now := db.now()
	err = db.write(ctx, "enqueue jobs", func(t *tx) {
		count = 0
		for i, j := range jobs {
			j.Position = checkout.FirstPosition(j.CreatedAt) + int64(i)
			r, queued := rows.OfJob(j, now), j.Kind.Queued()
			known, isKnown := first[rows.Job](t, selectJob, j.ProviderCode, j.CheckoutID, j.ID)
			switch {
			case isKnown && (!queued || known.Retries()):
				known.Arm(r)
				t.overwrite(known, now)
			case queued, j.CheckoutID != "" && !t.reports(existsCheckout, j.ProviderCode, j.CheckoutID):
				continue
			default:
				t.insertJob(r, now)
			}
			count++
		}
		if act != nil {
			t.record(*act)
		}
	})
	return count, err
}

// due is a job that is due.
type due struct {
	entered int64
	rows.Job
}

func (r *due) Fields() []any { return append([]any{&r.entered}, r.Job.Fields()...) }

func (db *DB) Lease(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	now := db.now()
	var found []due
	err = db.read(ctx, func(c *conn) error {
		found, err = selectDueJobs(ctx, c, q, now)
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	err = db.write(ctx, "lease jobs", func(t *tx) {
		leases = nil
		for _, j := range found {
			if t.exec(lease, j.entered, rows.Millis(now.Add(q.For)), j.Token, j.DueMS, j.LeasedUntilMS, j.Kind.Queued()) > 0 {
				leases = append(leases, j.Lease(q.For))
			}
		}
	})
	return leases, err
}

// selectDueJobs returns the jobs that may be leased: of each kind the jobs whose time has come, or is further ahead than any
// pause.
func selectDueJobs(ctx context.Context, c *conn, q checkout.JobQuery, now time.Time) (found []due, err error) {
	for _, kind := range checkout.JobKinds() {
		left := q.Limits[kind]
		var except []string
		for _, queue := range q.Except {
			if queue.Kind == kind {
				except = append(except, queue.ProviderCode)
			}
		}
		far := rows.Millis(now.Add(kind.LongestPause()+checkout.MaxLease)) + 1
		for _, between := range [][2]int64{{math.MinInt64, rows.Millis(now)}, {far, math.MaxInt64}} {
			if left <= 0 {
				break
			}
			list, err := all(ctx, c, itself[due], selectDue, string(kind), between[0], between[1], rows.Millis(now)+1,
				rows.Millis(now.Add(checkout.MaxLease)), kind.Queued(), jsonList(except), left)
			if err != nil {
				return nil, fmt.Errorf("due jobs of kind %s: %w", kind, err)
			}
			found, left = append(found, list...), left-len(list)
		}
	}
	return found, nil
}

func (db *DB) Extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	j, until := l.Job, rows.Millis(db.now().Add(d))
	if d == 0 {
		until = 0
	}
	return db.write(ctx, held(l), func(t *tx) { t.mustExec(extend, j.ProviderCode, j.CheckoutID, j.ID, l.Token, until) })
}

func (db *DB) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	now, j := db.now(), l.Job
	return db.write(ctx, held(l), func(t *tx) {
		t.mustExec(settle, j.ProviderCode, j.CheckoutID, j.ID, l.Token, string(o.State), rows.Millis(now.Add(o.Pause)), rows.Millis(now),
			o.Attempts, o.Cursor, rows.Millis(o.Failure.At), o.Failure.Reason, o.Receipt)
		insert(t, noteMoment, rows.OfOutcome(j, o)...)
	})
}

// held names a lease in errors.
func held(l checkout.Lease) string { return fmt.Sprintf("job %s with token %d", l.Job.ID, l.Token) }

// admitted takes a filter: id, kinds as JSON, state, provider, checkout and time, where an empty value admits every job.
const admitted = ` (?1 = '' OR id = ?1) AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2))) AND (?3 = '' OR state = ?3)
	AND (?4 = '' OR provider_code = ?4) AND (?5 = '' OR checkout_id = ?5) AND created_ms >= ?6 `

const newestFirst = ` ORDER BY created_ms DESC, position DESC, entered DESC LIMIT ?7`

// The queries for jobs take, behind the filter, a limit, a cursor, and the provider of the checkout. Each has its index.
const (
	selectAll  = `SELECT entered, ` + rows.JobColumns + ` FROM jobs WHERE `
	selectJobs = selectAll + `entered IN (SELECT entered FROM jobs WHERE` + admitted + newestFirst + `)` + newestFirst

	selectJobsOfCheckout = selectAll + `provider_code = ?9 AND checkout_id = ?5 AND` + admitted + newestFirst
	selectPendingJobs    = selectAll + `state = 'pending' AND` + admitted + newestFirst
	selectFailedJobs     = selectAll + `state = 'failed' AND` + admitted + newestFirst
	selectQueuedJob      = selectAll + `entered IN (SELECT entered FROM jobs WHERE id = ?1 AND state <> 'pending' AND kind IN ('deliver', 'notify')
		UNION ALL SELECT entered FROM jobs WHERE id = ?1 AND state = 'pending') AND` + admitted + newestFirst
	selectEventsAfter = selectAll + `provider_code = ?4 AND kind = 'deliver' AND entered > ?8 AND` + admitted + `ORDER BY entered LIMIT ?7`

	selectBacklog = `SELECT kind, count(*), sum(failed_ms <> 0 OR failure <> ''), min(created_ms) FROM jobs WHERE state = 'pending' GROUP BY kind`
)

// Jobs implements [ports.Queue]. The cursor of a job is its column entered.
func (db *DB) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	after, err := rows.After(f)
	if err != nil {
		return nil, err
	}
	return list(ctx, db, "jobs", func(j due) (checkout.JobRecord, error) {
		record, err := j.Record()
		if f.After != nil {
			record.Cursor = checkout.Cursor(strconv.FormatInt(j.entered, 10))
		}
		return record, err
	}, jobQuery(f), f.ID, jsonList(f.Kinds), string(f.State), f.ProviderCode, f.CheckoutID, since(f.Since), limit, after,
		checkout.ProviderOf(f.CheckoutID))
}

// jobQuery returns the query with the index for a filter.
func jobQuery(f checkout.JobFilter) string {
	switch {
	case f.After != nil:
		return selectEventsAfter
	case f.CheckoutID != "":
		return selectJobsOfCheckout
	case strings.HasPrefix(f.ID, "evt_"), strings.HasPrefix(f.ID, "ntc_"):
		return selectQueuedJob
	case f.State == checkout.JobPending:
		return selectPendingJobs
	case f.State == checkout.JobFailed:
		return selectFailedJobs
	}
	return selectJobs
}

func (db *DB) Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	found, err := list(ctx, db, "backlog", itself[rows.Backlog], selectBacklog)
	return rows.Backlogs(found), err
}
