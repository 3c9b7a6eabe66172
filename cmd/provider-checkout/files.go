package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// standard stands for standard input or standard output where a command takes a file.
const standard = "-"

// maxFile bounds a file that is read as a whole. A provider file of that size has tens of thousands of courses.
const maxFile = 32 << 20

// readFile reads the file of a flag or an argument, or standard input.
func readFile(stdin io.Reader, path string) ([]byte, error) {
	from := stdin
	if path != standard {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is refused: it is larger than %d MB", inputName(path), maxFile>>20)
	}
	return data, err
}

// inputName returns the name of a read file in messages.
func inputName(path string) string {
	if path == standard {
		return "standard input"
	}
	return path
}

// outputName returns the name of a written file in messages.
func outputName(path string) string {
	if path == standard {
		return "standard output"
	}
	return path
}

// writeFile writes a file that only its owner may read and write, or standard output.
func (c *call) writeFile(path string, data []byte) error {
	if path == standard {
		_, err := c.Stdout.Write(data)
		return err
	}
	return writePrivate(path, data)
}

// writePrivate writes a file that only its owner may read and write. If it fails, path is as it was before.
func writePrivate(path string, data []byte) error {
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".*.tmp") // 0600
	if err != nil {
		return under(path, err)
	}
	defer os.Remove(f.Name()) // no effect once renamed
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return under(path, err)
	}
	return under(path, os.Rename(f.Name(), path))
}

// under returns an error about a temporary file as one about the file that was asked for.
func under(path string, err error) error {
	var cause error
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		cause = p.Err
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		cause = l.Err
	} else {
		return err
	}
	return &fs.PathError{Op: "write", Path: path, Err: cause}
}
