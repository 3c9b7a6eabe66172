package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/ports"
)

// An operation that meets a conflict or loses its connection is tried again, five times at most; one
// whose commit is in doubt more often, for it cannot be answered before a server is there to be asked, and a
// server that restarts is gone for seconds. Before each new try it pauses, at random up to a limit that
// doubles four times, and that begins here.
const (
	tries         = 6
	triesInDoubt  = 20
	conflictPause = 4 * time.Millisecond
	lossPause     = 50 * time.Millisecond
)

// try is one attempt at an operation, on a connection of its own.
type try struct {
	conn *pgx.Conn
	// doubt tells that a former try may have been committed after all: then this one must find out
	// before it does anything twice.
	doubt bool
}

// trouble is why an operation is tried again.
type trouble struct {
	err   error
	pause time.Duration
	doubt bool
}

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// do runs f until it succeeds or fails for good, in a few tries. What f began and did not commit is undone.
// An error means that nothing was stored, unless it is errDoubt.
func (db *DB) do(ctx context.Context, f func(context.Context, *try) error) error {
	var last *trouble
	doubt := false
	for n := 0; n < tries || doubt && n < triesInDoubt; n++ {
		if n > 0 {
			wait(ctx, rand.N(last.pause<<min(n-1, 4)))
		}
		if err := ctx.Err(); err != nil && doubt {
			return fmt.Errorf("%w: %w", errDoubt, err)
		} else if err != nil {
			return err
		}
		err := db.once(ctx, doubt, f)
		switch {
		case errors.As(err, &last):
			doubt = doubt || last.doubt
		case doubt && err != nil && !errors.Is(err, ports.ErrDuplicate) && !errors.Is(err, ports.ErrNotFound):
			return fmt.Errorf("%w: %v", errDoubt, err) // which may say that nothing was stored
		default:
			return err
		}
	}
	switch {
	case doubt:
		return errDoubt
	case errors.Is(last.err, ports.ErrBusy):
		return last.err
	}
	return fmt.Errorf("%w: %w", ports.ErrBusy, last.err)
}

// once runs f on a connection. The error is a *trouble where it is worth another try.
func (db *DB) once(ctx context.Context, doubt bool, f func(context.Context, *try) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which ends a connection with a transaction that is not over
	t := &try{conn.Conn(), doubt}
	defer t.rollback(ctx)
	err = f(ctx, t)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*trouble)):
	case is(err, serializationFailure, deadlockDetected):
		err = &trouble{err: meaning(err), pause: conflictPause}
	case t.conn.IsClosed() && ctx.Err() != nil:
		return ctx.Err() // which the driver answers by hanging up
	case t.conn.IsClosed(), isLoss(err):
		err = &trouble{err: errLost, pause: lossPause}
	default:
		return meaning(err)
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
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("%w: no connection in %v", ports.ErrBusy, acquireTimeout)
	}
	told, again := connectError(err)
	if again {
		return nil, &trouble{err: told, pause: lossPause}
	}
	return nil, told
}

// begin begins a transaction and reads the row that the query locks, in one round trip.
// It returns ErrNotFound where there is no such row.
func (t *try) begin(ctx context.Context, read func(pgx.Row) error, query string, args ...any) error {
	var b pgx.Batch
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	b.Queue(query, args...).QueryRow(read)
	return found(t.conn.SendBatch(ctx, &b).Close())
}

// commit sends the statements and, if there is a transaction, its end; otherwise they are one by
// themselves. That takes one round trip, which ctx does not cut off, so that no outcome is in doubt
// without need.
func (t *try) commit(ctx context.Context, b *pgx.Batch) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if t.conn.PgConn().TxStatus() == 'T' {
		b.Queue(`COMMIT`)
	}
	err := t.conn.SendBatch(ctx, b).Close()
	if err != nil && (t.conn.IsClosed() && !pgconn.SafeToRetry(err) || is(err, completionUnknown) || isLoss(err)) {
		return &trouble{err: errLost, pause: lossPause, doubt: true}
	}
	return err
}

// exec commits one statement by itself and returns how many rows it changed.
func (t *try) exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	var b pgx.Batch
	b.Queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
		rows = tag.RowsAffected()
		return nil
	})
	return rows, t.commit(ctx, &b)
}

// rollback ends a transaction that was not committed.
func (t *try) rollback(ctx context.Context) {
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	_, _ = t.conn.Exec(ctx, `ROLLBACK`) // if it fails, the connection goes, and the transaction with it
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

// found turns the driver's word for no row into that of package ports.
func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ports.ErrNotFound
	}
	return err
}

// querier is where rows are read.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// all returns what scan makes of the rows.
func all[T any](ctx context.Context, db *DB, scan pgx.RowToFunc[T], query string, args ...any) (list []T, err error) {
	err = db.do(ctx, func(ctx context.Context, t *try) (err error) {
		list, err = rows(ctx, t.conn, scan, query, args...)
		return err
	})
	return list, err
}

// rows does so on a connection.
func rows[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	found, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows[T, []T](nil, found, scan)
}

// one returns what scan makes of the only row, or ErrNotFound.
func one[T any](ctx context.Context, db *DB, scan pgx.RowToFunc[T], query string, args ...any) (v T, err error) {
	list, err := all(ctx, db, scan, query, args...)
	switch {
	case err != nil:
		return v, err
	case len(list) == 0:
		return v, ports.ErrNotFound
	}
	return list[0], nil
}
