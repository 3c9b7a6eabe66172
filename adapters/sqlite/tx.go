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

// tx is the transaction that the writer has open, as one write sees it.
type tx struct {
	*writer
	changed bool // the write changed something
	broken  bool // a statement failed in a way that may have undone the transaction
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
func (t *tx) exec(ctx context.Context, query string, args ...any) (r sql.Result, err error) {
	if stmt, ok := t.prepared[query]; ok {
		r, err = stmt.ExecContext(ctx, args...)
	} else {
		r, err = t.conn.ExecContext(ctx, query, args...)
	}
	t.note(err)
	return r, meaning(err)
}

// note keeps in mind what a statement means for the transaction. One that fails on a constraint has changed
// nothing; after any other failure SQLite may have given the transaction up.
func (t *tx) note(err error) {
	switch {
	case err == nil:
		t.changed = true
	case !is(err, sqlite3.SQLITE_CONSTRAINT):
		t.broken = true
	}
}

// execOne runs a statement that changes one row, and returns ErrNotFound if there was none.
func (t *tx) execOne(ctx context.Context, query string, args ...any) error {
	r, err := t.exec(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err == nil && n == 0 {
		return ports.ErrNotFound
	}
	return err
}

// query reads, or changes and returns what it changed.
func (t *tx) query(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	if stmt, ok := t.prepared[query]; ok {
		rows, err = stmt.QueryContext(ctx, args...)
	} else {
		rows, err = t.conn.QueryContext(ctx, query, args...)
	}
	t.note(err)
	return rows, err
}

func (p *pool) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, ok := p.prepared[query]; ok {
		return stmt.QueryContext(ctx, args...)
	}
	return p.db.QueryContext(ctx, query, args...)
}
