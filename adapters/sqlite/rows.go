package sqlite

import (
	"context"
	"database/sql"

	"github.com/provider-checkout/provider-checkout/ports"
)

// source is where rows are read: the pool of readers, or a transaction.
type source interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// row is a row that is read.
type row interface{ Scan(into ...any) error }

// each passes what scan makes of each row to visit.
func each[T any](ctx context.Context, src source, scan func(row) (T, error), visit func(T) error,
	query string, args ...any) error {
	rows, err := src.query(ctx, query, args...)
	if err != nil {
		return meaning(err)
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return err
		}
		if err := visit(v); err != nil {
			return err
		}
	}
	return meaning(rows.Err())
}

// all returns what scan makes of the rows.
func all[T any](ctx context.Context, src source, scan func(row) (T, error), query string, args ...any) (list []T, err error) {
	err = each(ctx, src, scan, func(v T) error { list = append(list, v); return nil }, query, args...)
	return list, err
}

// one returns what scan makes of the only row, or ErrNotFound.
func one[T any](ctx context.Context, src source, scan func(row) (T, error), query string, args ...any) (v T, err error) {
	list, err := all(ctx, src, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return v, err
	}
	return list[0], nil
}

// scanValue scans a row of one column.
func scanValue[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}
