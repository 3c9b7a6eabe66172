package main

import (
	"cmp"
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
	if err == nil {
		defer os.Remove(f.Name()) // no effect once renamed
		_, err = f.Write(data)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cmp.Or(errors.Unwrap(err), err)) // without the temporary file's name
	}
	return nil
}
