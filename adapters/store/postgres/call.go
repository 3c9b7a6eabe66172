package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A call that meets a conflict, or loses its connection before anything can have been stored, is made again, after a random pause up to
// a limit that doubles each time.
const (
	maxAttempts = 5
	retryPause  = 50 * time.Millisecond
)

const (
	// commitTimeout is longer than the server's own time-outs: it ends only the wait for a server that is silent.
	commitTimeout = 6 * time.Second
	proofTimeout  = 2 * time.Second
	readTimeout   = 5 * time.Second
	questionTime  = 2 * time.Second // of an operator's question
)

// setTransaction sets what a transaction that writes needs. A statement, a wait for a lock, and a transaction whose process hangs while
// it holds locks are bounded. A commit is acknowledged when it is on the disk, and where the server demands that of standbys, on theirs:
// only an operator's stronger setting stays. Of notices the server sends warnings.
const setTransaction = `SELECT set_config('statement_timeout', '5s', true), set_config('lock_timeout', '3s', true),
	set_config('idle_in_transaction_session_timeout', '5s', true), set_config('client_min_messages', 'warning', true),
	set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`

// conn is a connection in a call.
type conn struct {
	*pgx.Conn
	db *DB
}

// call calls f with a connection, and again while that may help. What f did and did not commit is rolled back. Errors name the call,
// unless it has no name.
func (db *DB) call(ctx context.Context, what string, f func(context.Context, *conn) error) (err error) {
	again := true
	for n := 0; again && n < maxAttempts; n++ {
		if n > 0 {
			wait(ctx, rand.N(retryPause<<n))
		}
		if again, err = false, ctx.Err(); err == nil {
			again, err = db.once(ctx, f)
		}
	}
	if err != nil && what != "" {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// once calls f with a connection, and reports whether another attempt may succeed.
func (db *DB) once(ctx context.Context, f func(context.Context, *conn) error) (again bool, err error) {
	acquired, again, err := db.acquire(ctx)
	if err != nil {
		return again, err
	}
	defer acquired.Release() // which closes a connection whose transaction is open
	c := &conn{acquired.Conn(), db}
	defer c.rollback(ctx)
	if err = c.proveVisible(ctx); err == nil {
		err = f(ctx, c)
	}
	switch {
	case err == nil, errors.Is(err, ports.ErrUnknown), errors.Is(err, ports.ErrBusy):
		return false, err
	case c.IsClosed() && ctx.Err() != nil:
		return false, ctx.Err() // the driver closes the connection when ctx ends
	case c.IsClosed():
		db.pool.Reset() // a server that restarts closes them all
		return true, fmt.Errorf("%w: %w", ports.ErrBusy, errLost)
	}
	return is(err, conflicts, connectionErrors), mapError(err)
}

// rollback ends a transaction that was not committed.
func (c *conn) rollback(ctx context.Context) {
	if c.IsClosed() || c.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	_, _ = c.Exec(ctx, `ROLLBACK`) // if it fails, the connection is closed, which rolls back too
}

// read returns the result of f, which only reads, within a time.
func read[T any](ctx context.Context, db *DB, what string, limit time.Duration, f func(context.Context, *conn) (T, error)) (v T, err error) {
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = db.call(short, what, func(ctx context.Context, c *conn) (err error) {
		v, err = f(ctx, c)
		return err
	})
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w: not read in %v", what, ports.ErrBusy, limit)
	}
	return v, err
}

// list returns the rows of a query, each as to makes it.
func list[R, V any](ctx context.Context, db *DB, what string, to func(R) (V, error), query string, args ...any) ([]V, error) {
	return read(ctx, db, what, readTimeout, func(ctx context.Context, c *conn) ([]V, error) { return all(ctx, c, to, query, args...) })
}

// ask is list for a question about all checkouts.
func ask[R, V any](ctx context.Context, db *DB, what string, to func(R) (V, error), query string, args ...any) ([]V, error) {
	return read(ctx, db, what, questionTime, func(ctx context.Context, c *conn) ([]V, error) { return all(ctx, c, to, query, args...) })
}

// get returns the first row of a query as to makes it, or ports.ErrNotFound.
func get[R, V any](ctx context.Context, db *DB, what string, to func(R) (V, error), query string, args ...any) (V, error) {
	return read(ctx, db, what, readTimeout, func(ctx context.Context, c *conn) (V, error) { return one(ctx, c, to, query, args...) })
}

// all returns the rows of a query, each as to makes it.
func all[R, V any](ctx context.Context, c *conn, to func(R) (V, error), query string, args ...any) ([]V, error) {
	found, _ := c.Query(ctx, query, args...)
	return pgx.AppendRows([]V(nil), found, as(to))
}

// as returns what scans a row and makes it what to makes of it.
func as[R, V any](to func(R) (V, error)) pgx.RowToFunc[V] {
	return func(row pgx.CollectableRow) (v V, err error) {
		r, err := scan[R](row)
		if err != nil {
			return v, err
		}
		return to(r)
	}
}

// scan returns a row of package rows, or of a struct with a field for each column.
func scan[R any](row pgx.CollectableRow) (r R, err error) {
	if v, ok := any(&r).(interface{ Fields() []any }); ok {
		err = row.Scan(v.Fields()...)
		return r, err
	}
	return pgx.RowToStructByPos[R](row)
}

// one returns the first row of a query as to makes it, or ports.ErrNotFound.
func one[R, V any](ctx context.Context, c *conn, to func(R) (V, error), query string, args ...any) (v V, err error) {
	list, err := all(ctx, c, to, query, args...)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return v, err
	}
	return list[0], nil
}

