package sqlstore

import (
	"context"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Row is a row of a result.
type Row interface{ Scan(into ...any) error }

// Rows is the rows of a result, one after the other.
type Rows interface {
	Row
	Next() bool
	Err() error
}

// Source is a place to read rows from: a store, a transaction, or a snapshot. The tables of a query have @. before their names,
// and its parameters are question marks.
type Source interface {
	// Read passes the rows of a query to collect. It may read them more than once: collect begins anew each time.
	Read(ctx context.Context, query string, args []any, collect func(Rows) error) error
}

// Unreadable is the error of a row of which a value cannot be understood.
type Unreadable struct{ error }

func (e Unreadable) Unwrap() error { return e.error }

// All returns what scan returns for each row.
func All[T any](ctx context.Context, src Source, scan func(Row) (T, error), query string, args ...any) (list []T, err error) {
	err = src.Read(ctx, query, args, func(rows Rows) error {
		list = nil
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				return Unreadable{err}
			}
			list = append(list, v)
		}
		return rows.Err()
	})
	switch {
	case err == nil:
		return list, nil
	case ctx.Err() != nil: // which closes rows and statements, whose errors then say something else
		return nil, ctx.Err()
	}
	return nil, err
}

// One returns what scan returns for the first row, or ErrNotFound.
func One[T any](ctx context.Context, src Source, scan func(Row) (T, error), query string, args ...any) (v T, err error) {
	list, err := All(ctx, src, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return v, err
	}
	return list[0], nil
}

// Scan returns a function that scans a row of the columns.
func Scan[T any](columns Columns[T]) func(Row) (T, error) { return Fields(columns.Destinations) }

// Fields returns a function that scans a row into fields of a value.
func Fields[T any](of func(*T) []any) func(Row) (T, error) {
	return func(r Row) (v T, err error) {
		err = r.Scan(of(&v)...)
		return v, err
	}
}

// ScanValue scans a row of one value.
func ScanValue[T any](r Row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}
