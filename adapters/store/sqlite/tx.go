package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/ports"
)

// tx is the writer's open transaction, as one write sees it.
type tx struct {
	*writer
	changed bool // the write changed something
	broken  bool // a statement failed in a way that may have ended the transaction
}

// A lock of another process is waited for this long: maxBusyRetries times SQLite's own busy time-out of 100 ms. Where
// SQLite does not wait, busyPause does.
const (
	maxBusyRetries = 20
	busyPause      = 5 * time.Millisecond
)

// retryBusy calls f until the store is not busy. It gives up after maxBusyRetries calls, or when ctx ends.
func retryBusy(ctx context.Context, f func() error) error {
	for range maxBusyRetries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(); !is(err, sqlite3.SQLITE_BUSY) {
			return mapError(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(busyPause):
		}
	}
	return fmt.Errorf("another process holds the write lock: %w", ports.ErrBusy)
}

// is reports whether err is SQLite's with one of these codes. A primary code stands for its extended codes, too.
func is(err error, codes ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// mapError wraps an error of SQLite in the error of package ports that it means.
func mapError(err error) error {
	switch {
	case err == nil:
		return nil
	// The store's one trigger refuses an idempotency key that is taken.
	case is(err, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_TRIGGER):
		return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
	case is(err, sqlite3.SQLITE_BUSY):
		return fmt.Errorf("%w: %w", ports.ErrBusy, err)
	case isStorageFailure(err):
		return storageError{err}
	}
	return err
}

// isStorageFailure reports whether what the file is kept on failed: the disk is full, a read or write of it failed, or it
// is read-only. The same call succeeds once that is mended.
func isStorageFailure(err error) bool {
	return is(err, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
}

// exec runs a statement that writes, and returns the number of rows that it changed.
func (t *tx) exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	r, err := t.statements.exec(ctx, query, args...)
	t.noteFailure(err)
	if err != nil {
		return 0, mapError(err)
	}
	rows, err = r.RowsAffected()
	t.changed = t.changed || rows > 0
	return rows, err
}

// noteFailure records what a failed statement means for the transaction. A statement that violates a constraint has changed
// nothing; after any other failure SQLite may have rolled back.
func (t *tx) noteFailure(err error) {
	if err != nil && !is(err, sqlite3.SQLITE_CONSTRAINT) {
		t.broken = true
	}
	t.noteStorage(err)
}
