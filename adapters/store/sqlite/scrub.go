package sqlite

import (
	"context"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/ports"
)

// scrubTimeout bounds the time that Scrub waits for a lock of another process. SQLite's own wait does not end with a context.
const scrubTimeout = 10 * time.Second

// Scrub implements [ports.Operations]. It writes the file anew, and empties the log. What was deleted is overwritten when it
// is deleted; but SQLite leaves bytes behind where it moves rows between pages.
func (db *DB) Scrub(ctx context.Context) error {
	conn, err := openDB(db.writer.place, "rw", fmt.Sprintf("busy_timeout(%d)", scrubTimeout.Milliseconds()),
		"secure_delete(ON)", "synchronous(FULL)", "trusted_schema(OFF)")
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetMaxOpenConns(1)
	if _, err := conn.ExecContext(ctx, `VACUUM`); err != nil {
		return fmt.Errorf("write the file anew: %w", mapError(err))
	}
	var busy, pages, copied int
	err = conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &copied)
	if is(err, sqlite3.SQLITE_BUSY) || err == nil && busy != 0 {
		return fmt.Errorf("empty the log: another process reads: %w", ports.ErrBusy)
	}
	if err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	return db.writer.place.check()
}
