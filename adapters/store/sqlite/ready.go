package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Ready implements [ports.Store]. It writes the file's mark again, because SQLite writes nothing for an UPDATE that changes nothing.
func (db *DB) Ready(ctx context.Context) error {
	err := db.do(ctx, false, func(t *tx) { t.exec(`PRAGMA application_id = 0x50436b31`) })
	if err == nil {
		err = checkRoom(filepath.Dir(db.writer.place.path))
	}
	return wrap(err, "write to store "+db.path)
}

// room is the number of bytes that a ready store can still write: a few confirms with their documents.
const room = 256 << 10

// checkRoom returns an error unless there is room for further writes. A write of one page does not show it, because it may
// fit into what the log has already.
func checkRoom(folder string) error {
	f, err := privatefile.New(folder)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the files are there, and the store can be written without making others
	}
	if err == nil {
		_, err = f.Write(make([]byte, room))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: no room for further writes: %w", ports.ErrBusy, err)
	}
	return nil
}

// Scrub implements [ports.Desk]. It writes the file anew, and empties the log. What was deleted is overwritten when it
// is deleted; but SQLite leaves bytes behind where it moves rows between pages.
func (db *DB) Scrub(ctx context.Context) error {
	return db.exclusively(ctx, func(c *conn) error {
		if _, err := c.exec(`VACUUM`); err != nil {
			return fmt.Errorf("write the file anew: %w", err)
		}
		busy, err := one(ctx, c, itself[value[int64]], `PRAGMA wal_checkpoint(TRUNCATE)`)
		if err == nil && busy.v != 0 {
			err = fmt.Errorf("others read: %w", ports.ErrBusy)
		}
		return wrap(err, "empty the log")
	})
}
