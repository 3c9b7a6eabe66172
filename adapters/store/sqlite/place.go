package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/ports"
)

// place is the file of an open store with its path, and its log and its shared memory with theirs. Writes after one of them was moved,
// deleted or replaced go where no reader looks for them.
type place struct {
	path  string
	files map[string]os.FileInfo
}

// placeOf returns the place of files whose names are a path with suffixes.
func placeOf(path string, suffixes ...string) (place, error) {
	p := place{path, map[string]os.FileInfo{}}
	for _, suffix := range suffixes {
		info, err := os.Stat(path + suffix)
		if err != nil {
			return p, err
		}
		p.files[path+suffix] = info
	}
	return p, nil
}

// check returns an error unless the paths still lead to the files that were opened. It takes a few microseconds.
func (p place) check() error {
	for path, was := range p.files {
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: %s was moved or deleted while the store is open: put it back", ports.ErrBusy, path)
		case err != nil:
			return fmt.Errorf("%w: %w", ports.ErrBusy, err)
		case !os.SameFile(info, was):
			return fmt.Errorf("%w: %s was replaced while the store is open: put the file back that was there", ports.ErrBusy, path)
		}
	}
	return nil
}

// connect opens a connection of the file that has the place, and of no other that takes its path. SQLite opens the file when it is
// told to, and the log when it first reads. A connection of another file can be closed without harm until then.
func (p place) connect(parameters string) (*conn, error) {
	c, err := connect(p.path, parameters)
	if err != nil {
		return nil, err
	}
	if err = p.check(); err == nil {
		_, err = c.exec(`PRAGMA schema_version`)
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// find returns the path of the file, without links, beside which its log is. If the file is missing, it is made on demand, readable by
// its owner only; SQLite gives its log and its shared memory the same mode.
//
// The log beside the file may be the log of another, as after a backup was copied over a store, or be missing. SQLite does not look: it
// copies every log of that name into the file, and makes a new one. find returns an error then.
func find(path string, create bool) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	logged := exists(path + "-wal") // first, for a file says that it has a log before there is one
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create && logged:
		return "", fmt.Errorf("it is missing, and %s-wal may have its latest writes: put the file back, or move its log (-wal, -shm) away", path)
	case errors.Is(err, fs.ErrNotExist) && create:
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			err = f.Close()
		}
		if errors.Is(err, fs.ErrExist) { // another process has made it
			err = nil
		}
		return path, err
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("not a file")
	}
	shared := exists(path + "-shm")
	if err != nil || !logged && !shared {
		return path, err
	}
	switch own, err := hasLog(path); {
	case err != nil:
		return path, err
	case !own:
		return path, fmt.Errorf("%s-wal belongs to another file, and may have its latest writes: put that file back, or move its log (-wal, -shm) away", path)
	case !exists(path + "-wal"):
		return path, fmt.Errorf("%[1]s-wal, with the latest writes, is missing: put it back, or stop every process that has the store open; "+
			"if none has, move %[1]s-shm away", path)
	}
	return path, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// hasLog reports whether the header of a file says that it has a log. It is read by SQLite as the header of an immutable file,
// which has no log: a close of the file by another reader would drop the locks that this process has on it.
func hasLog(path string) (bool, error) {
	c, err := connect(path, "mode=ro&immutable=1")
	if err != nil {
		return false, err
	}
	defer c.Close()
	found, err := one(context.Background(), c, itself[value[int64]], // the versions of the format to write and to read are 2 with a log
		`SELECT count(*) FROM sqlite_dbpage WHERE pgno = 1 AND hex(substr(data, 19, 2)) = '0202'`)
	if is(err, sqlite3.SQLITE_CORRUPT) { // a part of the log was copied into it, and the log makes it whole
		return true, nil
	}
	return found.v == 1, err
}

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
