// Package privatefile makes files that only their owner may open. A file is complete or not there at all, also after a kill and after a
// loss of power.
package privatefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// File is a new file, to read and to write, with a temporary name until Publish gives it its own. The temporary name is left if the
// process is killed.
type File struct {
	*os.File
	published bool
}

const (
	suffix    = ".partial"
	abandoned = time.Hour // the age of a temporary name that no process still writes to
)

// New makes a file in the folder where it will get its name. Its caller closes it.
func New(folder string) (*File, error) {
	removeAbandoned(folder)
	f, err := os.CreateTemp(folder, ".*"+suffix) // 0600
	return &File{File: f}, err
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
	if f.published {
		return err
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// Publish gives the file its name and returns when both are on the disk. The error is fs.ErrExist if the name is taken.
func (f *File) Publish(name string) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	return f.rename(name)
}

// rename gives the file its name, also in the place of another file.
func (f *File) rename(name string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	f.published = true
	folder, err := os.Open(filepath.Dir(name)) // until the names in it are on the disk
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Write writes a file. The error is fs.ErrExist if there is one.
func Write(name string, data []byte) error { return write(name, data, (*File).Publish) }

// Replace writes a file, also in the place of another. If it fails, that is as it was. Its error does not name a temporary file.
func Replace(name string, data []byte) error {
	info, err := os.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	err = write(name, data, (*File).rename)
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// write writes data to a new file, and gives it its name.
func write(name string, data []byte, publish func(*File, string) error) error {
	f, err := New(filepath.Dir(name))
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = publish(f, name)
	}
	return errors.Join(err, f.Close())
}

// Protect keeps everybody but a file's owner and group from opening it. That the group may is its owner's decision.
func Protect(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()&^0o007)
}
