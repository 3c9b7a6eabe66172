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

// place is the place of the files of an open store: the file itself, and its log and its shared memory beside it. Writes after one
// of them was moved, deleted or replaced go where no reader looks for them.
type place struct {
	folder string
	files  []placed
}

type placed struct {
	path string
	file os.FileInfo
}

// placeOf returns the place of a file that is not open yet, without its log.
func placeOf(path string) (place, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a file")
	}
	return place{files: []placed{{path, info}}}, err
}

// withLog returns the place of a file that is open, with its log. Where the path is a link, the log is beside the file that it
// leads to. It fails if the path does not lead to that file any more.
func (p place) withLog() (place, error) {
	real, err := filepath.EvalSymlinks(p.files[0].path)
	if err != nil {
		return place{}, err
	}
	full := place{folder: filepath.Dir(real), files: p.files[:1:1]}
	for _, name := range []string{real + "-wal", real + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			return place{}, err
		}
		full.files = append(full.files, placed{name, info})
	}
	return full, full.check()
}

// check returns an error unless the paths still lead to the files that were opened. It takes a few microseconds.
func (p place) check() error {
	for _, f := range p.files {
		switch info, err := os.Stat(f.path); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: %s was moved or deleted while the store is open: put it back", ports.ErrBusy, f.path)
		case err != nil:
			return fmt.Errorf("%w: %w", ports.ErrBusy, err)
		case !os.SameFile(info, f.file):
			return fmt.Errorf("%w: %s was replaced while the store is open: put the file back that was there", ports.ErrBusy, f.path)
		}
	}
	return nil
}

// connect opens a connection of the file that has the place, and of no other that takes its path. SQLite opens the file when it is
// told to, and the log when it first reads. A connection of another file can be closed without harm until then.
func (p place) connect(mode string, pragmas ...string) (*conn, error) {
	c, err := connect(p.files[0].path, mode)
	if err != nil {
		return nil, err
	}
	err = p.check()
	for _, pragma := range append(pragmas, "schema_version") {
		if err == nil {
			_, err = c.exec("PRAGMA " + pragma)
		}
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// checkLog returns an error if the log beside a file that is about to be opened is the log of another file, as after a backup was
// copied over a store, or is missing. SQLite does not look: it copies every log of that name into the file, and makes a new one.
func checkLog(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	wal, shm := path+"-wal", path+"-shm"
	logged, err := exists(wal) // first, for a file says that it has a log before there is one
	if err != nil {
		return err
	}
	if shared, err := exists(shm); err != nil || !logged && !shared {
		return err
	}
	switch own, err := hasLog(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("it is missing, and %s may have its latest writes: put the file back, or move its log (-wal, -shm) away", wal)
	case err != nil:
		return err
	case !own:
		return fmt.Errorf("%s belongs to another file, and may have its latest writes: put that file back, or move its log (-wal, -shm) away", wal)
	}
	if logged, err = exists(wal); err != nil || logged {
		return err
	}
	return fmt.Errorf("%s, with the latest writes, is missing: put it back, or stop every process that has the store open; if none has, move %s away",
		wal, shm)
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// hasLog reports whether the header of a file says that it has a log. It is read by SQLite as the header of an immutable file,
// which has no log: a close of the file by another reader would drop the locks that this process has on it.
func hasLog(path string) (bool, error) {
	if _, err := os.Stat(path); err != nil {
		return false, err
	}
	c, err := connect(path, "ro&immutable=1")
	if err != nil {
		return false, err
	}
	defer c.Close()
	found, err := one[value[int64]](context.Background(), c, // the versions of the format to write and to read are 2 with a log
		`SELECT count(*) FROM sqlite_dbpage WHERE pgno = 1 AND hex(substr(data, 19, 2)) = '0202'`)
	switch {
	case is(err, sqlite3.SQLITE_NOTADB):
		return false, nil
	case is(err, sqlite3.SQLITE_CORRUPT): // a part of the log was copied into it, and the log makes it whole
		return true, nil
	}
	return found.v == 1, err
}
