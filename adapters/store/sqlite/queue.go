package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const jobColumns = `provider_code, checkout_id, id, kind, position, request_id, name, body, try, created_ms, due_ms, state, again, token,
	leased_until_ms, attempts, cursor, failed_ms, failure, receipt, settled_ms`

const (
	insertJob = `INSERT INTO jobs (entered, ` + jobColumns + `)
		VALUES ((SELECT max(?, 1 + ifnull(max(entered), 0)) FROM jobs), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertNotice = `INSERT INTO jobs (entered, ` + jobColumns + `)
		VALUES ((SELECT max(?, 1 + ifnull(max(entered), 0)) FROM jobs), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (provider_code, checkout_id, id) DO NOTHING`
	hastenNotices = `UPDATE jobs SET due_ms = ?1
		WHERE provider_code = ?2 AND checkout_id = ?3 AND +kind = 'notify' AND +state = 'pending' AND due_ms > ?1`
	updateJob = `UPDATE jobs SET position = ?, request_id = ?, name = ?, body = ?, try = ?, created_ms = ?, due_ms = ?, state = ?,
			again = ?, token = ?, leased_until_ms = ?, attempts = ?, cursor = ?, failed_ms = ?, failure = ?, receipt = ?, settled_ms = ?
		WHERE provider_code = ? AND checkout_id = ? AND id = ?`
	selectJob = `SELECT ` + jobColumns + ` FROM jobs WHERE provider_code = ? AND checkout_id = ? AND id = ?`

	existsPendingEvent = `SELECT EXISTS (SELECT 1 FROM jobs
		WHERE provider_code = ? AND checkout_id = ? AND +kind = 'deliver' AND +state = 'pending')`
	existsCheckout = `SELECT EXISTS (SELECT 1 FROM checkouts WHERE provider_code = ? AND id = ?)`

	// selectDue takes a kind, the first and the last time due, the times between which a lease holds, whether the jobs are queued,
	// the providers that are left out, as JSON, and a limit. The signs keep the index of pending jobs for the outer query.
	selectDue = `SELECT entered, ` + jobColumns + ` FROM jobs AS j
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
	extend = `UPDATE jobs SET leased_until_ms = ?
		WHERE provider_code = ? AND checkout_id = ? AND id = ? AND token = ? AND state = 'pending'`
	giveBack = `UPDATE jobs SET leased_until_ms = 0, due_ms = 0
		WHERE provider_code = ? AND checkout_id = ? AND id = ? AND token = ? AND state = 'pending'`
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

// entering is a job that enters with a change, as its row.
type entering struct {
	rows.Job
	kind   checkout.JobKind
	direct bool // its caller attempts it, if it can have the lease
}

// enter writes the jobs of the entry, and leases the jobs that its caller attempts.
func (e *entry) enter(t *tx, isNew bool) (leases []checkout.Lease) {
	behind := false // an event that is pending
	if !isNew && e.hold > 0 && len(e.jobs) > 0 {
		found, _ := find[value[int64]](t, existsPendingEvent, e.provider, e.checkout)
		behind = found.v == 1
	}
	for _, j := range e.jobs {
		switch {
		case !isNew && j.kind == checkout.JobNotify:
			if t.exec(insertNotice, e.entering(j.Job)...) > 0 {
				t.exec(hastenNotices, rows.Millis(e.now), j.ProviderCode, j.CheckoutID)
			}
			continue
		case !isNew && !j.kind.Queued():
			if known, ok := find[rows.Job](t, selectJob, j.ProviderCode, j.CheckoutID, j.ID); ok {
				leased := e.lease(armed(known, j.Job), j.direct && !leased(known, e.now), &leases)
				t.overwrite(leased)
				continue
			}
		}
		direct := j.direct && !(behind && j.kind == checkout.JobDeliver)
		t.exec(insertJob, e.entering(e.lease(j.Job, direct, &leases))...)
	}
	return leases
}

// entering returns the arguments to insert a job.
func (e *entry) entering(r rows.Job) []any { return append([]any{e.now.UnixMicro()}, r.Fields()...) }

// lease returns a row as it is leased to the caller that attempts it.
func (e *entry) lease(r rows.Job, direct bool, leases *[]checkout.Lease) rows.Job {
	if direct {
		*leases = append(*leases, r.Lease(e.hold))
		r.Token, r.Again, r.LeasedUntilMS = r.Token+1, false, rows.Millis(e.now.Add(e.hold))
	}
	return r
}

// overwrite writes a job on record.
func (t *tx) overwrite(r rows.Job) {
	t.exec(updateJob, append(r.Fields()[4:], r.ProviderCode, r.CheckoutID, r.ID)...)
}

// leased reports whether a job has a lease. A lease that ends too far ahead was set by a wrong clock.
func leased(r rows.Job, now time.Time) bool {
	return r.LeasedUntilMS > rows.Millis(now) && r.LeasedUntilMS <= rows.Millis(now.Add(checkout.MaxLease))
}

// armed returns a job on record as it is once another is entered. A queued job keeps its attempts.
func armed(known, given rows.Job) rows.Job {
	switch {
	case known.State == string(checkout.JobPending):
		known.DueMS = min(known.DueMS, given.DueMS)
	case checkout.JobKind(known.Kind).Queued():
		known.DueMS, known.SettledMS = given.DueMS, 0
	default:
		given.Token, given.Cursor, given.LeasedUntilMS = known.Token, known.Cursor, known.LeasedUntilMS
		known = given
	}
	known.State, known.Again = string(checkout.JobPending), !checkout.JobKind(known.Kind).Queued()
	return known
}

// Enqueue implements [ports.Queue].
func (db *DB) Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (count int, err error) {
	jobs = slices.Clone(jobs)
	for i, j := range jobs {
		jobs[i].Position = checkout.FirstPosition(j.CreatedAt) + int64(i)
	}
	e := db.entryOf(checkout.Change{Jobs: jobs, Act: act}, 0)
	err = db.write(ctx, "enqueue jobs", func(t *tx) {
		count = 0
		for _, j := range e.jobs {
			known, ok := find[rows.Job](t, selectJob, j.ProviderCode, j.CheckoutID, j.ID)
			exists, _ := find[value[int64]](t, existsCheckout, j.ProviderCode, j.CheckoutID)
			switch {
			case ok && (!j.kind.Queued() || known.Record().Retries()):
				t.overwrite(armed(known, j.Job))
			case j.kind.Queued(), j.CheckoutID != "" && exists.v == 0:
				continue
			default:
				t.exec(insertJob, e.entering(j.Job)...)
			}
			count++
		}
		insert(t, insertAct, e.act...)
	})
	return count, err
}

// due is a job that is due.
type due struct {
	entered int64
	rows.Job
}

func (r *due) Fields() []any { return append([]any{&r.entered}, r.Job.Fields()...) }

// Lease implements [ports.Queue].
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
			if t.exec(lease, j.entered, rows.Millis(now.Add(q.For)), j.Token, j.DueMS, j.LeasedUntilMS, checkout.JobKind(j.Kind).Queued()) > 0 {
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
			list, err := all[due](ctx, c, selectDue, string(kind), between[0], between[1], rows.Millis(now)+1,
				rows.Millis(now.Add(checkout.MaxLease)), kind.Queued(), jsonList(except), left)
			if err != nil {
				return nil, fmt.Errorf("due jobs of kind %s: %w", kind, err)
			}
			found, left = append(found, list...), left-len(list)
		}
	}
	return found, nil
}

