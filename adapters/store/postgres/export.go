package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
)

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

// Export implements [ports.Desk].
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
		if err := c.exportConfiguration(ctx, visit); err != nil {
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

func (c *conn) exportConfiguration(ctx context.Context, visit checkout.Visitor) error {
	configurations, err := c.configurations(ctx)
	keys, keysErr := all(ctx, c, rows.Key.Key, selectKeys)
	if err := errors.Join(err, keysErr); err != nil {
		return err
	}
	return rows.Visit(visit, configurations, keys)
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
