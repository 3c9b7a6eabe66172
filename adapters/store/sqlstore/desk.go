package sqlstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
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
	checkout.TroubleEvidence: `SELECT '' AS provider_code, id, recorded_ms AS since FROM @.evidence
		WHERE position IS NULL AND recorded_ms >= ? AND recorded_ms < ?`,
}

const (
	ofJobs  = `SELECT provider_code, checkout_id AS id, created_ms AS since FROM @.jobs WHERE `
	between = ` AND created_ms + 0 >= ? AND created_ms + 0 < ?`
)

// troubled returns the entries that have the trouble of a query.
func (d desk) troubled(ctx context.Context, q checkout.Query, after string) ([]listed, error) {
	query, known := troubles[q.Trouble]
	if !known || !q.Trouble.OfCheckouts() {
		return nil, nil
	}
	var from listed
	if after != "" {
		var err error
		if from, err = parseCursor(after); err != nil || from.by != string(q.Trouble) {
			return nil, ports.ErrNotFound
		}
	}
	earliest, latest := q.Trouble.Window(q.Now)
	if strings.Contains(query, `@.jobs`) { // of which a checkout may have several
		query = `SELECT provider_code, id, min(since) AS since FROM (` + query + `) AS t GROUP BY provider_code, id`
	}
	return d.list(ctx, string(q.Trouble), `SELECT provider_code, id, since FROM (`+query+`) AS l WHERE (since, id) > (?, ?)`+ofProvider+` ORDER BY since, id LIMIT ?`,
		earliest.UnixMilli(), latest.UnixMilli(), from.since, from.ID, d.of, d.of, d.limit+1)
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

// Funnel implements [ports.Desk]: what is counted already, and the moments and the checkouts since.
func (s *Store) Funnel(ctx context.Context, from, to, provider string) (days []checkout.FunnelDay, err error) {
	err = s.ask(ctx, "count the funnel", func(ctx context.Context, src Source) error {
		end, err := One(ctx, src, ScanValue[int64], selectFunnelEnd)
		if err != nil {
			return err
		}
		counted, err := All(ctx, src, Scan(FunnelDay), selectFunnel, from, to, provider, provider)
		if err != nil {
			return err
		}
		stages, err := All(ctx, src, scanStage, selectStages, end, math.MaxInt64, provider, provider)
		if err != nil {
			return err
		}
		fresh, err := All(ctx, src, scanUnfolded, s.statements.unfolded+ofProvider, provider, provider)
		for _, u := range fresh {
			stages = append(stages, createdStage(u.ProviderCode, u.ID))
		}
		days = checkout.CountStages(counted, stages, from, to)
		return err
	})
	return days, err
}

const selectConcluded = ` WHERE accepted_ms >= ? AND accepted_ms < ? AND (accepted_ms, number) < (?, ?)
	ORDER BY accepted_ms DESC, number DESC LIMIT ?`

// Concluded implements [ports.Desk].
func (s *Store) Concluded(ctx context.Context, from, to time.Time, after string,
	limit int) (page []checkout.Concluded, next string, err error) {
	last, end := listed{since: to.UnixMilli()}, to.UnixMilli()
	if after != "" {
		if last, err = parseCursor(after); err != nil {
			return nil, "", fmt.Errorf("read agreements: %w", err)
		}
		end = min(end, last.since+1) // so that a page does not read the pages before it
	}
	err = s.ask(ctx, "read agreements", func(ctx context.Context, src Source) error {
		page, next = nil, ""
		list, err := All(ctx, src, Scan(Agreement), agreements+selectConcluded,
			from.UnixMilli(), end, last.since, last.ID, limit+1)
		if err != nil || len(list) == 0 {
			return err
		}
		if len(list) > limit {
			list = list[:limit]
			a := list[limit-1]
			next = fmt.Sprintf("agreement %d %s", a.AcceptedAt.UnixMilli(), a.Number)
		}
		keys := make([]CheckoutKey, len(list))
		for i, a := range list {
			keys[i] = CheckoutKey{a.Provider.Code, a.CheckoutID}
		}
		isOne, args := ofCheckouts(`provider_code, id`, keys)
		found, err := All(ctx, src, scanCheckout, checkouts+` WHERE `+isOne, args...)
		for _, a := range list {
			page = append(page, concluded(a, found))
		}
		return err
	})
	return page, next, err
}

func concluded(a agreement.Agreement, of []checkout.Checkout) checkout.Concluded {
	i := slices.IndexFunc(of, func(c checkout.Checkout) bool { return c.ID == a.CheckoutID })
	return checkout.Concluded{Agreement: a, Checkout: of[max(i, 0)]}
}
