package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The clocks of the processes decide nothing, for one of them may be wrong: the time is that of the database, when it got the
// statement.
var dialect = sqlstore.Dialect{
	// A transaction that may still commit has a number that no transaction before the oldest of them has.
	Epoch: `epoch`, Place: `entered`, Listed: `epoch, entered`,
	Behind: `(epoch, entered) > (?, ?) AND epoch < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)`,
	// In collation C only the letters A to Z have another case.
	SameEmail:     `lower(email COLLATE "C") = lower(CAST(? AS text) COLLATE "C")`,
	ByKey:         `provider_code = ? AND idempotency_key = ?`,
	ForUpdate:     ` FOR UPDATE`,
	SkipLocked:    ` FOR UPDATE SKIP LOCKED`,
	Least:         `least`,
	Clock:         `CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)`,
	Server:        true,
	PendingOfKind: `e.kind = j.kind AND e.state = 'pending'`,
}

// engine implements [sqlstore.Engine].
type engine struct{ *DB }

// Read implements [sqlstore.Source]. An attempt that fails is made again.
func (e engine) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	return e.do(ctx, func(ctx context.Context, t *attempt) error { return t.Read(ctx, query, args, collect) })
}

// Do implements [sqlstore.Engine].
func (e engine) Do(ctx context.Context, f func(context.Context, sqlstore.Tx) error) error {
	return e.do(ctx, func(ctx context.Context, t *attempt) error { return f(ctx, t) })
}

// Again implements [sqlstore.Tx].
func (t *attempt) Again() bool { return t.outcomeUnknown }

// Read implements [sqlstore.Source] in an attempt.
func (t *attempt) Read(ctx context.Context, query string, args []any, collect func(sqlstore.Rows) error) error {
	rows, err := t.conn.Query(ctx, t.db.schema.qualify(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return collect(rows)
}

// Lock implements [sqlstore.Tx] in one round trip.
func (t *attempt) Lock(ctx context.Context, statements *sqlstore.Batch) error {
	b := &batch{schema: t.db.schema}
	if !t.inTransaction() {
		b.begin(t.db)
	}
	b.add(statements)
	return t.conn.SendBatch(ctx, &b.Batch).Close()
}

// Commit implements [sqlstore.Tx] in one round trip. If the server reports a condition of no known meaning, it may be a
// duplicate.
func (t *attempt) Commit(ctx context.Context, statements *sqlstore.Batch) error {
	b := t.batch()
	b.add(statements)
	err := t.commit(ctx, b)
	if err == nil || t.conn.IsClosed() {
		return err
	}
	taken := is(err, uniqueViolation)
	if taken || isOther(err) {
		t.rollback(ctx)
	}
	if !taken && isOther(err) {
		var readErr error
		taken, readErr = statements.Taken(ctx, t)
		taken = taken && readErr == nil
	}
	if taken {
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	}
	return err
}

// add adds statements of package sqlstore.
func (b *batch) add(statements *sqlstore.Batch) {
	for _, s := range statements.Statements {
		q := b.queue(s.Text, s.Args...)
		switch {
		case s.Collect != nil:
			q.Query(func(rows pgx.Rows) error { return s.Collect(rows) })
		case s.Count != nil:
			q.Exec(func(tag pgconn.CommandTag) error {
				*s.Count = tag.RowsAffected()
				return nil
			})
		}
	}
}
