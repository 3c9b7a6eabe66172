package sqlite

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// lock is a range of bytes that SQLite locks. The ranges are part of its file format.
type lock struct{ start, length int64 }

var (
	fileLock   = lock{0x40000002, 510} // SHARED_FIRST: held while a connection has a file with a log open
	memoryLock = lock{128, 1}          // UNIX_SHM_DMS: held while a process has the shared memory open
)

// useOf returns how a file is used. It looks through a descriptor that this process has of the file, if there is one: to
// close another would drop the locks that this process has on the file.
func useOf(path string, l lock) (u use, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return use{}, nil
	}
	if err != nil {
		return use{}, err
	}
	fd, err := descriptor(info)
	if errors.Is(err, fs.ErrNotExist) { // a system without /proc
		return use{}, nil
	}
	if err != nil {
		return use{}, err
	}
	u.known, u.here = true, fd >= 0
	if !u.here {
		f, err := os.Open(path)
		if err != nil {
			return use{}, err
		}
		defer f.Close()
		fd = int(f.Fd())
	}
	held := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: l.start, Len: l.length}
	if err := syscall.FcntlFlock(uintptr(fd), syscall.F_GETLK, &held); err != nil {
		return use{}, &fs.PathError{Op: "look for locks of", Path: path, Err: err}
	}
	u.elsewhere = held.Type != syscall.F_UNLCK
	var header [20]byte // its last two bytes are the versions of the format to write and to read: 2 with a log
	n, err := syscall.Pread(fd, header[:], 0)
	if err != nil {
		return use{}, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	u.logged = n == len(header) && header[18] == 2 && header[19] == 2
	return u, nil
}

// descriptor returns a descriptor that this process has of a file, or -1.
func descriptor(file os.FileInfo) (int, error) {
	const folder = "/proc/self/fd"
	entries, err := os.ReadDir(folder)
	if err != nil {
		return -1, err
	}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(folder, e.Name())); err == nil && os.SameFile(info, file) {
			return strconv.Atoi(e.Name())
		}
	}
	return -1, nil
}
