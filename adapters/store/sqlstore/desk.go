package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// troubles are the queries for the things that have a trouble: provider, checkout and since when, given the earliest and the latest
// time. A sum hides the time of a job from the planner of SQLite, which would read all jobs since then.
var troubles = map[checkout.Trouble]string{
	checkout.TroubleCRM: ofJobs + `state = 'pending' AND kind IN ('open', 'complete', 'authority', 'end', 'cancel') AND failure <> ''` + between,
	checkout.TroubleMandates: `SELECT provider_code, id, mandate_since_ms AS since FROM @.checkouts
		WHERE status = 'confirmed' AND ended_ms IS NULL AND mandate_status IN ('failed', 'cancelled', 'expired', 'blocked')
			AND mandate_since_ms >= ? AND mandate_since_ms < ?`,
	checkout.TroubleUnconfirmed: `SELECT provider_code, id, setup_completed_ms AS since FROM @.checkouts
		WHERE setup_completed_ms IS NOT NULL AND confirmed_ms IS NULL AND setup_completed_ms >= ? AND setup_completed_ms < ?
			AND status = 'direct_debit_setup_required' AND mandate_status NOT IN ('failed', 'cancelled', 'expired', 'blocked')`,
	checkout.TroubleEvents:  ofJobs + `state = 'dead' AND kind = 'deliver'` + between,
	checkout.TroubleNotices: ofJobs + `state = 'dead' AND kind = 'notify'` + between,
	checkout.TroubleUnfinished: `SELECT provider_code, id, created_ms AS since FROM @.checkouts
		WHERE consent <> '' AND setup_completed_ms IS NULL AND confirmed_ms IS NULL AND created_ms >= ? AND created_ms < ?
			AND status = 'direct_debit_setup_required'`,
	checkout.TroubleNotifications: `SELECT provider_code, id, created_ms AS since FROM @.jobs WHERE state = 'pending' AND kind = 'notified'` + between,
}

const (
	ofJobs  = `SELECT provider_code, checkout_id AS id, created_ms AS since FROM @.jobs WHERE `
	between = ` AND created_ms + 0 >= ? AND created_ms + 0 < ?`
)

// ofTrouble returns the query for the checkouts that have the trouble of q, of which a checkout may have several.
func ofTrouble(q checkout.Query) []lookup {
	query, known := troubles[q.Trouble]
	if !known || !q.Trouble.OfCheckouts() {
		return nil
	}
	earliest, latest := q.Trouble.Window(q.Now)
	return []lookup{{`SELECT provider_code, id, since FROM (SELECT provider_code, id, min(since) AS since FROM (` + query +
		`) AS t GROUP BY provider_code, id) AS l WHERE true`, []any{earliest.UnixMilli(), latest.UnixMilli()}, ` ORDER BY since, id`}}
}

// Troubles implements [ports.Desk].
func (s *Store) Troubles(ctx context.Context, now time.Time) (counts []checkout.TroubleCount, err error) {
	err = s.ask(ctx, "count troubles", func(ctx context.Context, src Source) error {
		counts = nil
		for _, t := range checkout.Troubles() {
			earliest, latest := t.Window(now)
			list, err := All(ctx, src, Fields(func(c *checkout.TroubleCount) []any {
				return []any{&c.ProviderCode, &c.Count, (*Instant)(&c.Oldest)}
			}), `SELECT provider_code, count(DISTINCT id), min(since) FROM (`+troubles[t]+`) AS t
				GROUP BY provider_code ORDER BY provider_code`,
				earliest.UnixMilli(), latest.UnixMilli())
			if err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			for _, c := range list {
				c.Trouble = t
				counts = append(counts, c)
			}
		}
		return nil
	})
	return counts, err
}
