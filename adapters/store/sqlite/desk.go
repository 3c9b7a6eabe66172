package sqlite

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// The queries of Find take a provider (” for all) and a limit first.
const (
	// The newest are sorted by time and id: the first query finds the place from which on they are enough.
	findNewest = `SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts
		WHERE (?1 = '' OR provider_code = ?1) AND place >= coalesce((SELECT min(place) >> 16 << 16 FROM (
			SELECT place FROM checkouts WHERE ?1 = '' OR provider_code = ?1 ORDER BY place DESC LIMIT ?2)), 0)
		ORDER BY created_ms DESC, id DESC LIMIT ?2`

	// findWord takes a word, its provider if it is a checkout's id, the word in capitals, the first and the last beginning of a name, and
	// the first place of the last days.
	findWord = `WITH RECURSIVE codes (code) AS (
			SELECT min(provider_code) FROM checkouts
			UNION ALL SELECT (SELECT min(provider_code) FROM checkouts WHERE provider_code > code) FROM codes WHERE code IS NOT NULL),
		found (place) AS (
			SELECT place FROM checkouts WHERE provider_code = ?4 AND id = ?3
			UNION SELECT c.place FROM codes CROSS JOIN checkouts AS c ON c.provider_code = code AND c.provider_order_id = ?3
			UNION SELECT place FROM checkouts WHERE billing_request_id = ?3 AND billing_request_id <> ''
			UNION SELECT place FROM checkouts WHERE mandate_id = ?3 AND mandate_id <> ''
			UNION SELECT c.place FROM agreements AS a JOIN checkouts AS c ON c.provider_code = a.provider_code AND c.id = a.checkout_id
				WHERE a.number = ?5
			UNION SELECT place FROM checkouts WHERE consent <> '' AND search >= ?6 AND search < ?7
			UNION SELECT place FROM checkouts WHERE place >= ?8 AND consent = '' AND search >= ?6 AND search < ?7)
		SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts
		WHERE place IN (SELECT place FROM found) AND (?1 = '' OR provider_code = ?1)
		ORDER BY created_ms DESC, id DESC LIMIT ?2`

	// findAddress takes an address behind a space, and the first place of the last days.
	findAddress = `SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts
		WHERE place IN (SELECT place FROM checkouts INDEXED BY checkouts_search WHERE consent <> '' AND substr(search, -length(?3)) = ?3
			UNION SELECT place FROM checkouts WHERE place >= ?4 AND consent = '' AND substr(search, -length(?3)) = ?3)
			AND (?1 = '' OR provider_code = ?1)
		ORDER BY created_ms DESC, id DESC LIMIT ?2`

	findEvent = `SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts
		WHERE (provider_code, id) IN (
				SELECT provider_code, checkout_id FROM jobs WHERE id = ?3 AND state <> 'pending' AND kind IN ('deliver', 'notify')
				UNION SELECT provider_code, checkout_id FROM jobs WHERE id = ?3 AND state = 'pending')
			AND (?1 = '' OR provider_code = ?1)
		ORDER BY created_ms DESC, id DESC LIMIT ?2`

	// The queries for troubles take the first and the last time of its window, and two kinds of jobs or statuses. Of several jobs of a
	// checkout the first counts.
	findPending = `SELECT ` + rows.CheckoutColumns + `, since, reason FROM checkouts JOIN (
			SELECT provider_code AS of, checkout_id, min(created_ms) AS since, failure AS reason FROM jobs
			WHERE state = 'pending' AND kind IN ('sync', 'end') AND failure <> '' AND (?1 = '' OR provider_code = ?1)
				AND created_ms >= ?3 AND created_ms < ?4
			GROUP BY provider_code, checkout_id) ON provider_code = of AND id = checkout_id
		ORDER BY iif(status = 'confirmed', agreed_first_payment, first_payment), since, id LIMIT ?2`
	findFailed = `SELECT ` + rows.CheckoutColumns + `, since, reason FROM checkouts JOIN (
			SELECT provider_code AS of, checkout_id, min(settled_ms) AS since, failure AS reason FROM jobs
			WHERE state = 'failed' AND kind = ?5 AND (?1 = '' OR provider_code = ?1) AND settled_ms >= ?3 AND settled_ms < ?4
			GROUP BY provider_code, checkout_id) ON provider_code = of AND id = checkout_id
		ORDER BY since, id LIMIT ?2`
	findAttention = `SELECT ` + rows.CheckoutColumns + `, attention_ms, '' FROM checkouts
		WHERE attention_ms <> 0 AND attention_ms >= ?3 AND attention_ms < ?4 AND status = ?5 AND (?6 OR setup_completed_ms = 0)
			AND (?7 OR setup_completed_ms <> 0) AND (?1 = '' OR provider_code = ?1)
		ORDER BY attention_ms, id LIMIT ?2`

	countPending = `SELECT provider_code, count(DISTINCT checkout_id), min(created_ms) FROM jobs
		WHERE state = 'pending' AND kind IN ('sync', 'end') AND failure <> '' AND created_ms >= ?1 AND created_ms < ?2
		GROUP BY provider_code`
	countFailed = `SELECT provider_code, count(DISTINCT checkout_id), min(settled_ms) FROM jobs
		WHERE state = 'failed' AND kind = ?3 AND settled_ms >= ?1 AND settled_ms < ?2 GROUP BY provider_code`
	countAttention = `SELECT provider_code, count(*), min(attention_ms) FROM checkouts
		WHERE attention_ms <> 0 AND attention_ms >= ?1 AND attention_ms < ?2 AND status = ?3 AND (?4 OR setup_completed_ms = 0) AND (?5 OR setup_completed_ms <> 0)
		GROUP BY provider_code`

	insertAct  = `INSERT INTO acts (` + rows.ActColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	selectActs = `SELECT ` + rows.ActColumns + ` FROM acts
		WHERE (?1 = '' OR provider_code = ?1) AND (?2 = '' OR subject = ?2) AND at_ms >= ?3 ORDER BY at_ms DESC, id DESC LIMIT ?4`
)

