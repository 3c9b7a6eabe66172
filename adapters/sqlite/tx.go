package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/ports"
)

// tx is a transaction that holds the store's write lock.
type tx struct {
	tx       *sql.Tx
	prepared map[string]*sql.Stmt
}

// inTx runs f in a transaction: what f did is stored, to the disk, if f and the commit return nil,
// and otherwise nothing is. An error of f is returned as it is. Waiting for the lock ends with
// ctx; what comes after is short, and f gets a context that does not cut it off, so that no
// outcome is in doubt.
func (db *DB) inTx(ctx context.Context, f func(context.Context, tx) error) error {
	conn, err := db.writer.db.Conn(ctx) // waits for this process's other writes
	if err != nil {
		return fmt.Errorf("wait for the writer: %w", err)
	}
	defer conn.Close()
	var sqlTx *sql.Tx
	short := context.WithoutCancel(ctx)
	err = patiently(ctx, func() (err error) { // waits for those of other processes
		sqlTx, err = conn.BeginTx(short, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer sqlTx.Rollback() // has no effect once committed
	if err := f(short, tx{sqlTx, db.writer.prepared}); err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", meaning(err))
	}
	return nil
}

// patience is how often a lock that another process holds is asked for. Each time takes SQLite's
// own busy wait of 100 ms; the pause is for where SQLite does not wait.
const (
	patience = 20
	pause    = 5 * time.Millisecond
)

// patiently calls f until it finds the store not busy, its patience is at an end, or ctx is.
func patiently(ctx context.Context, f func() error) error {
	for range patience {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(); !is(err, sqlite3.SQLITE_BUSY) {
			return meaning(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return fmt.Errorf("another process holds the write lock: %w", ports.ErrBusy)
}

// is tells whether err is SQLite's, of this primary code.
func is(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}

// meaning gives an error of SQLite its meaning to package ports.
func meaning(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	}
	if e.Code()&0xff == sqlite3.SQLITE_BUSY {
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	}
	return err
}

// exec runs a statement, prepared if it is a hot one.
func (tx tx) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	run := func() (sql.Result, error) { return tx.tx.ExecContext(ctx, query, args...) }
	if stmt, ok := tx.prepared[query]; ok {
		run = func() (sql.Result, error) { return tx.tx.StmtContext(ctx, stmt).ExecContext(ctx, args...) }
	}
	r, err := run()
	return r, meaning(err)
}

// execOne runs a statement that changes one row, and returns ErrNotFound if there was none.
func (tx tx) execOne(ctx context.Context, query string, args ...any) error {
	r, err := tx.exec(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err == nil && n == 0 {
		return ports.ErrNotFound
	}
	return err
}

func (tx tx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, ok := tx.prepared[query]; ok {
		return tx.tx.StmtContext(ctx, stmt).QueryContext(ctx, args...)
	}
	return tx.tx.QueryContext(ctx, query, args...)
}

func (p *pool) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, ok := p.prepared[query]; ok {
		return stmt.QueryContext(ctx, args...)
	}
	return p.db.QueryContext(ctx, query, args...)
}
