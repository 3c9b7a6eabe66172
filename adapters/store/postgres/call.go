package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/provider-checkout/provider-checkout/ports"
)

// A call that meets a conflict, or loses its connection before anything can have been stored, is made again, after a random pause up to
// a limit that starts here and doubles.
const (
	maxAttempts   = 5
	conflictPause = 4 * time.Millisecond
	lossPause     = 50 * time.Millisecond
)

const (
	// commitTimeout is longer than the server's own time-outs: it ends only the wait for a server that is silent.
	commitTimeout = 6 * time.Second
	proofTimeout  = 2 * time.Second
	readTimeout   = 5 * time.Second
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

// call calls f with a connection, and again while that may help. What f did and did not commit is rolled back.
func (db *DB) call(ctx context.Context, f func(context.Context, *conn) error) error {
	var failed error
	pause := conflictPause
	for n := range maxAttempts {
		if n > 0 {
			wait(ctx, rand.N(pause<<n))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		again, err := db.once(ctx, f)
		if !again {
			return err
		}
		if failed = err; !is(err, serializationFailure, deadlockDetected) {
			pause = lossPause
		}
	}
	if errors.Is(failed, ports.ErrBusy) {
		return failed
	}
	return fmt.Errorf("%w: %w", ports.ErrBusy, failed)
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
	if err = c.proveConnection(ctx); err == nil {
		if err = c.proveDoubts(ctx); err == nil {
			err = f(ctx, c)
		}
	}
	if c.IsClosed() {
		db.lost()
	}
	switch {
	case err == nil, errors.Is(err, ports.ErrUnknown), errors.Is(err, ports.ErrBusy):
		return false, err
	case is(err, serializationFailure, deadlockDetected):
		return true, err
	case c.IsClosed() && ctx.Err() != nil:
		return false, ctx.Err() // the driver closes the connection when ctx ends
	case c.IsClosed(), isLoss(err):
		return true, errLost
	}
	return false, mapError(err)
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

// read returns the result of f, which only reads.
func read[T any](ctx context.Context, db *DB, f func(context.Context, *conn) (T, error)) (v T, err error) {
	short, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = db.call(short, func(ctx context.Context, c *conn) (err error) {
		v, err = f(ctx, c)
		return err
	})
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: not read in %v", ports.ErrBusy, readTimeout)
	}
	return v, err
}

// row is a pointer to a row that is scanned.
type row[R any] interface {
	*R
	Fields() []any
}

func scan[R any, P row[R]](found pgx.CollectableRow) (r R, err error) {
	err = found.Scan(P(&r).Fields()...)
	return r, err
}

// all returns the rows of a query.
func all[R any, P row[R]](ctx context.Context, c *conn, query string, args ...any) ([]R, error) {
	found, err := c.Query(ctx, c.db.sql(query), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, scan[R, P])
}

// one returns the first row of a query, or ports.ErrNotFound.
func one[R any, P row[R]](ctx context.Context, c *conn, query string, args ...any) (r R, err error) {
	list, err := all[R, P](ctx, c, query, args...)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return r, err
	}
	return list[0], nil
}

// value is a row of one column.
type value[T any] struct{ v T }

func (r *value[T]) Fields() []any { return []any{&r.v} }

// bound returns the fields of a row as arguments.
func bound(fields []any) []any {
	args := make([]any, len(fields))
	for i, field := range fields {
		switch p := field.(type) {
		case *string:
			args[i] = *p
		case *int64:
			args[i] = *p
		case *int:
			args[i] = *p
		case *bool:
			args[i] = *p
		default:
			args[i] = p
		}
	}
	return args
}

// What the server's operator demands of a commit, it waits for: the disk, and the standbys of synchronous_standby_names. A wait for a
// standby that is broken, by a cancel request, by pg_cancel_backend or by a restart, makes the commit visible on this server all the
// same. A standby that is promoted then does not have it. This statement locks a row, which is a write, and so its commit waits too,
// where standbys are demanded. A standby receives commits in their order: a commit that ends by itself proves every earlier one.
const prove = `SELECT 1 FROM @.store WHERE id = 1 AND current_setting('synchronous_standby_names') <> '' FOR UPDATE`

// batch is the statements of a transaction, which are sent in one round trip.
type batch struct {
	pgx.Batch
	db      *DB
	timeout time.Duration // of the round trip
	probes  bool          // whether commits are answered again
}

// batch returns a batch that begins a transaction. It is always explicit: a pooler may take what a driver sends in one round trip for
// as many transactions as there are statements. While commits are not answered, each waits for the one before: commits that
// wait are given up, but not by the server, whose connections would run out.
func (db *DB) batch() *batch {
	b := &batch{db: db, timeout: db.commitTimeout}
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	b.Queue(setTransaction)
	if b.probes = db.stalled.Load(); b.probes {
		b.add(prove)
	}
	return b
}

// add adds a statement.
func (b *batch) add(statement string, args ...any) *pgx.QueuedQuery {
	return b.Queue(b.db.sql(statement), args...)
}

// write sends a batch and commits.
func (db *DB) write(ctx context.Context, fill func(*batch)) error {
	return db.call(ctx, func(ctx context.Context, c *conn) error {
		b := db.batch()
		fill(b)
		return c.commit(ctx, b)
	})
}

// commit sends the statements and commits. That takes one round trip, which does not end with ctx, so that the outcome is known if
// it can be. If the answer is lost, or the commit was made with a warning, such as that the wait for a standby was broken, the error is
// ErrUnknown.
func (c *conn) commit(ctx context.Context, b *batch) error {
	if c.db.readOnly {
		return errReadOnly
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.timeout)
	defer cancel()
	b.Queue(`COMMIT`).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the server answers a COMMIT with %s", tag)
		}
		return nil
	})
	raw := c.PgConn()
	if raw.IsClosed() {
		return errLost
	}
	defer voidCancelKey(raw)()
	noticed := c.watch()
	results := c.SendBatch(ctx, &b.Batch)
	err := results.Close()
	warned := noticed()
	switch {
	case err == nil && warned:
		c.db.doubts.Add(1)
		return fmt.Errorf("%w: the server warned at the commit", ports.ErrUnknown)
	case err == nil:
		if b.probes {
			c.db.stalled.Store(false)
		}
		return nil
	case raw.IsClosed() && !unsent(err), is(err, completionUnknown), isLoss(err):
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

// noticedKey is under what a connection notes a notice of the server.
const noticedKey = "provider_checkout.noticed"

// watch begins to look for notices of the server, and returns what reports whether one came. The handler of a host's pool is the
// host's: there the messages are traced.
func (c *conn) watch() (noticed func() bool) {
	raw := c.PgConn()
	if !c.db.shared {
		delete(raw.CustomData(), noticedKey)
		return func() bool { return raw.CustomData()[noticedKey] != nil }
	}
	var seen noticeTrace
	raw.Frontend().Trace(&seen, pgproto3.TracerOptions{SuppressTimestamps: true})
	return func() bool {
		if !raw.IsClosed() { // else the driver may be using it
			raw.Frontend().Untrace()
		}
		return bool(seen)
	}
}

// noticeTrace is set by a notice in a trace of messages.
type noticeTrace bool

// Write implements [io.Writer]. It is called with a message at a time.
func (n *noticeTrace) Write(message []byte) (int, error) {
	*n = *n || noticeTrace(bytes.HasPrefix(message, []byte("B\tNoticeResponse\t")))
	return len(message), nil
}

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
	b.add(prove)
	if err := c.commit(ctx, b); err != nil {
		return fmt.Errorf("%w: prove what is on record: %v", ports.ErrBusy, err) // %v: nothing of the caller's is unknown
	}
	return nil
}

// proveDoubts proves what the commits of this process made visible whose waits may have been broken, before anything is read or written.
func (c *conn) proveDoubts(ctx context.Context) error {
	doubts := c.db.doubts.Load()
	if doubts == c.db.settled.Load() {
		return nil
	}
	if err := c.prove(ctx); err != nil {
		return err
	}
	c.db.settled.Store(doubts)
	return nil
}

// provenKey is under what a connection notes that it is proven.
const provenKey = "provider_checkout.proven"

// proveConnection proves what was visible when the connection was opened: a server that restarts breaks every wait, and ends every
// connection.
func (c *conn) proveConnection(ctx context.Context) error {
	notes := c.PgConn().CustomData()
	if !c.db.serving || notes[provenKey] != nil {
		return nil
	}
	err := c.prove(ctx)
	if err == nil {
		notes[provenKey] = true
	}
	return err
}
