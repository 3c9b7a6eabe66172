package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	selectExported     = `SELECT ` + checkoutColumns + ` FROM checkouts WHERE ?1 = '' OR lower(email) = lower(?1) ORDER BY place`
	selectExportedJobs = `SELECT ` + jobColumns + ` FROM jobs WHERE provider_code = ? AND checkout_id = ? ORDER BY position, id`
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
		var together []rows.Checkout // the checkouts of one millisecond
		flush := func() error {
			slices.SortFunc(together, func(a, b rows.Checkout) int { return cmp.Compare(a.ID, b.ID) })
			for _, r := range together {
				if err := exportCheckout(ctx, c, r, visit); err != nil {
					return err
				}
			}
			together = together[:0]
			return nil
		}
		err := c.query(ctx, selectExported, []any{email}, func(values []driver.Value) error {
			var r rows.Checkout
			if err := scan(values, r.Fields()); err != nil {
				return err
			}
			if len(together) > 0 && !together[0].CreatedAt.Equal(r.CreatedAt) {
				if err := flush(); err != nil {
					return err
				}
			}
			together = append(together, r)
			return nil
		})
		if err != nil {
			return err
		}
		return flush()
	})
}

func (db *DB) exportConfiguration(ctx context.Context, c *conn, visit checkout.Visitor) error {
	configurations, err := db.configurations(ctx, c)
	if err != nil {
		return fmt.Errorf("export configurations: %w", err)
	}
	for _, configuration := range configurations {
		if err := visit.Configuration(configuration); err != nil {
			return err
		}
	}
	list, err := collect(ctx, c, rows.Key.Key, selectKeys)
	if err != nil {
		return fmt.Errorf("export keys: %w", err)
	}
	for _, key := range list {
		if err := visit.Key(key); err != nil {
			return err
		}
	}
	return nil
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
	switch row, err := one[rows.Agreement](ctx, c, selectAgreement, r.ProviderCode, r.ID); {
	case err == nil:
		a, err := row.Agreement()
		if err != nil {
			return record, err
		}
		record.Agreement = &a
	case !errors.Is(err, ports.ErrNotFound):
		return record, err
	}
	length, err := one[value[int64]](ctx, c, selectLength, r.ProviderCode, r.ID)
	if record.Document = int(length.v); err != nil && !errors.Is(err, ports.ErrNotFound) {
		return record, err
	}
	record.Jobs, err = collect(ctx, c, func(j rows.Job) (checkout.JobRecord, error) { return j.Record(), nil }, selectExportedJobs,
		r.ProviderCode, r.ID)
	if err == nil {
		record.Moments, err = momentsOf(ctx, c, r.ID)
	}
	return record, err
}
