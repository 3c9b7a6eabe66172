package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// Backup writes a copy of the store at path to a new file that only its owner may open, checks it, and returns when it is on the
// disk. The store may be served meanwhile: what was acknowledged before Backup is called is in the copy, and no write waits for it.
// The copy is one file, and complete or not there at all. The operator's secret is not part of it. The error is fs.ErrExist if
// there is a file. A restore is a copy of that file to the place of the store.
func Backup(ctx context.Context, path, out string) error {
	return wrap(damaged(backUp(ctx, path, out)), "back up store "+path)
}

func backUp(ctx context.Context, path, out string) error {
	if _, err := os.Lstat(out); err == nil { // before the work
		return fmt.Errorf("%s: %w", out, fs.ErrExist)
	}
	path, err := find(path, false)
	if err != nil {
		return err
	}
	from, err := connect(path, "mode=rw") // to read alone would leave a log beside the file
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := one(ctx, from, header.check, selectHeader); err != nil {
		return err
	}
	copied, err := privatefile.New(filepath.Dir(out))
	if err != nil {
		return err
	}
	defer copied.Close()
	if _, err := from.exec(`VACUUM INTO ?`, copied.Name()); err != nil {
		return err
	}
	check, err := connect(copied.Name(), "mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer check.Close()
	if err := checkPages(ctx, check, `PRAGMA integrity_check(1)`); err != nil {
		return err
	}
	return copied.Publish(out)
}
