package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
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

// readText is readFile without the byte order mark that some editors put before a text.
func readText(stdin io.Reader, path string) ([]byte, error) {
	data, err := readFile(stdin, path)
	return withoutMark(data), err
}

func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\uFEFF")) }

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
	return privatefile.Replace(path, data)
}
