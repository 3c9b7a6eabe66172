package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// What the server's operator demands of a commit, it waits for: the disk, and the standbys of synchronous_standby_names.
// A wait for a standby that is broken, by a cancel request, by pg_cancel_backend or by a restart, makes the commit visible
// on this server all the same. A standby that is promoted then does not have it. The statements below write, and so their
// commit waits too; because a standby receives commits in their order, a commit that ends by itself proves every earlier one.
// They lock, and so wait, only where standbys are demanded.
const (
	// proveStore lets one commit at a time wait.
	proveStore = `SELECT 1 FROM @.store WHERE id = 1 AND current_setting('synchronous_standby_names') <> '' FOR UPDATE`
	// proveCheckout hinders neither readers nor other proofs.
	proveCheckout = `SELECT 1 FROM @.checkouts
		WHERE provider_code = ? AND id = ? AND current_setting('synchronous_standby_names') <> '' FOR KEY SHARE`
)

// batch is statements that are sent in one round trip.
type batch struct {
	pgx.Batch
	schema *schema
	probes bool // whether commits are answered again
}

// queue adds a statement. Its tables are written with @. before them.
func (b *batch) queue(statement string, args ...any) *pgx.QueuedQuery {
	return b.Queue(b.schema.qualify(statement), args...)
}

// batch returns an empty batch, for the open transaction or with one of its own, which is always explicit: an engine or a pooler
// may take what a driver sends in one round trip for as many transactions as there are statements. While commits are not answered, each
// waits for the one before: commits that wait are given up, but not by the server, whose connections would run out.
func (t *attempt) batch() *batch {
	b := &batch{schema: t.db.schema}
	if !t.inTransaction() {
		b.begin(t.db)
	}
	if b.probes = t.db.stalled.Load(); b.probes {
		b.queue(proveStore)
	}
	return b
}

// begin adds what begins a transaction. Whatever isolation is the default, statements wait for each other and see what is
// committed.
func (b *batch) begin(db *DB) {
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	if db.shared {
		b.Queue(setTransaction)
	}
}

// commit sends the statements and commits. That takes one round trip, which does not end with ctx, so that the outcome is known
// if it can be.
func (t *attempt) commit(ctx context.Context, b *batch) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.db.commitTimeout)
	defer cancel()
	warned, err := t.send(within, b)
	switch {
	case warned && t.db.Distributed: // a node that was lost has its part prepared, which nobody sees until Citus commits it there
		return &retryableError{err: errLost, pause: lossPause, outcomeUnknown: true}
	case warned:
		return t.prove(ctx, proveStore)
	}
	return err
}

// prove returns nil if everything that is visible on this connection is where the server's operator demands it, and else
// an error that says that the outcome is not known. The statement is one of the above.
func (t *attempt) prove(ctx context.Context, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	b := t.batch()
	b.queue(statement, args...)
	warned, err := t.send(ctx, b)
	switch {
	case warned:
		return fmt.Errorf("%w: the wait for a standby was broken", sqlstore.ErrUnknown)
	case err != nil && (!t.conn.IsClosed() || ctx.Err() != nil):
		return fmt.Errorf("%w: %v", sqlstore.ErrUnknown, err)
	}
	return err
}

// send sends the statements and commits. It reports whether the commit was made, but with a warning, such as that the wait
// for a standby was broken.
func (t *attempt) send(ctx context.Context, b *batch) (warned bool, err error) {
	b.Queue(`COMMIT`).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the server answers a COMMIT with %s", tag)
		}
		return nil
	})
	conn := t.conn.PgConn()
	defer voidCancelKey(conn)()
	results := t.conn.SendBatch(ctx, &b.Batch)
	// A pool's handler of notices may be the host's. This sees them too. What is closed the driver may be using.
	var notices noticeCounter
	if !conn.IsClosed() {
		conn.Frontend().Trace(&notices, pgproto3.TracerOptions{SuppressTimestamps: true})
	}
	err = results.Close()
	if !conn.IsClosed() {
		conn.Frontend().Untrace()
	}
	switch {
	case err == nil:
		if b.probes {
			t.db.stalled.Store(false)
		}
		return notices > 0, nil
	case conn.IsClosed() && !pgconn.SafeToRetry(err), is(err, completionUnknown), t.isLoss(err):
		if ctx.Err() != nil {
			t.db.stalled.Store(true)
			_ = conn.Conn().Close() // the driver would wait for the server first
		}
		return false, &retryableError{err: loss(err), pause: lossPause, outcomeUnknown: true}
	}
	return false, err
}

// voidCancelKey voids the key with which the driver asks the server to cancel what runs on the connection, and returns
// what restores it. The driver asks so whenever it closes a connection that does not answer. That would not cancel a
// commit but break its wait for a standby.
func voidCancelKey(conn *pgconn.PgConn) (restore func()) {
	key := conn.SecretKey() // the driver's own bytes
	valid := slices.Clone(key)
	clear(key)
	return func() {
		if !conn.IsClosed() {
			copy(key, valid)
		}
	}
}

// noticeCounter counts the notices of the server in a trace of its messages.
type noticeCounter int

// Write implements [io.Writer]. It is called with a message at a time.
func (n *noticeCounter) Write(message []byte) (int, error) {
	if bytes.HasPrefix(message, []byte("B\tNoticeResponse\t")) {
		*n++
	}
	return len(message), nil
}

// provenKey is under what a connection notes that it is proven.
const provenKey = "provider_checkout.proven"

// proveConnection returns ErrBusy unless what was visible when the connection was opened is where the server's operator
// demands it: a server that restarts breaks every wait, and ends every connection.
func (t *attempt) proveConnection(ctx context.Context) error {
	notes := t.conn.PgConn().CustomData()
	if !t.db.serving || notes[provenKey] != nil {
		return nil
	}
	err := t.prove(ctx, proveStore)
	switch {
	case errors.As(err, new(*retryableError)):
		return &retryableError{err: errLost, pause: lossPause}
	case err != nil:
		return fmt.Errorf("%w: prove what is on record: %v", ports.ErrBusy, err)
	}
	notes[provenKey] = true
	return nil
}
