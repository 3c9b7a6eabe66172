package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	selectExported     = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts WHERE ?1 = '' OR lower(email) = lower(?1) ORDER BY place`
	selectExportedJobs = `SELECT ` + rows.JobColumns + ` FROM jobs WHERE provider_code = ? AND checkout_id = ? ORDER BY position, id`
	selectLength       = `SELECT length(bytes) FROM documents WHERE provider_code = ? AND checkout_id = ?`
)

// Export implements [ports.Desk].
func (db *DB) Export(ctx context.Context, email string, visit checkout.Visitor) error {
	return db.snapshot(ctx, func(c *conn) error {
		if email == "" {
			if err := db.exportConfiguration(ctx, c, visit); err != nil {
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

func (db *DB) exportConfiguration(ctx context.Context, c *conn, visit checkout.Visitor) error {
	configurations, err := db.configurations(ctx, c)
	keys, keysErr := all(ctx, c, rows.Key.Key, selectKeys)
	if err := errors.Join(err, keysErr); err != nil {
		return fmt.Errorf("export configuration: %w", err)
	}
	return rows.Visit(visit, configurations, keys)
}

// exportCheckout passes everything on record about a checkout to visit.
func exportCheckout(ctx context.Context, c *conn, r rows.Checkout, visit checkout.Visitor) error {
	record, err := recordOf(ctx, c, r)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return visit.Unreadable(r.ID, err)
	}
	return visit.Checkout(record)
}

func recordOf(ctx context.Context, c *conn, r rows.Checkout) (record checkout.CheckoutRecord, err error) {
	if record.Checkout, err = r.Checkout(); err != nil {
		return record, err
	}
	agreements, err := all(ctx, c, rows.Agreement.Agreement, selectAgreement, r.ProviderCode, r.ID)
	for _, a := range agreements {
		record.Agreement = &a
	}
	lengths, lengthErr := all(ctx, c, itself[value[int64]], selectLength, r.ProviderCode, r.ID)
	for _, length := range lengths {
		record.Document = int(length.v)
	}
	var jobsErr, momentsErr error
	record.Jobs, jobsErr = all(ctx, c, rows.Job.Record, selectExportedJobs, r.ProviderCode, r.ID)
	record.Moments, momentsErr = all(ctx, c, rows.Moment.Moment, selectMoments, r.ProviderCode, r.ID)
	return record, errors.Join(err, lengthErr, jobsErr, momentsErr)
}
