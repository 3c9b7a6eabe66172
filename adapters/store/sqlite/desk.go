package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
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
	findNewest = `SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts
		WHERE ?1 = '' OR provider_code = ?1 ORDER BY place DESC LIMIT ?2`

	// findWord takes a word, its provider if it is a checkout's id, the word in capitals, the first and the last beginning of a name, and
	// the first place of the last days.
	findWord = `WITH found (place) AS (
			SELECT place FROM checkouts WHERE provider_code = ?4 AND id = ?3
			UNION SELECT place FROM checkouts WHERE provider_order_id = ?3
			UNION SELECT place FROM checkouts WHERE billing_request_id = ?3 AND billing_request_id <> ''
			UNION SELECT place FROM checkouts WHERE mandate_id = ?3 AND mandate_id <> ''
			UNION SELECT c.place FROM agreements AS a JOIN checkouts AS c ON c.provider_code = a.provider_code AND c.id = a.checkout_id
				WHERE a.number = ?5
			UNION SELECT place FROM checkouts WHERE consent <> '' AND search >= ?6 AND search < ?7
			UNION SELECT place FROM checkouts WHERE place >= ?8 AND consent = '' AND search >= ?6 AND search < ?7)
		SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts
		WHERE place IN (SELECT place FROM found) AND (?1 = '' OR provider_code = ?1) ORDER BY place DESC LIMIT ?2`

	// findAddress takes an address behind a space, and the first place of the last days.
	findAddress = `SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts
		WHERE place IN (SELECT place FROM checkouts INDEXED BY checkouts_search WHERE consent <> '' AND substr(search, -length(?3)) = ?3
			UNION SELECT place FROM checkouts WHERE place >= ?4 AND consent = '' AND substr(search, -length(?3)) = ?3)
			AND (?1 = '' OR provider_code = ?1)
		ORDER BY place DESC LIMIT ?2`

	insertAct  = `INSERT INTO acts (` + rows.ActColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	selectActs = `SELECT ` + rows.ActColumns + ` FROM acts
		WHERE (?1 = '' OR provider_code = ?1) AND (?2 = '' OR subject = ?2) AND at_ms >= ?3 ORDER BY at_ms DESC, id DESC LIMIT ?4`
)

// troubles are the queries for the checkouts with a trouble since between ?1 and ?2, with the reason. Of several jobs of a checkout the
// first counts.
var troubles = map[checkout.Trouble]string{
	checkout.TroubleCRM:         ofJobs(`created_ms`, `state = 'pending' AND kind IN ('sync', 'end') AND failure <> ''`),
	checkout.TroubleEvents:      ofJobs(`settled_ms`, `state = 'failed' AND kind = 'deliver'`),
	checkout.TroubleNotices:     ofJobs(`settled_ms`, `state = 'failed' AND kind = 'notify'`),
	checkout.TroubleMandates:    ofCheckouts(`status = 'confirmed'`),
	checkout.TroubleUnconfirmed: ofCheckouts(`status <> 'confirmed' AND setup_completed_ms <> 0`),
	checkout.TroubleUnfinished:  ofCheckouts(`status <> 'confirmed' AND setup_completed_ms = 0`),
}

func ofJobs(since, condition string) string {
	return `SELECT provider_code AS p, checkout_id AS i, min(` + since + `) AS since, failure AS reason FROM jobs
		WHERE ` + condition + ` AND ` + since + ` >= ?1 AND ` + since + ` < ?2 GROUP BY provider_code, checkout_id`
}

func ofCheckouts(condition string) string {
	return `SELECT provider_code AS p, id AS i, attention_ms AS since, '' AS reason FROM checkouts
		WHERE attention_ms <> 0 AND attention_ms >= ?1 AND attention_ms < ?2 AND ` + condition
}

// findTrouble returns the query for the checkouts with a trouble.
func findTrouble(t checkout.Trouble) string {
	order := `since, id`
	if t == checkout.TroubleCRM { // the next to be paid first
		order = `iif(status = 'confirmed', agreed_first_payment, first_payment), ` + order
	}
	return `SELECT ` + rows.CheckoutColumns + `, since, reason FROM (` + troubles[t] + `) JOIN checkouts ON provider_code = p AND id = i
		WHERE ?3 = '' OR p = ?3 ORDER BY ` + order + ` LIMIT ?4`
}

