package sqlite

import (
	"context"
	"database/sql"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/ports"
)

// source is where rows are read: the readers, a write transaction, or a snapshot.
type source interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// row is a row of a result.
type row interface{ Scan(into ...any) error }

// rowError is the error of a row that was read but has a value that cannot be understood.
type rowError struct{ error }

func (e rowError) Unwrap() error { return e.error }

// each calls visit with what scan returns for each row.
func each[T any](ctx context.Context, src source, scan func(row) (T, error), visit func(T) error,
	query string, args ...any) error {
	rows, err := src.query(ctx, query, args...)
	if err != nil {
		return mapError(err)
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if ctx.Err() != nil { // which closes the rows, so that a scan fails
			return ctx.Err()
		}
		if err != nil {
			return rowError{err}
		}
		if err := visit(v); err != nil {
			return err
		}
	}
	return mapError(rows.Err())
}

// all returns what scan returns for each row.
func all[T any](ctx context.Context, src source, scan func(row) (T, error), query string, args ...any) (list []T, err error) {
	err = each(ctx, src, scan, func(v T) error { list = append(list, v); return nil }, query, args...)
	return list, err
}

// one returns what scan returns for the only row, or ErrNotFound.
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

// scanColumns returns a function that scans a row of the columns.
func scanColumns[T any](columns column.Columns[T]) func(row) (T, error) {
	return func(r row) (v T, err error) {
		err = r.Scan(columns.Destinations(&v)...)
		return v, err
	}
}

// scanValue scans a row of one value.
func scanValue[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}
