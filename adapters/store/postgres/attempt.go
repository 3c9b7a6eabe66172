package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// An operation that meets a conflict or loses its connection is attempted again. If the outcome of its commit is not
// known, it is attempted more often: a server that restarts cannot be asked for seconds. Each further attempt is delayed
// by a random time, up to a limit that starts here and doubles four times.
const (
	maxAttempts        = 6
	maxAttemptsUnknown = 20
	conflictPause      = 4 * time.Millisecond
	lossPause          = 50 * time.Millisecond
)

// attempt is one attempt at an operation, on a connection of its own.
type attempt struct {
	conn *pgx.Conn
	db   *DB
	// outcomeUnknown says that an earlier attempt may have been committed after all. This one must find out before it does
	// anything a second time.
	outcomeUnknown bool
}

// retryableError is the reason for another attempt at an operation.
type retryableError struct {
	err            error
	pause          time.Duration
	outcomeUnknown bool
}

func (e *retryableError) Error() string { return e.err.Error() }
func (e *retryableError) Unwrap() error { return e.err }

// do calls f until it succeeds, fails for good, or maxAttempts are made. What an attempt did and did not commit is rolled
// back. An error means that nothing was stored, unless it is sqlstore.ErrUnknown.
func (db *DB) do(ctx context.Context, f func(context.Context, *attempt) error) error {
	var last *retryableError
	unknown := false
	for n := 0; n < maxAttempts || unknown && n < maxAttemptsUnknown; n++ {
		if n > 0 {
			wait(ctx, rand.N(last.pause<<min(n-1, 4)))
		}
		if err := ctx.Err(); err != nil && unknown {
			return fmt.Errorf("%w: %w", sqlstore.ErrUnknown, err)
		} else if err != nil {
			return err
		}
		err := db.once(ctx, unknown, f)
		switch {
		case errors.Is(err, sqlstore.ErrUnknown):
			return err
		case errors.As(err, &last):
			unknown = unknown || last.outcomeUnknown
		case unknown && err != nil && !errors.Is(err, ports.ErrDuplicate) && !errors.Is(err, ports.ErrNotFound):
			return fmt.Errorf("%w: %v", sqlstore.ErrUnknown, err) // %v, because err may wrap an error that says that nothing was stored
		default:
			return err
		}
	}
	switch {
	case unknown:
		return fmt.Errorf("%w: %v", sqlstore.ErrUnknown, last.err)
	case errors.Is(last.err, ports.ErrBusy):
		return last.err
	}
	return fmt.Errorf("%w: %w", ports.ErrBusy, last.err)
}

// once calls f with a connection. It returns a *retryableError if another attempt may succeed.
func (db *DB) once(ctx context.Context, outcomeUnknown bool, f func(context.Context, *attempt) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes a connection whose transaction is still open
	t := &attempt{conn.Conn(), db, outcomeUnknown}
	defer t.rollback(ctx)
	if err = t.proveConnection(ctx); err == nil {
		err = f(ctx, t)
	}
	if err == nil && outcomeUnknown { // what an earlier attempt stored may be on this server alone
		t.rollback(ctx)
		err = t.prove(ctx, proveStore)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlstore.ErrUnknown), errors.Is(err, ports.ErrBusy):
	case errors.As(err, new(*retryableError)):
	case is(err, serializationFailure, deadlockDetected):
		err = &retryableError{err: mapError(err), pause: conflictPause}
	case t.conn.IsClosed() && ctx.Err() != nil:
		return ctx.Err() // the driver closes the connection when ctx ends
	case t.conn.IsClosed(), t.isLoss(err):
		err = &retryableError{err: loss(err), pause: lossPause}
	default:
		return mapError(err)
	}
	if t.conn.IsClosed() {
		db.lost()
	}
	return err
}

// acquire waits for a connection.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	conn, err := db.pool.Acquire(limited)
	for is(err, tooManyConnections) && limited.Err() == nil { // for the role, or for the server: one of the pool's may be free soon
		wait(limited, rand.N(lossPause))
		conn, err = db.pool.Acquire(limited)
	}
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("%w: no connection in %v", ports.ErrBusy, acquireTimeout)
	}
	retryable, err := connectError(err)
	if retryable {
		return nil, &retryableError{err: err, pause: lossPause}
	}
	return nil, err
}

func (t *attempt) inTransaction() bool { return t.conn.PgConn().TxStatus() == 'T' }

// rollback ends a transaction that was not committed.
func (t *attempt) rollback(ctx context.Context) {
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	_, _ = t.conn.Exec(ctx, `ROLLBACK`) // if it fails, the connection is closed, which rolls back too
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
