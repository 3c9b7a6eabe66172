package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
)

const (
	selectHits  = `SELECT ` + rows.CheckoutColumns + `, created_ms, '' FROM checkouts WHERE ($1 = '' OR provider_code = $1)`
	newestFirst = ` ORDER BY created_ms DESC, id DESC LIMIT $2`
	findAll     = selectHits + newestFirst

	// Students whose payer has not begun are searched for a few days: most of them are nobody's question, and an index of them all would
	// be written by each create.
	searched    = `(consent <> '' OR created_ms >= $4)`
	findAddress = selectHits + ` AND search <> '' AND right(search, length($3)) = $3 AND ` + searched + newestFirst
	findWord    = selectHits + ` AND (provider_code, id) IN (
		SELECT provider_code, id FROM checkouts WHERE provider_code = $5 AND id = $3
		UNION SELECT provider_code, id FROM checkouts WHERE provider_order_id = $3
		UNION SELECT provider_code, id FROM checkouts WHERE billing_request_id = $3 AND billing_request_id <> ''
		UNION SELECT provider_code, id FROM checkouts WHERE mandate_id = $3 AND mandate_id <> ''
		UNION SELECT provider_code, checkout_id FROM agreements WHERE number = upper($3)
		UNION SELECT provider_code, id FROM checkouts WHERE $6 <> '' AND consent <> '' AND search >= $6 AND search < $6 || chr(1114111)
		UNION SELECT provider_code, id FROM checkouts WHERE $6 <> '' AND consent = '' AND created_ms >= $4 AND starts_with(search, $6))` + newestFirst
)

// troubles are the queries for the checkouts with a trouble since between $1 and $2, with the reason.
var troubles = map[checkout.Trouble]string{
	checkout.TroubleCRM:         ofJobs(`created_ms`, `state = 'pending' AND kind IN ('sync', 'end') AND failure <> ''`),
	checkout.TroubleEvents:      ofJobs(`settled_ms`, `state = 'failed' AND kind = 'deliver'`),
	checkout.TroubleNotices:     ofJobs(`settled_ms`, `state = 'failed' AND kind = 'notify'`),
	checkout.TroubleMandates:    ofCheckouts(`status = 'confirmed'`),
	checkout.TroubleUnconfirmed: ofCheckouts(`status <> 'confirmed' AND setup_completed_ms <> 0`),
	checkout.TroubleUnfinished:  ofCheckouts(`status <> 'confirmed' AND setup_completed_ms = 0`),
}

func ofJobs(since, condition string) string {
	return `SELECT DISTINCT ON (provider_code, checkout_id) provider_code AS p, checkout_id AS i, ` + since + ` AS since, failure AS reason FROM jobs
		WHERE checkout_id <> '' AND ` + condition + ` AND ` + since + ` >= $1 AND ` + since + ` < $2 ORDER BY provider_code, checkout_id, since`
}

func ofCheckouts(condition string) string {
	return `SELECT provider_code AS p, id AS i, attention_ms AS since, '' AS reason FROM checkouts
		WHERE attention_ms <> 0 AND ` + condition + ` AND attention_ms >= $1 AND attention_ms < $2`
}

// findTrouble returns the query for the checkouts with a trouble.
func findTrouble(t checkout.Trouble) string {
	order := `since, id`
	if t == checkout.TroubleCRM { // the next to be paid first
		order = `CASE WHEN status = 'confirmed' THEN agreed_first_payment ELSE first_payment END, ` + order
	}
	return `SELECT ` + rows.CheckoutColumns + `, since, reason FROM (` + troubles[t] + `) AS t JOIN checkouts ON provider_code = p AND id = i
		WHERE $3 = '' OR provider_code = $3 ORDER BY ` + order + ` LIMIT $4`
}

func (db *DB) Find(ctx context.Context, q checkout.Query, limit int) ([]checkout.Hit, error) {
	word, since := q.Words(), time.Now().AddDate(0, 0, -checkout.SearchDays).UnixMilli()
	query, args := findWord, []any{q.ProviderCode, limit, word, since, checkout.ProviderOf(word), text.FoldName(word)}
	switch {
	case q.Trouble != "":
		earliest, latest := q.Trouble.Window(q.Now)
		query, args = findTrouble(q.Trouble), []any{rows.Millis(earliest), rows.Millis(latest), q.ProviderCode, limit}
	case word == "":
		query, args = findAll, args[:2]
	case strings.ContainsRune(word, '@'):
		query, args = findAddress, []any{q.ProviderCode, limit, " " + text.FoldEmail(word), since}
	}
	return ask(ctx, db, "find", rows.Hit.Hit, query, args...)
}

func (db *DB) Troubles(ctx context.Context, now time.Time) (counts []checkout.TroubleCount, err error) {
	for _, t := range checkout.Troubles() {
		earliest, latest := t.Window(now)
		to := func(r rows.TroubleCount) (checkout.TroubleCount, error) { return r.Of(t), nil }
		of, err := ask(ctx, db, "troubles", to, `SELECT p, count(*), min(since) FROM (`+troubles[t]+`) AS t GROUP BY p`,
			rows.Millis(earliest), rows.Millis(latest))
		if err != nil {
			return nil, err
		}
		counts = append(counts, of...)
	}
	return counts, nil
}