// value is a row of one column.
type value[T any] struct{ V T }

// itself returns a row as it is.
func itself[R any](r R) (R, error) { return r, nil }

// What the server's operator demands of a commit, it waits for: the disk, and the standbys of synchronous_standby_names. A wait for a
// standby that is broken, by a cancel request, by pg_cancel_backend or by a restart, makes the commit visible on this server all the
// same. A standby that is promoted then does not have it. This statement locks a row, which is a write, and so its commit waits too,
// where standbys are demanded. A standby receives commits in their order: a commit that ends by itself proves every earlier one.
const prove = `SELECT 1 FROM store WHERE id = 1 AND current_setting('synchronous_standby_names') <> '' FOR UPDATE`

// batch is the statements of a transaction, which are sent in one round trip.
type batch struct {
	pgx.Batch
	timeout time.Duration // of the round trip
}

// batch returns a batch that begins a transaction. It is always explicit: a pooler may take what a driver sends in one round trip for
// as many transactions as there are statements. While commits are not answered, each waits for the one before: commits that
// wait are given up, but not by the server, whose connections would run out.
func (db *DB) batch() *batch {
	b := &batch{timeout: db.commitTimeout}
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	b.Queue(setTransaction)
	if db.stalled.Load() {
		b.Queue(prove)
	}
	return b
}

// insert adds a statement with the columns of each row.
func insert[R any, P interface {
	*R
	Fields() []any
}](b *batch, statement string, list ...R) {
	for _, r := range list {
		b.Queue(statement, rows.Values(P(&r).Fields())...)
	}
}

// write sends a batch and commits.
func (db *DB) write(ctx context.Context, what string, fill func(*batch)) error {
	return db.call(ctx, what, func(ctx context.Context, c *conn) error {
		b := db.batch()
		fill(b)
		return c.commit(ctx, b)
	})
}

// noticedKey is under what a connection notes a notice of the server.
const noticedKey = "provider_checkout.noticed"

// commit sends the statements and commits. That takes one round trip, which does not end with ctx, so that the outcome is known if
// it can be. If the answer is lost, or the commit was made with a warning, such as that the wait for a standby was broken, the error is
// ErrUnknown.
func (c *conn) commit(ctx context.Context, b *batch) error {
	if c.db.readOnly {
		return errReadOnly
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.timeout)
	defer cancel()
	b.Queue(`COMMIT`)
	raw := c.PgConn()
	defer voidCancelKey(raw)()
	delete(raw.CustomData(), noticedKey)
	err := c.SendBatch(ctx, &b.Batch).Close()
	switch {
	case err == nil && raw.CustomData()[noticedKey] != nil:
		c.db.doubts.Add(1)
		return fmt.Errorf("%w: the server warned at the commit", ports.ErrUnknown)
	case err == nil:
		c.db.stalled.Store(false)
		return nil
	case raw.IsClosed() && !unsent(err), is(err, completionUnknown, connectionErrors):
		if ctx.Err() != nil {
			c.db.stalled.Store(true)
			_ = raw.Conn().Close() // the driver would wait for the server first
		} else {
			c.db.doubts.Add(1)
		}
		return fmt.Errorf("%w: %w", ports.ErrUnknown, errLost)
	}
	return err
}

// unsent reports whether an error says that the server had nothing of a request. The driver's error for a connection that was closed
// before also comes where the connection breaks during the answer.
func unsent(err error) bool { return pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) }

// voidCancelKey voids the key with which the driver asks the server to cancel what runs on the connection, and returns
// what restores it. The driver asks so whenever it closes a connection that does not answer. That would not cancel a
// commit but break its wait for a standby.
func voidCancelKey(raw *pgconn.PgConn) (restore func()) {
	key := raw.SecretKey() // the driver's own bytes
	valid := slices.Clone(key)
	clear(key)
	return func() {
		if !raw.IsClosed() {
			copy(key, valid)
		}
	}
}

// prove waits for the standbys to have everything that this connection sees. It returns ErrBusy if they do not confirm it in time.
func (c *conn) prove(ctx context.Context) error {
	b := c.db.batch()
	b.timeout = proofTimeout
	b.Queue(prove)
	if err := c.commit(ctx, b); err != nil {
		return fmt.Errorf("%w: prove what is on record: %v", ports.ErrBusy, err) // %v: nothing of the caller's is unknown
	}
	return nil
}

// provenKey is under what a connection notes up to which doubt it is proven.
const provenKey = "provider_checkout.proven"

// proveVisible proves what is visible before anything is read or written, once for each doubt on each connection. The first doubt of a
// server is everything visible when the connection was opened: a server that restarts breaks every wait, and ends every connection.
// Each later doubt is a commit of this process whose wait may have been broken.
func (c *conn) proveVisible(ctx context.Context) error {
	notes, doubts := c.PgConn().CustomData(), c.db.doubts.Load()
	if was, _ := notes[provenKey].(int64); was == doubts {
		return nil
	}
	err := c.prove(ctx)
	if err == nil {
		notes[provenKey] = doubts
	}
	return err
}
