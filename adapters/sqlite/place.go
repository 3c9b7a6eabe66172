package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/provider-checkout/provider-checkout/ports"
)

// storageError is why a store cannot be read or written now. It is an [ports.ErrBusy]: the same call may be made again.
type storageError struct{ error }

func (e storageError) Is(target error) bool { return target == ports.ErrBusy }
func (e storageError) Unwrap() error        { return e.error }

// place is where the files of an open store are: the file itself, and its log and its shared memory beside it. What is
// written after one of them was moved, deleted or replaced goes where no reader looks for it.
type place struct {
	folder string
	files  []placed
}

type placed struct {
	path   string
	opened os.FileInfo
}

// placeOf returns the place of a store that is open. Where the path is a link, the log is beside the file that it leads to.
func placeOf(path string) (place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return place{}, err
	}
	p := place{folder: filepath.Dir(real)}
	for _, name := range []string{path, real + "-wal", real + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			return place{}, err
		}
		p.files = append(p.files, placed{name, info})
	}
	return p, nil
}

// check returns an error unless the paths still lead to the files that were opened. It takes a few microseconds.
func (p place) check() error {
	for _, f := range p.files {
		switch info, err := os.Stat(f.path); {
		case errors.Is(err, fs.ErrNotExist):
			return storageError{fmt.Errorf("%s was moved or deleted while the store is open: put it back", f.path)}
		case err != nil:
			return storageError{err}
		case !os.SameFile(info, f.opened):
			return storageError{fmt.Errorf("%s was replaced while the store is open: put the file back that was there, or restart", f.path)}
		}
	}
	return nil
}

// connector opens connections of the file that was opened first, and of no other that has its path since. It looks before it
// opens one: a connection of another file, once it reads, shares the log and its locks, and drops them when it is closed.
type connector struct {
	driver driver.Driver
	name   string // data source name
	place  place
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	if err := c.place.check(); err != nil {
		return nil, err
	}
	conn, err := c.driver.Open(c.name)
	return conn, mapError(err)
}

// room is how many bytes a ready store can still write: a few confirms with their documents.
const room = 256 << 10

// checkRoom returns an error unless there is room for further writes. A write of one page does not show it, because it may
// fit into what the log has already. What is written here has no name, so that nothing is left of it.
func checkRoom(folder string) error {
	f, err := os.CreateTemp(folder, ".room-*")
	if errors.Is(err, fs.ErrPermission) {
		return nil // the files are there, and the store can be written without making others
	}
	if err != nil {
		return storageError{err}
	}
	removed := os.Remove(f.Name())
	_, err = f.Write(make([]byte, room))
	err = errors.Join(err, f.Close())
	if removed != nil { // some systems remove no file that is open
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if err != nil {
		return storageError{fmt.Errorf("no room for further writes: %w", err)}
	}
	return nil
}

// makePrivate keeps everybody but a file's owner and group from opening it, and reports whether they could. That the group
// may is its owner's decision.
func makePrivate(path string) (exposed bool, err error) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o007 == 0 {
		return false, err
	}
	return true, os.Chmod(path, info.Mode().Perm()&^0o007)
}
