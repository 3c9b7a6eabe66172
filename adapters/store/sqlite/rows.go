package sqlite

import (
	"context"
	"database/sql"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// dialect reads a checkout as one JSON array: to read each column as a value of its own takes twice as long.
var dialect = sqlstore.Dialect{
	Columns:   `json_array(` + sqlstore.Checkout.Names() + `)`,
	Scan:      scanCheckout,
	SameEmail: `lower(email) = lower(?)`, // of the letters A to Z only
	// The index has headers only.
	ByKey: `provider_code = ?1 AND id IN (
		SELECT id FROM checkouts WHERE provider_code = ?1 AND idempotency_key = ?2 AND idempotency_key <> provider_code || ':' || provider_order_id
		UNION ALL SELECT id FROM checkouts
		WHERE provider_code = ?1 AND provider_order_id = substr(?2, length(?1) + 2) AND idempotency_key = ?2)`,
}

func scanCheckout(r sqlstore.Row) (c checkout.Checkout, err error) {
	var array sql.RawBytes
	if err := r.Scan(&array); err != nil {
		return c, err
	}
	return c, readArray(array, sqlstore.Checkout, &c)
}

// collect passes the rows of a query to collect.
func collect(rows *sql.Rows, err error, collect func(sqlstore.Rows) error) error {
	if err != nil {
		return mapError(err)
	}
	defer rows.Close()
	return mapError(collect(rows))
}

// Read implements [sqlstore.Source] by the connections that read.
func (p *pool) Read(ctx context.Context, query string, args []any, f func(sqlstore.Rows) error) error {
	rows, err := p.query(ctx, query, args...)
	return collect(rows, err, f)
}

// Read implements [sqlstore.Source] in a transaction.
func (t *tx) Read(ctx context.Context, query string, args []any, f func(sqlstore.Rows) error) error {
	rows, err := t.query(ctx, query, args...)
	t.noteFailure(err)
	return collect(rows, err, f)
}

// one, all and scanValue are short for the functions of package sqlstore.
func one[T any](ctx context.Context, src sqlstore.Source, scan func(sqlstore.Row) (T, error), query string, args ...any) (T, error) {
	return sqlstore.One(ctx, src, scan, query, args...)
}

func scanValue[T any](r sqlstore.Row) (T, error) { return sqlstore.ScanValue[T](r) }

func all[T any](ctx context.Context, src sqlstore.Source, scan func(sqlstore.Row) (T, error), query string, args ...any) ([]T, error) {
	return sqlstore.All(ctx, src, scan, query, args...)
}