func (db *DB) Acts(ctx context.Context, f checkout.ActFilter, limit int) ([]checkout.Act, error) {
	return ask(ctx, db, "acts", rows.Act.Record, `SELECT `+rows.ActColumns+` FROM acts WHERE ($1 = '' OR provider_code = $1)
		AND ($2 = '' OR subject = $2) AND at_ms >= $3 ORDER BY at_ms DESC, id DESC LIMIT $4`, f.ProviderCode, f.Subject, rows.Millis(f.Since), limit)
}

// Scrub implements [ports.Desk]. It vacuums the tables that may have had personal data, so that no query and no dump sees the rows as
// they were. Their bytes may stay in free space of the tables' files until that is used again, and in the server's log of writes.
func (db *DB) Scrub(ctx context.Context) error {
	return db.call(ctx, "scrub", func(ctx context.Context, c *conn) error {
		_, err := c.Exec(ctx, `VACUUM checkouts, agreements, documents, jobs, sandbox_records`)
		return err
	})
}

const (
	// A visitor may be slow, but must not keep the snapshot for ever, which keeps the server from vacuuming.
	allowSlowVisitor = `SELECT set_config('idle_in_transaction_session_timeout', '10min', true)`
	// Checkouts are sorted once, by the server.
	declareExport = `DECLARE exported NO SCROLL CURSOR FOR SELECT ` + rows.CheckoutColumns + ` FROM checkouts
		WHERE $1 = '' OR lower(email) = lower($1 COLLATE "C") ORDER BY created_ms, id`
	fetchExport = `FETCH 100 FROM exported`

	selectLength       = `SELECT CAST(length(bytes) AS bigint) FROM documents WHERE provider_code = $1 AND checkout_id = $2`
	selectExportedJobs = `SELECT ` + rows.JobColumns + ` FROM jobs WHERE provider_code = $1 AND checkout_id = $2 ORDER BY position, id`
)

func (db *DB) Export(ctx context.Context, email string, visit checkout.Visitor) error {
	acquired, _, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer acquired.Release() // which closes a connection whose transaction is open
	tx, err := acquired.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return mapError(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // it wrote nothing
	c := &conn{acquired.Conn(), db}
	return mapError(c.export(ctx, email, visit))
}

// export visits what is visible to the transaction of the connection.
func (c *conn) export(ctx context.Context, email string, visit checkout.Visitor) error {
	if _, err := c.Exec(ctx, allowSlowVisitor); err != nil {
		return err
	}
	if email == "" {
		configurations, err := c.configurations(ctx)
		keys, keysErr := all(ctx, c, rows.Key.Key, selectKeys)
		if err = errors.Join(err, keysErr); err == nil {
			err = rows.Visit(visit, configurations, keys)
		}
		if err != nil {
			return err
		}
	}
	if _, err := c.Exec(ctx, declareExport, pgx.QueryExecModeSimpleProtocol, email); err != nil {
		return err
	}
	for {
		page, err := all(ctx, c, itself[rows.Checkout], fetchExport)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := c.exportPage(ctx, page, visit); err != nil {
			return err
		}
	}
}

// exportPage visits checkouts with everything on record about them, which it reads in one round trip.
func (c *conn) exportPage(ctx context.Context, page []rows.Checkout, visit checkout.Visitor) error {
	var b pgx.Batch
	records, unreadable := make([]checkout.CheckoutRecord, len(page)), make([]error, len(page))
	for i, r := range page {
		record := &records[i]
		record.Checkout, unreadable[i] = r.Checkout()
		b.Queue(selectAgreement, r.ProviderCode, r.ID).Query(func(found pgx.Rows) error {
			list, err := pgx.CollectRows(found, scan[rows.Agreement])
			for _, r := range list {
				a, err := r.Agreement()
				record.Agreement, unreadable[i] = &a, errors.Join(unreadable[i], err)
			}
			return err
		})
		b.Queue(selectLength, r.ProviderCode, r.ID).Query(func(found pgx.Rows) error {
			_, err := pgx.ForEachRow(found, []any{&record.Document}, func() error { return nil })
			return err
		})
		b.Queue(selectMoments, r.ProviderCode, r.ID).Query(func(found pgx.Rows) (err error) {
			record.Moments, err = pgx.AppendRows(record.Moments, found, as(rows.Moment.Moment))
			return err
		})
		b.Queue(selectExportedJobs, r.ProviderCode, r.ID).Query(func(found pgx.Rows) (err error) {
			record.Jobs, err = pgx.AppendRows(record.Jobs, found, as(rows.Job.Record))
			return err
		})
	}
	if err := c.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	for i, record := range records {
		err := unreadable[i]
		if err != nil {
			err = visit.Unreadable(page[i].ID, err)
		} else {
			err = visit.Checkout(record)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
