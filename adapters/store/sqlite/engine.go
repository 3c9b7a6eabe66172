package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
)

var dialect = sqlstore.Dialect{
	// One transaction writes at a time: positions are in the order of the commits.
	Epoch: `0`, Place: `position`, Listed: `position`, Behind: `position > ?`,
	SameEmail: `lower(email) = lower(?)`, // of the letters A to Z only
	// The index has headers only.
	ByKey: `provider_code = ?1 AND id IN (
		SELECT id FROM checkouts WHERE provider_code = ?1 AND idempotency_key = ?2 AND idempotency_key <> provider_code || ':' || provider_order_id
		UNION ALL SELECT id FROM checkouts
		WHERE provider_code = ?1 AND provider_order_id = substr(?2, length(?1) + 2) AND idempotency_key = ?2)`,
	Least: `min`,
	// A sign before a column keeps the index of what is pending from being used to find the earlier jobs of a checkout.
	PendingOfKind: `+e.kind = j.kind AND +e.state = 'pending'`,
}

// engine implements [sqlstore.Engine].
type engine struct{ *DB }

// Read implements [sqlstore.Source] by the connections that read.
func (e engine) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	return e.readers.Read(ctx, query, args, collect)
}

// Do implements [sqlstore.Engine] by a write of the writer.
func (e engine) Do(ctx context.Context, f func(context.Context, sqlstore.Tx) error) error {
	return e.writer.do(ctx, func(ctx context.Context, t *tx) error { return f(ctx, t) })
}

// Snapshot implements [sqlstore.Engine] by one transaction, which is a snapshot from its first read on.
func (e engine) Snapshot(ctx context.Context, read func(sqlstore.Snapshot) error) error {
	tx, err := e.readers.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	defer tx.Rollback() // it wrote nothing
	return read(snapshot{&statements{on: tx}})
}

// snapshot is the store at one time. The transaction closes its statements.
type snapshot struct{ *statements }

// Pages implements [sqlstore.Snapshot].
func (s snapshot) Pages(ctx context.Context, query string, args []any, visit func([]sqlstore.CheckoutKey) error) error {
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
			if err := visit(page); err != nil {
				return err
			}
		}
	})
}

// Read implements [sqlstore.Source] in a transaction.
func (t *tx) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	err := t.statements.Read(ctx, query, args, collect)
	t.noteFailure(err)
	return err
}

// Lock implements [sqlstore.Tx]. The writer has the lock of the file already.
func (t *tx) Lock(ctx context.Context, b *sqlstore.Batch) error {
	for _, s := range b.Statements {
		if err := t.Read(ctx, s.Text, s.Args, s.Collect); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements [sqlstore.Tx]. The writer commits what is written here.
func (t *tx) Commit(ctx context.Context, b *sqlstore.Batch) error {
	for _, s := range b.Statements {
		if s.Collect != nil {
			t.changed = true
			if err := t.Read(ctx, s.Text, s.Args, s.Collect); err != nil {
				return err
			}
			continue
		}
		n, err := t.exec(ctx, s.Text, s.Args...)
		if err != nil {
			return err
		}
		if s.Count != nil {
			*s.Count = n
		}
	}
	return nil
}

// Again implements [sqlstore.Tx]: the outcome of a commit is always known.
func (t *tx) Again() bool { return false }

// Answer implements [sqlstore.Tx]: what is read is on the disk.
func (t *tx) Answer(context.Context, checkout.Checkout) error { return nil }
