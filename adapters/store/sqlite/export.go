package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Export implements [ports.Exporter]. It reads in one transaction, which is a snapshot from its first read on.
func (db *DB) Export(ctx context.Context, visit ports.Visitor) error {
	return db.inSnapshot(ctx, func(s snapshot) error {
		if err := sqlstore.ExportConfiguration(ctx, s, db.encrypter, visit); err != nil {
			return err
		}
		return s.eachPage(ctx, visit, sqlstore.SelectExport)
	})
}

// ExportStudent implements [ports.Privacy].
func (db *DB) ExportStudent(ctx context.Context, email string, visit ports.Visitor) error {
	return db.inSnapshot(ctx, func(s snapshot) error { return s.eachPage(ctx, visit, dialect.SelectStudent(), email) })
}

// inSnapshot calls read with the store as it is at its first read.
func (db *DB) inSnapshot(ctx context.Context, read func(snapshot) error) error {
	tx, err := db.readers.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	defer tx.Rollback() // it wrote nothing
	return read(snapshot{&statements{on: tx}})
}

// snapshot is the store at one time. The transaction closes its statements.
type snapshot struct{ *statements }

// Read implements [sqlstore.Source].
func (s snapshot) Read(ctx context.Context, query string, args []any, f func(sqlstore.Rows) error) error {
	rows, err := s.query(ctx, query, args...)
	return collect(rows, err, f)
}

// eachPage calls visit for every checkout whose key the query returns, in that order.
func (s snapshot) eachPage(ctx context.Context, visit ports.Visitor, query string, args ...any) error {
	return s.Read(ctx, query, args, func(rows sqlstore.Rows) error {
		for {
			var page []sqlstore.CheckoutKey
			for len(page) < sqlstore.PageSize && rows.Next() {
				key, err := sqlstore.ScanCheckoutKey(rows)
				if err != nil {
					return fmt.Errorf("export checkouts: %w", err)
				}
				page = append(page, key)
			}
			if err := rows.Err(); err != nil || len(page) == 0 {
				return err
			}
			if err := dialect.ExportCheckouts(ctx, s, page, visit); err != nil {
				return err
			}
		}
	})
}
