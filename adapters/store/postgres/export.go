package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A visitor may be slow, but must not keep the snapshot for ever, which keeps the server from vacuuming.
const allowSlowVisitor = `SET LOCAL idle_in_transaction_session_timeout = '10min'`

// On a cluster each node has its own snapshot, which begins with the first read there: a first statement reads from every node,
// and further ones go over the same connections.
const (
	oneConnection = `SET LOCAL citus.max_adaptive_executor_pool_size = 1`
	touchNodes    = `SELECT 1 FROM @.checkouts LIMIT 1`
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
	conn, err := db.acquire(ctx)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer conn.Release() // which closes a connection whose transaction is still open
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // it wrote nothing
	if _, err := tx.Exec(ctx, allowSlowVisitor); err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	if db.distributed {
		for _, statement := range []string{oneConnection, touchNodes} {
			if _, err := tx.Exec(ctx, db.schema.qualify(statement)); err != nil {
				return fmt.Errorf("export: %w", mapError(err))
			}
		}
	}
	return read(snapshot{tx, db.schema})
}

// snapshot is the store at one time.
type snapshot struct {
	tx     pgx.Tx
	schema *schema
}

// Read implements [sqlstore.Source].
func (s snapshot) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	rows, err := s.tx.Query(ctx, s.schema.qualify(query), args...)
	if err != nil {
		return mapError(err)
	}
	defer rows.Close()
	return mapError(collect(rows))
}

// The keys of the checkouts that are exported are sorted once, by the server.
const fetchPage = `FETCH 100 FROM exported` // as sqlstore.PageSize says

// eachPage calls visit for every checkout whose key the query returns, in that order.
func (s snapshot) eachPage(ctx context.Context, visit ports.Visitor, query string, args ...any) error {
	declare := s.schema.qualify(`DECLARE exported NO SCROLL CURSOR FOR ` + query)
	if _, err := s.tx.Exec(ctx, declare, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...); err != nil {
		return fmt.Errorf("export checkouts: %w", mapError(err))
	}
	for {
		page, err := all(ctx, s, sqlstore.ScanCheckoutKey, fetchPage)
		if err != nil {
			return fmt.Errorf("export checkouts: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		if err := dialect.ExportCheckouts(ctx, s, page, visit); err != nil {
			return err
		}
	}
}
