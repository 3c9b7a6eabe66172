package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
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
		_, isBool := f.value.(bool)
		o = append(o, jsonlines.Field{Name: f.name, Value: f.value, Optional: !isNumber && !isBool})
	}
	return o
}

// text returns the value for people.
func (f field) text() string {
	if at, isTime := f.value.(time.Time); isTime {
		return formatTime(at)
	}
	return orDash(oneLine(fmt.Sprint(f.value)))
}

// table prints records: in columns for people, or with --json as an object a line for programs.
type table struct {
	to      io.Writer         // for programs
	columns *tabwriter.Writer // for people; nil for programs
	labels  []string          // of the columns
}

// table begins a table of these columns, under a heading.
func (c *call) table(labels ...string) table {
	t := c.columns(labels...)
	if t.columns != nil {
		fmt.Fprintln(t.columns, strings.ToUpper(strings.Join(labels, "\t")))
	}
	return t
}

// columns begins a table without a heading.
func (c *call) columns(labels ...string) table {
	if c.json {
		return table{to: c.Stdout}
	}
	return table{columns: tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0), labels: labels}
}

// row adds a record.
func (t table) row(r record) error {
	if t.columns == nil {
		return jsonlines.Write(t.to, r.object())
	}
	var cells []string
	for _, label := range t.labels {
		cells = append(cells, r[slices.IndexFunc(r, func(f field) bool { return f.label == label })].text())
	}
	_, err := fmt.Fprintln(t.columns, strings.Join(cells, "\t"))
	return err
}

// end prints the buffered rows.
func (t table) end() error {
	if t.columns == nil {
		return nil
	}
	return t.columns.Flush()
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

// formatTime formats a time as the events do; the zero time is "-".
func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return events.Timestamp(t)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// counted returns a number of things, such as "1 event" or "2 events".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// oneLine makes a text safe to print: whoever can write to the store could have put control characters into it.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, cli.OneLine(text))
}
