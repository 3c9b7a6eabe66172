package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// opening is held while a process opens the first connection of a file. Until SQLite has locked the file, checkLog may look
// into it with a descriptor of its own, and to close that drops every POSIX lock that the process has on the file.
var opening sync.Mutex

// logLooks is how often checkLog looks, busyPause apart, before it refuses a log: others may open and close the store just now.
const logLooks = 30

// use is how a file is used.
type use struct {
	known     bool // whether the rest is known
	here      bool // this process has it open
	elsewhere bool // another process holds SQLite's lock on it
	logged    bool // its header says that it has a log, as it does while a connection has it open
}

// checkLog returns an error if what is beside the file is the log of another file, or if what is open elsewhere is not beside
// it. SQLite does not look. It takes every log that has the file's name for the file's own, copies it into the file and deletes
// it, and with it what was acknowledged. The caller holds opening.
func checkLog(ctx context.Context, path string) (err error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real = path
	} else if err != nil {
		return err
	}
	for range logLooks {
		if err = lookAtLog(real); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(busyPause):
		}
	}
	return err
}

// lookAtLog looks at the log first: a file says that it has one before there is one, and until it is deleted.
func lookAtLog(path string) error {
	wal, shm := path+"-wal", path+"-shm"
	beside := ""
	for _, name := range []string{shm, wal} {
		if is, err := exists(name); err != nil {
			return err
		} else if is {
			beside = name
		}
	}
	memory, err := useOf(shm, memoryLock)
	if err != nil {
		return err
	}
	file, err := useOf(path, fileLock)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err != nil && !missing:
		return err
	case beside == "" && !file.elsewhere:
		return nil
	case missing:
		return fmt.Errorf("the file is missing, and %s may have its latest writes: put the file back, or move its log (-wal, -shm) away", beside)
	case beside != "" && (info.Size() == 0 || file.known && !file.logged):
		return fmt.Errorf("%s belongs to another file, and may have its latest writes: put that file back, or move its log (-wal, -shm) away", beside)
	case beside == shm:
		return fmt.Errorf("%s, with the latest writes, is missing: put it back, or stop every process that has the store open; if none has, move %s away and do without them", wal, shm)
	case memory.elsewhere && !file.elsewhere, memory.here && !file.here:
		return fmt.Errorf("%s belongs to another file, which a process has open: put that file back", beside)
	case file.logged && file.elsewhere && !memory.elsewhere:
		return fmt.Errorf("%s was moved, deleted or replaced while another process has the store open: put it back, or stop that process", shm)
	}
	return nil
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