// Find implements [ports.Desk].
func (db *DB) Find(ctx context.Context, q checkout.Query, limit int) ([]checkout.Hit, error) {
	query, args := db.words(q.Words())
	if q.Trouble != "" {
		query, args = trouble(q.Trouble, q.Now, findPending, findFailed, findAttention)
	}
	return ask(ctx, db, "find", rows.Hit.Hit, query, append([]any{q.ProviderCode, limit}, args...)...)
}

// words returns the query for a word, with its arguments.
func (db *DB) words(word string) (query string, args []any) {
	recent := rows.Millis(db.now().AddDate(0, 0, -checkout.SearchDays)) << placeBits
	switch {
	case word == "":
		return findNewest, nil
	case strings.HasPrefix(word, "evt_"):
		return findEvent, []any{word}
	case strings.ContainsRune(word, '@'):
		return findAddress, []any{" " + text.FoldEmail(word), recent}
	}
	first, last := text.FoldName(word), ""
	if first != "" {
		last = first + "\U0010ffff"
	}
	return findWord, []any{word, checkout.ProviderOf(word), strings.ToUpper(word), first, last, recent}
}

// trouble returns the query of three for a trouble, with its arguments.
func trouble(t checkout.Trouble, now time.Time, pending, failed, attention string) (query string, args []any) {
	earliest, latest := t.Window(now)
	args = []any{max(rows.Millis(earliest), 1), rows.Millis(latest)}
	switch t {
	case checkout.TroubleCRM:
		return pending, args
	case checkout.TroubleEvents:
		return failed, append(args, string(checkout.JobDeliver))
	case checkout.TroubleNotices:
		return failed, append(args, string(checkout.JobNotify))
	case checkout.TroubleMandates:
		return attention, append(args, string(checkout.Confirmed), true, true)
	}
	completed := t == checkout.TroubleUnconfirmed
	return attention, append(args, string(checkout.SetupRequired), completed, !completed)
}

// Troubles implements [ports.Desk].
func (db *DB) Troubles(ctx context.Context, now time.Time) (counts []checkout.TroubleCount, err error) {
	for _, t := range checkout.Troubles() {
		to := func(r rows.TroubleCount) (checkout.TroubleCount, error) { return r.Of(t), nil }
		query, args := trouble(t, now, countPending, countFailed, countAttention)
		of, err := ask(ctx, db, fmt.Sprint("trouble ", t), to, query, args...)
		if err != nil {
			return nil, err
		}
		counts = append(counts, of...)
	}
	return counts, nil
}

// Acts implements [ports.Desk].
func (db *DB) Acts(ctx context.Context, f checkout.ActFilter, limit int) ([]checkout.Act, error) {
	return ask(ctx, db, "acts", rows.Act.Record, selectActs, f.ProviderCode, f.Subject, since(f.Since), limit)
}

// since returns the first time that a filter admits, as a column has it.
func since(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return rows.Millis(t)
}
