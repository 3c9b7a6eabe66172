package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// dialect reads a checkout column by column.
var dialect = sqlstore.Dialect{
	Columns: sqlstore.Checkout.Names(),
	Scan:    sqlstore.Scan(sqlstore.Checkout),
	// In collation C only the letters A to Z have another case.
	SameEmail: `lower(email COLLATE "C") = lower(CAST(? AS text) COLLATE "C")`,
	ByKey:     `provider_code = ? AND idempotency_key = ?`,
}

// Read implements [sqlstore.Source]. An attempt that fails is made again.
func (db *DB) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	return db.do(ctx, func(ctx context.Context, t *attempt) error { return t.Read(ctx, query, args, collect) })
}

// Read implements [sqlstore.Source] in an attempt.
func (t *attempt) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	rows, err := t.conn.Query(ctx, t.db.schema.qualify(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return collect(rows)
}

// one and all are short for the functions of package sqlstore.
func one[T any](ctx context.Context, src sqlstore.Source, scan func(sqlstore.Row) (T, error), query string, args ...any) (T, error) {
	return sqlstore.One(ctx, src, scan, query, args...)
}

func all[T any](ctx context.Context, src sqlstore.Source, scan func(sqlstore.Row) (T, error), query string, args ...any) ([]T, error) {
	return sqlstore.All(ctx, src, scan, query, args...)
}

// has reports whether a query returns a row.
func has(ctx context.Context, src sqlstore.Source, query string, args ...any) (bool, error) {
	list, err := all(ctx, src, func(sqlstore.Row) (struct{}, error) { return struct{}{}, nil }, query, args...)
	return len(list) > 0, err
}

// into returns a function that scans a row of the columns into v.
func into[T any](columns sqlstore.Columns[T], v *T) func(pgx.Row) error {
	return func(r pgx.Row) error { return r.Scan(columns.Destinations(v)...) }
}

// mapNoRows returns ErrNotFound for the driver's error for no row.
func mapNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ports.ErrNotFound
	}
	return err
}
