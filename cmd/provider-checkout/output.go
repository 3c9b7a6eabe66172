package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/events"
)

// record is the output of a command about one thing. With --json it is an object, whose fields are named as in export.
type record []field

// field is one value of a record.
type field struct {
	name  string // in JSON; "" if it is for people only
	label string // for people; "" if it is for JSON only
	value any    // as jsonlines.Field has it; in JSON an empty text, time or list is left out
}

func (r record) object() (o jsonlines.Object) {
	for _, f := range r {
		if f.name == "" {
			continue
		}
		_, isNumber := f.value.(int)
		o = append(o, jsonlines.Field{Name: f.name, Value: f.value, Optional: !isNumber})
	}
	return o
}

// text returns the value for people.
func (f field) text() string {
	if at, isTime := f.value.(time.Time); isTime {
		return formatTime(at)
	}
	return cmp.Or(oneLine(fmt.Sprint(f.value)), "-")
}

// table prints a list in columns, under the labels of its records, or with --json an object a line.
func table[T any](c *call, list []T, recordOf func(T) record, labels ...string) error {
	columns := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	if !c.json {
		fmt.Fprintln(columns, strings.ToUpper(strings.Join(labels, "\t")))
	}
	for _, of := range list {
		r := recordOf(of)
		if c.json {
			if err := jsonlines.Write(c.Stdout, r.object()); err != nil {
				return err
			}
			continue
		}
		var cells []string
		for _, label := range labels {
			cells = append(cells, r[slices.IndexFunc(r, func(f field) bool { return f.label == label })].text())
		}
		fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	return columns.Flush()
}

// print prints one record: a line for each label, or with --json an object.
func (c *call) print(r record) error {
	if c.json {
		return jsonlines.Write(c.Stdout, r.object())
	}
	lines := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range r {
		if f.label != "" {
			fmt.Fprintf(lines, "%s\t%s\n", f.label, f.text())
		}
	}
	return lines.Flush()
}

// first returns the first elements of a list, at most limit, and reports on stderr that there are more.
func first[T any](c *call, limit int, list []T) []T {
	if len(list) > limit {
		fmt.Fprintf(c.Stderr, "there are more: these are the first %d\n", limit)
		list = list[:limit]
	}
	return list
}

// formatTime formats a time as the events do; the zero time is "-".
func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return events.Timestamp(t)
}

// counted returns a number of things, such as "1 event" or "2 events".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// oneLine returns the text as one line that a terminal does not obey, and that is one cell of a table.
func oneLine(text string) string {
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, line)
}

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

// writeFile writes a file that only its owner may read and write, or standard output.
func (c *call) writeFile(path string, data []byte) error {
	if path == standard {
		_, err := c.Stdout.Write(data)
		return err
	}
	return privatefile.Replace(path, data)
}
