package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/ports"
)

// storageError is the reason why a store cannot be read or written now. It is an [ports.ErrBusy]: the same call may be made again.
type storageError struct{ error }

func (e storageError) Is(target error) bool { return target == ports.ErrBusy }
func (e storageError) Unwrap() error        { return e.error }

// place is the place of the files of an open store: the file itself, and its log and its shared memory beside it. What is
// written after one of them was moved, deleted or replaced goes where no reader looks for it.
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
			return storageError{fmt.Errorf("%s was moved or deleted while the store is open: put it back", f.path)}
		case err != nil:
			return storageError{err}
		case !os.SameFile(info, f.file):
			return storageError{fmt.Errorf("%s was replaced while the store is open: put the file back that was there", f.path)}
		}
	}
	return nil
}

// connector opens connections of the file that has a place, and of no other that takes its path. SQLite opens the file when it
// is told to, and the log when it first reads. Until then a connection of another file can be closed without harm; a connection that has
// read shares the log and its locks, and copies the log into its file when it is the last to be closed.
type connector struct {
	driver.Connector
	place   place
	pragmas []string // that every connection gets
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, mapError(err)
	}
	if err := c.join(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// join has an open connection read, if what it has opened is the file.
func (c connector) join(ctx context.Context, conn driver.Conn) error {
	if err := c.place.check(); err != nil {
		return err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver executes no statements")
	}
	for _, pragma := range append(c.pragmas[:len(c.pragmas):len(c.pragmas)], "schema_version") {
		if _, err := execer.ExecContext(context.WithoutCancel(ctx), "PRAGMA "+pragma, nil); err != nil {
			return mapError(err)
		}
	}
	return c.place.check()
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
	if err != nil {
		return storageError{err}
	}
	_, err = f.Write(make([]byte, room))
	if err = errors.Join(err, f.Close()); err != nil {
		return storageError{fmt.Errorf("no room for further writes: %w", err)}
	}
	return nil
}