// Extend implements [ports.Queue].
func (db *DB) Extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	j, until := l.Job, rows.Millis(db.now().Add(d))
	return db.hold(ctx, l, func(t *tx) int64 {
		if d == 0 {
			return t.exec(giveBack, j.ProviderCode, j.CheckoutID, j.ID, l.Token)
		}
		return t.exec(extend, until, j.ProviderCode, j.CheckoutID, j.ID, l.Token)
	})
}

// hold writes something of a leased job, or returns ErrNotFound for a lease that was lost, for which a statement changes nothing.
func (db *DB) hold(ctx context.Context, l checkout.Lease, run func(*tx) (changed int64)) error {
	return db.write(ctx, fmt.Sprintf("job %s with token %d", l.Job.ID, l.Token), func(t *tx) {
		if run(t) == 0 {
			t.fail(ports.ErrNotFound)
		}
	})
}

// Settle implements [ports.Queue].
func (db *DB) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	now, j := db.now(), l.Job
	var moments []rows.Moment
	if len(o.Moments) > 0 {
		for _, m := range checkout.NumberMoments(o.Moments, checkout.FirstPosition(o.Moments[0].At)) {
			moments = append(moments, rows.OfMoment(j.ProviderCode, j.CheckoutID, m))
		}
	}
	return db.hold(ctx, l, func(t *tx) int64 {
		changed := t.exec(settle, j.ProviderCode, j.CheckoutID, j.ID, l.Token, string(o.State), rows.Millis(now.Add(o.Pause)), rows.Millis(now),
			o.Attempts, o.Cursor, rows.Millis(o.Failure.At), o.Failure.Reason, o.Receipt)
		if changed > 0 {
			insert(t, noteMoment, moments...)
		}
		return changed
	})
}
