package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
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

// selectFunnel reads the stages in the order of an index, and adds the checkouts whose words are not filled in yet.
func (d Dialect) selectFunnel() string {
	const (
		of    = `SELECT created_ms / 86400000 AS day, provider_code, count(*) AS created, `
		since = ` AND created_ms / 86400000 >= ? AND created_ms / 86400000 < ?` + ofProvider + ` GROUP BY created_ms / 86400000, provider_code`
	)
	return `SELECT day, provider_code, CAST(sum(created) AS bigint), CAST(sum(opened) AS bigint), CAST(sum(pressed) AS bigint),
			CAST(sum(set_up) AS bigint), CAST(sum(confirmed) AS bigint)
		FROM (` + of + `count(*) FILTER (WHERE stage > 1) AS opened, count(*) FILTER (WHERE stage > 2) AS pressed,
				count(*) FILTER (WHERE stage > 3) AS set_up, count(*) FILTER (WHERE stage > 4) AS confirmed
			FROM @.checkouts WHERE stage > 0` + since + ` UNION ALL ` + of + `0, 0, 0, 0 FROM ` + d.Unfolded + ` AND stage = 0` + since + `) AS f
		GROUP BY day, provider_code ORDER BY day, provider_code`
}

func scanFunnelDay(r Row) (d checkout.FunnelDay, err error) {
	var day int64 // since 1970
	err = r.Scan(&day, &d.ProviderCode, &d.Created, &d.Opened, &d.Pressed, &d.SetUp, &d.Confirmed)
	d.Day = time.Unix(day*86400, 0).UTC().Format(time.DateOnly)
	return d, err
}

// Funnel implements [ports.Desk].
func (s *Store) Funnel(ctx context.Context, from, to time.Time, provider string) (days []checkout.FunnelDay, err error) {
	args := []any{from.Unix() / 86400, to.Unix() / 86400, provider, provider}
	err = s.ask(ctx, "count the funnel", func(ctx context.Context, src Source) error {
		days, err = All(ctx, src, scanFunnelDay, s.dialect.selectFunnel(), append(args, args...)...)
		return err
	})
	return days, err
}

// The agreements of a month: with a charge that is due in it or later, or withdrawn then though nothing was due any more.
const (
	selectConcluded = `SELECT a.provider_code, a.number, a.checkout_id, a.provider_order_id, a.accepted_ms, a.principal_cents, a.upfront_cents,
		a.schedule, c.status, c.mandate_status, c.agreement_number, c.agreement_id, c.ended_ms `
	dueInMonth = `FROM @.agreements AS a JOIN @.checkouts AS c ON c.provider_code = a.provider_code AND c.id = a.checkout_id
		WHERE a.last_day >= ?`
	// SQLite joins in this order.
	endedInMonth = `FROM @.checkouts AS c CROSS JOIN @.agreements AS a
		WHERE c.ended_ms >= ? AND a.provider_code = c.provider_code AND a.checkout_id = c.id AND a.last_day < ?`
	concludedPage = ` AND a.accepted_ms < ? AND (a.accepted_ms, a.number) < (?, ?) ORDER BY a.accepted_ms DESC, a.number DESC LIMIT ?`
)

var scanConcluded = Fields(func(c *checkout.Concluded) []any {
	a, of := &c.Agreement, &c.Checkout
	return []any{&a.Provider.Code, &a.Number, &a.CheckoutID, &a.OrderID, (*Time)(&a.AcceptedAt), (*int64)(&a.Pricing.Principal),
		(*int64)(&a.Pricing.Upfront), (*Schedule)(&a.Schedule), (*string)(&of.Status), (*string)(&of.Setup.Mandate),
		&of.Confirmation.AgreementNumber, &of.Confirmation.AgreementID, (*Time)(&of.End.At)}
})

// lastDay returns the day after which nothing of an agreement is due, nor was it accepted, in any time zone.
func lastDay(a *agreement.Agreement) string {
	day := dateText(money.DateOf(a.AcceptedAt.UTC().AddDate(0, 0, 1)))
	for _, c := range a.Schedule {
		day = max(day, dateText(c.Due))
	}
	return day
}

// Concluded implements [ports.Desk].
func (s *Store) Concluded(ctx context.Context, m checkout.Month, after string, limit int) (page []checkout.Concluded, next string, err error) {
	last := listed{since: m.Ends().UnixMilli()}
	if after != "" {
		if last, err = parseCursor(after); err != nil {
			return nil, "", fmt.Errorf("read agreements: %w", err)
		}
	}
	end := min(m.Ends().UnixMilli(), last.since+1) // so that a page does not read the pages before it
	first, from := dateText(m.First), []any{end, last.since, last.ID, limit + 1}
	err = s.ask(ctx, "read agreements", func(ctx context.Context, src Source) error {
		due, err := All(ctx, src, scanConcluded, selectConcluded+dueInMonth+concludedPage, append([]any{first}, from...)...)
		if err != nil {
			return err
		}
		ended, err := All(ctx, src, scanConcluded, selectConcluded+endedInMonth+concludedPage,
			append([]any{m.Begins().UnixMilli(), first}, from...)...)
		page = append(due, ended...)
		return err
	})
	for i := range page {
		c := &page[i]
		c.Checkout.ProviderCode, c.Checkout.ID, c.Checkout.OrderID = c.Agreement.Provider.Code, c.Agreement.CheckoutID, c.Agreement.OrderID
	}
	slices.SortFunc(page, func(a, b checkout.Concluded) int {
		return cmp.Or(b.Agreement.AcceptedAt.Compare(a.Agreement.AcceptedAt), cmp.Compare(b.Agreement.Number, a.Agreement.Number))
	})
	if len(page) > limit {
		a := page[limit-1].Agreement
		page, next = page[:limit], fmt.Sprintf("agreement %d %s", a.AcceptedAt.UnixMilli(), a.Number)
	}
	return page, next, err
}
