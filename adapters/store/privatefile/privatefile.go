// Package privatefile makes files that only their owner may open, and finds files that others may read. A file that it makes is
// complete or not there at all, also after a kill and after a loss of power.
package privatefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// File is a new file, to read and to write, that gets its name when it is complete: by Publish. Until then it is gone when its
// process ends. Where the system has no file without a name, a temporary name is left if the process is killed.
type File struct {
	*os.File
	temporary string // name; "" without one
}

const (
	suffix    = ".partial"
	abandoned = time.Hour // the age of a temporary name that no process still writes to
)

// New makes a file in the folder where it will get its name. Its caller closes it.
func New(folder string) (*File, error) {
	f, err := unnamed(folder)
	if err == nil {
		return &File{File: f}, nil
	}
	return NewNamed(folder)
}

// NewNamed makes a file as New does, with a temporary name, for a program that opens it by its name.
func NewNamed(folder string) (*File, error) {
	removeAbandoned(folder)
	f, err := os.CreateTemp(folder, ".*"+suffix) // 0600
	if err != nil {
		return nil, err
	}
	return &File{f, f.Name()}, nil
}

// removeAbandoned removes the temporary names in a folder that processes have left which were killed.
func removeAbandoned(folder string) {
	left, _ := fs.Glob(os.DirFS(folder), ".*"+suffix+"*") // and their journals
	for _, name := range left {
		name = filepath.Join(folder, name)
		if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(name) // or the next file's maker does
		}
	}
}

// Close closes the file, which is gone unless it was published.
func (f *File) Close() error {
	err := f.File.Close()
	if f.temporary != "" {
		err = errors.Join(err, os.Remove(f.temporary))
	}
	return err
}

// Publish gives the file its name and returns when both are on the disk. The error is fs.ErrExist if the name is taken.
func (f *File) Publish(name string) error {
	if err := f.give(name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// give gives the file its name, which is not on the disk yet.
func (f *File) give(name string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	err := f.link(name)
	if err != nil && f.temporary != "" && !errors.Is(err, fs.ErrExist) { // a file system without links
		if _, taken := os.Lstat(name); taken == nil {
			err = fs.ErrExist
		} else if err = os.Rename(f.temporary, name); err == nil {
			f.temporary = ""
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	return err
}

// link gives the file a further name.
func (f *File) link(name string) error {
	if f.temporary != "" {
		return os.Link(f.temporary, name)
	}
	return linkUnnamed(f.File, name)
}

// Write writes a file. The error is fs.ErrExist if there is one.
func Write(name string, data []byte) error { return write(name, data, (*File).Publish) }

func write(name string, data []byte, publish func(*File, string) error) error {
	f, err := New(filepath.Dir(name))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = publish(f, name)
	}
	return errors.Join(err, f.Close())
}

// Replace writes a file, also in the place of another. If it fails, that is as it was. Its error does not name a temporary file.
func Replace(name string, data []byte) error {
	info, err := os.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	removeAbandoned(filepath.Dir(name))
	temporary := filepath.Join(filepath.Dir(name), "."+rand.Text()+suffix)
	if err = write(temporary, data, (*File).give); err == nil {
		if err = os.Rename(temporary, name); err != nil {
			_ = os.Remove(temporary)
		}
	}
	if err == nil {
		err = syncFolder(filepath.Dir(name))
	}
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// syncFolder returns when the names in a folder are on the disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if runtime.GOOS == "windows" { // where a folder cannot be synced
		err = nil
	}
	return errors.Join(err, folder.Close())
}

// Protect keeps everybody but a file's owner and group from opening it, and reports whether they could. That the group may is its
// owner's decision.
func Protect(path string) (exposed bool, err error) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o007 == 0 {
		return false, err
	}
	return true, os.Chmod(path, info.Mode().Perm()&^0o007)
}

// IsExposed reports whether users of the machine who are neither the owner nor of the group of a file can open it: the modes of the
// file and of all folders above it let them.
func IsExposed(path string) (bool, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil || runtime.GOOS == "windows" {
		return false, err
	}
	info, err := os.Stat(path)
	exposed := err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o006 != 0
	for exposed && !strings.HasSuffix(path, string(filepath.Separator)) {
		path = filepath.Dir(path)
		info, err = os.Stat(path)
		exposed = err == nil && info.Mode().Perm()&0o001 != 0
	}
	return exposed, err
}