// countTrouble returns the query for the number of the checkouts of each provider with a trouble.
func countTrouble(t checkout.Trouble) string {
	return `SELECT p, count(*), min(since) FROM (` + troubles[t] + `) GROUP BY p`
}

func (db *DB) Find(ctx context.Context, q checkout.Query, limit int) ([]checkout.Hit, error) {
	if q.Trouble != "" {
		earliest, latest := q.Trouble.Window(q.Now)
		return ask(ctx, db, "find", rows.Hit.Hit, findTrouble(q.Trouble), max(rows.Millis(earliest), 1), rows.Millis(latest), q.ProviderCode, limit)
	}
	query, args := db.words(q.Words())
	return ask(ctx, db, "find", rows.Hit.Hit, query, append([]any{q.ProviderCode, limit}, args...)...)
}

// words returns the query for a word, with its arguments.
func (db *DB) words(word string) (query string, args []any) {
	recent := rows.Millis(db.now().AddDate(0, 0, -checkout.SearchDays)) << placeBits
	switch {
	case word == "":
		return findNewest, nil
	case strings.ContainsRune(word, '@'):
		return findAddress, []any{" " + text.FoldEmail(word), recent}
	}
	first, last := text.FoldName(word), ""
	if first != "" {
		last = first + "\U0010ffff"
	}
	return findWord, []any{word, checkout.ProviderOf(word), strings.ToUpper(word), first, last, recent}
}

func (db *DB) Troubles(ctx context.Context, now time.Time) (counts []checkout.TroubleCount, err error) {
	for _, t := range checkout.Troubles() {
		to := func(r rows.TroubleCount) (checkout.TroubleCount, error) { return r.Of(t), nil }
		earliest, latest := t.Window(now)
		of, err := ask(ctx, db, fmt.Sprint("trouble ", t), to, countTrouble(t), max(rows.Millis(earliest), 1), rows.Millis(latest))
		if err != nil {
			return nil, err
		}
		counts = append(counts, of...)
	}
	return counts, nil
}

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

const (
	selectExported     = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts WHERE ?1 = '' OR lower(email) = lower(?1) ORDER BY place`
	selectExportedJobs = `SELECT ` + rows.JobColumns + ` FROM jobs WHERE provider_code = ? AND checkout_id = ? ORDER BY position, id`
	selectLength       = `SELECT length(bytes) FROM documents WHERE provider_code = ? AND checkout_id = ?`
)

func (db *DB) Export(ctx context.Context, email string, visit checkout.Visitor) error {
	return db.read(ctx, func(c *conn) error {
		if _, err := c.exec(`BEGIN`); err != nil { // from here on it reads the store as it is at one time
			return err
		}
		defer c.exec(rollback) // it wrote nothing
		if email == "" {
			configurations, err := db.configurations(ctx, c)
			keys, keysErr := all(ctx, c, rows.Key.Key, selectKeys)
			if err := errors.Join(err, keysErr); err != nil {
				return fmt.Errorf("export configuration: %w", err)
			}
			if err := rows.Visit(visit, configurations, keys); err != nil {
				return err
			}
		}
		return c.query(ctx, selectExported, []any{email}, func(values []driver.Value) error {
			r, err := scan[rows.Checkout](values)
			if err != nil {
				return err
			}
			return exportCheckout(ctx, c, r, visit)
		})
	})
}

// exportCheckout passes everything on record about a checkout to visit.
func exportCheckout(ctx context.Context, c *conn, r rows.Checkout, visit checkout.Visitor) error {
	of, err := r.Checkout()
	agreements, agreementErr := all(ctx, c, rows.Agreement.Agreement, selectAgreement, r.ProviderCode, r.ID)
	lengths, lengthErr := all(ctx, c, itself[value[int64]], selectLength, r.ProviderCode, r.ID)
	jobs, jobsErr := all(ctx, c, rows.Job.Record, selectExportedJobs, r.ProviderCode, r.ID)
	moments, momentsErr := all(ctx, c, rows.Moment.Moment, selectMoments, r.ProviderCode, r.ID)
	record := checkout.CheckoutRecord{Checkout: of, Jobs: jobs, Moments: moments}
	for _, a := range agreements {
		record.Agreement = &a
	}
	for _, length := range lengths {
		record.Document = int(length.v)
	}
	switch err := errors.Join(err, agreementErr, lengthErr, jobsErr, momentsErr); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return visit.Unreadable(r.ID, err)
	}
	return visit.Checkout(record)
}
