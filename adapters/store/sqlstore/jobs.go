package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// JobRow is a job in the form of its row. Its Due is when the next attempt may be made, whatever its lease.
type JobRow struct {
	checkout.JobRecord
	Until time.Time // the end of the lease; zero if it is not leased
}

// leased returns the lease of a job that was leased with its next token.
func (r JobRow) leased(until time.Time) checkout.Lease {
	return checkout.Lease{Job: r.Job, Token: r.Token, Attempts: r.Attempts, Cursor: r.Cursor, Until: Stored(until)}
}

// entered returns the job as it is stored.
func entered(j checkout.Job) checkout.Job {
	j.CreatedAt, j.Due = Stored(j.CreatedAt), time.Time{}
	j.Body = append([]byte(nil), j.Body...)
	return j
}

var jobs = `SELECT ` + JobRecord.Names() + ` FROM @.jobs`

// selectJob reads a job by its provider, checkout and id.
var selectJob = jobs + ` WHERE provider_code = ? AND checkout_id = ? AND id = ?`

// jobValues returns the values by which a job is found.
func jobValues(j checkout.Job) []any { return []any{j.ProviderCode, j.CheckoutID, j.ID} }

var scanJob = Scan(JobRecord)

const selectBacklog = `SELECT kind, count(*), min(created_ms) FROM @.jobs
		WHERE state = 'pending' GROUP BY kind`

// Backlog implements [ports.Queue].
func (s *Store) Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	all := map[checkout.JobKind]checkout.Backlog{}
	_, err := All(ctx, s.engine, func(r Row) (b checkout.Backlog, err error) {
		var kind checkout.JobKind
		if err = r.Scan((*string)(&kind), &b.Waiting, (*Instant)(&b.Oldest)); b.Waiting > 0 {
			all[kind] = b
		}
		return b, err
	}, selectBacklog)
	return all, wrap(err, "count the jobs")
}

// where is the conditions of a query, with their arguments.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) { w.addIf(true, condition, args...) }

func (w *where) addIf(given bool, condition string, args ...any) {
	if given {
		w.conditions, w.args = append(w.conditions, condition), append(w.args, args...)
	}
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(w.conditions, ` AND `)
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
		var kinds []any
		for _, kind := range f.Kinds {
			kinds = append(kinds, string(kind))
		}
		w.add(`kind IN (`+marks(len(kinds))+`)`, kinds...)
	}
	w.addIf(f.Settled, `kind = 'deliver' AND (state = 'done' OR state = 'dead' OR state = 'dropped')`)
	w.addIf(f.ProviderCode != "", `provider_code = ?`, f.ProviderCode)
	w.addIf(f.CheckoutID != "", `provider_code = ? AND checkout_id = ?`, checkout.ProviderOf(f.CheckoutID), f.CheckoutID)
	w.addIf(f.ID != "", `id = ?`, f.ID)
	w.addIf(f.OrderID != "", `provider_order_id = ?`, f.OrderID)
	w.addIf(f.OrderID != "" && f.ProviderCode != "",
		`checkout_id IN (SELECT c.id FROM @.checkouts AS c WHERE c.provider_code = ? AND c.provider_order_id = ?)`, f.ProviderCode, f.OrderID)
	w.addIf(!f.Since.IsZero(), `(created_ms >= ? OR failed_ms >= ?)`, f.Since.UnixMilli(), f.Since.UnixMilli())
	w.addIf(!f.CreatedSince.IsZero(), `created_ms >= ?`, f.CreatedSince.UnixMilli())
	order := ` ORDER BY created_ms DESC, position DESC LIMIT ?`
	switch {
	case f.CheckoutID != "" && f.OldestFirst:
		order = ` ORDER BY position LIMIT ?`
	case f.CheckoutID != "":
		order = ` ORDER BY position DESC LIMIT ?`
	case f.OldestFirst:
		order = ` ORDER BY created_ms, position LIMIT ?`
	}
	rows, err := All(ctx, s.engine, scanJob, jobs+w.String()+order, append(w.args, limit)...)
	var list []checkout.JobRecord
	for _, row := range rows {
		list = append(list, row.Shown(row.Until))
	}
	return list, wrap(err, "read jobs")
}
