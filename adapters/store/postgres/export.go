package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// A visitor may be slow, but must not keep the snapshot for ever, which keeps the server from vacuuming.
const allowSlowVisitor = `SET LOCAL idle_in_transaction_session_timeout = '10min'`

// A query that must end by a time ends on the server too.
const allowSlowQuery = `SET LOCAL statement_timeout = %d`

// On a cluster each node has its own snapshot, which begins with the first read there: a first statement reads from every node,
// and further ones go over the same connections.
const (
	oneConnection = `SET LOCAL citus.max_adaptive_executor_pool_size = 1`
	touchNodes    = `SELECT 1 FROM @.checkouts LIMIT 1`
)

// Snapshot implements [sqlstore.Engine] by one transaction, which is a snapshot from its first read on.
func (e engine) Snapshot(ctx context.Context, read func(sqlstore.Snapshot) error) error {
	conn, err := e.acquire(ctx)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer conn.Release() // which closes a connection whose transaction is still open
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // it wrote nothing
	patience := allowSlowVisitor
	if deadline, ok := ctx.Deadline(); ok {
		patience = fmt.Sprintf(allowSlowQuery, max(time.Until(deadline), time.Millisecond).Milliseconds())
	}
	if _, err := tx.Exec(ctx, patience, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	if e.Distributed {
		for _, statement := range []string{oneConnection, touchNodes} {
			if _, err := tx.Exec(ctx, e.schema.qualify(statement)); err != nil {
				return fmt.Errorf("export: %w", mapError(err))
			}
		}
	}
	return read(snapshot{tx, e.schema})
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

// Pages implements [sqlstore.Snapshot].
func (s snapshot) Pages(ctx context.Context, query string, args []any, visit func([]sqlstore.CheckoutKey) error) error {
	declare := s.schema.qualify(`DECLARE exported NO SCROLL CURSOR FOR ` + query)
	if _, err := s.tx.Exec(ctx, declare, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...); err != nil {
		return fmt.Errorf("export checkouts: %w", mapError(err))
	}
	for {
		page, err := sqlstore.All(ctx, s, sqlstore.ScanCheckoutKey, fetchPage)
		if err != nil {
			return fmt.Errorf("export checkouts: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		if err := visit(page); err != nil {
			return err
		}
	}
}

// vacuumed are the tables that may have had personal data.
var vacuumed = []string{"checkouts", "agreements", "documents", "jobs", "sandbox_records"}

// Scrub implements [ports.Operations]. It vacuums the tables, so that no query and no dump sees the rows as they were. Their bytes may
// stay in free space of the tables' files until that is used again, and in the server's log of writes: see cmd/provider-checkout/docs/privacy.md.
func (db *DB) Scrub(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	defer conn.Release()
	for _, table := range vacuumed {
		if err := run(ctx, conn.Conn().PgConn(), db.schema.qualify(`VACUUM @.`+table)); err != nil {
			return fmt.Errorf("vacuum: %w", mapError(err))
		}
	}
	return nil
}
