package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

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
	after := int64(-1)
	if f.After != nil && *f.After != "" {
		n, err := strconv.ParseUint(string(*f.After), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("cursor: %w", ports.ErrNotFound)
		}
		after = int64(n)
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

// Backlog implements [ports.Queue].
func (db *DB) Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	found, err := list(ctx, db, "backlog", itself[rows.Backlog], selectBacklog)
	return rows.Backlogs(found), err
}
