package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
)

// table prints rows: in columns under a heading for people, or with --json as an object a line for programs.
type table struct {
	columns *tabwriter.Writer
	objects *json.Encoder
}

// table begins a table with a heading for people.
func (c *call) table(heading string) table {
	if c.json {
		return table{objects: jsonLines(c.Stdout)}
	}
	columns := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, heading)
	return table{columns: columns}
}

// row adds a row: its cells for people, or the object for programs.
func (t table) row(object any, cells ...string) error {
	if t.objects != nil {
		return t.objects.Encode(object)
	}
	_, err := fmt.Fprintln(t.columns, strings.Join(cells, "\t"))
	return err
}

// end prints the buffered rows.
func (t table) end() error {
	if t.objects != nil {
		return nil
	}
	return t.columns.Flush()
}

// jsonLines returns an encoder that writes objects as JSON, one a line.
func jsonLines(w io.Writer) *json.Encoder {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return lines
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
