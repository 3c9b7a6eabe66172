package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

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
