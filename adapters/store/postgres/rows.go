package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// source is where rows are read: an attempt, or a snapshot. The tables of a query are written with @. before them.
type source interface {
	query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

func (t *attempt) query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, t.db.schema.qualify(query), args...)
}

// rows returns what scan returns for each row.
func rows[T any](ctx context.Context, src source, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	result, err := src.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows[T, []T](nil, result, scan)
}

// all returns what scan returns for each row of a query by itself.
func all[T any](ctx context.Context, db *DB, scan pgx.RowToFunc[T], query string, args ...any) (list []T, err error) {
	err = db.do(ctx, func(ctx context.Context, t *attempt) (err error) {
		list, err = rows(ctx, t, scan, query, args...)
		return err
	})
	return list, err
}

// one returns what scan returns for the only row, or ErrNotFound.
func one[T any](ctx context.Context, db *DB, scan pgx.RowToFunc[T], query string, args ...any) (v T, err error) {
	list, err := all(ctx, db, scan, query, args...)
	switch {
	case err != nil:
		return v, err
	case len(list) == 0:
		return v, ports.ErrNotFound
	}
	return list[0], nil
}

// scanColumns returns a function that scans a row of the columns.
func scanColumns[T any](columns sqlstore.Columns[T]) pgx.RowToFunc[T] {
	return func(r pgx.CollectableRow) (v T, err error) {
		err = r.Scan(columns.Destinations(&v)...)
		return v, err
	}
}

// mapNoRows returns ErrNotFound for the driver's error for no row.
func mapNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ports.ErrNotFound
	}
	return err
}
