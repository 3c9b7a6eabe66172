// Package rows has what the SQL stores share: for each table a row, which converts between a value of the domain and its columns.
//
// Fields returns a pointer for each column, in the order that it lists, to bind the row and to scan it: a *string, *int64, *int, *bool,
// or a [Column]. A column that cannot be parsed is an error of the method that returns the value.
//
// No column is NULL: a time is in milliseconds since 1970 UTC, and 0 for the zero time; a date is YYYY-MM-DD, and "" for the zero
// date; bytes are empty for nil; JSON is "" for a zero value and for an empty list, and has the names of the fields.
package rows

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// Column converts a field to the value of a column, and back.
type Column interface {
	driver.Valuer
	sql.Scanner
}

// Value returns a field of a row, or another argument of a statement, as a driver takes it.
func Value(arg any) any {
	switch v := arg.(type) {
	case *string:
		return *v
	case *int64:
		return *v
	case *int:
		return int64(*v)
	case *bool:
		return *v
	case int:
		return int64(v)
	case Column:
		value, _ := v.Value() // which does not fail: texts, numbers and times always marshal
		return value
	}
	return arg
}

// Values returns fields of a row as arguments.
func Values(fields []any) []any {
	args := make([]any, len(fields))
	for i, field := range fields {
		args[i] = Value(field)
	}
	return args
}

// Millis returns a time as a column has it.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Time returns the time that a column has.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// truncate makes times as they come back: in UTC to the millisecond.
func truncate(times ...*time.Time) {
	for _, t := range times {
		*t = t.UTC().Truncate(time.Millisecond)
	}
}

// millis is a column with a time.
type millis time.Time

func (m *millis) Value() (driver.Value, error) { return Millis(time.Time(*m)), nil }

func (m *millis) Scan(v any) error {
	ms, ok := v.(int64)
	*m = millis(Time(ms))
	return fits(v, ok)
}

// blob is a column with bytes.
type blob []byte

func (b *blob) Value() (driver.Value, error) { return append([]byte{}, *b...), nil }

func (b *blob) Scan(v any) error {
	data, ok := v.([]byte)
	*b = append(blob(nil), data...)
	return fits(v, ok || v == nil) // which a driver may have for empty bytes
}

func fits(v any, ok bool) error {
	if !ok {
		return fmt.Errorf("a column has a %T", v)
	}
	return nil
}

// derived is a column that is written to find the row by, and not read.
type derived struct{ v any }

func (d derived) Value() (driver.Value, error) { return d.v, nil }

func (derived) Scan(any) error { return nil }

// parser parses columns, and keeps the first error.
type parser struct{ err error }

func (p *parser) note(err error) {
	if p.err == nil {
		p.err = err
	}
}

// result wraps the error in words for the row.
func (p *parser) result(row string, key ...string) error {
	if p.err != nil {
		return fmt.Errorf("%s %s: %w", row, key, p.err)
	}
	return nil
}

// date is a column with a date.
type date struct {
	p *parser
	d *money.Date
}

func (c date) Value() (driver.Value, error) {
	if c.d.IsZero() {
		return "", nil
	}
	return c.d.String(), nil
}

func (c date) Scan(v any) error {
	text, ok := v.(string)
	if text != "" {
		t, err := time.Parse(time.DateOnly, text)
		*c.d = money.DateOf(t)
		c.p.note(err)
	}
	return fits(v, ok)
}

// inJSON is a column with a value in JSON.
type inJSON[T any] struct {
	p *parser
	v *T
}

func jsonColumn[T any](p *parser, v *T) Column { return inJSON[T]{p, v} }

func (c inJSON[T]) Value() (driver.Value, error) {
	if v := reflect.ValueOf(c.v).Elem(); v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return "", nil
	}
	text, err := json.Marshal(c.v)
	return string(text), err
}

func (c inJSON[T]) Scan(v any) error {
	text, ok := v.(string)
	if text != "" {
		c.p.note(json.Unmarshal([]byte(text), c.v))
	}
	return fits(v, ok)
}

// hash is a column with a SHA-256. The zero hash has no bytes.
type hash struct {
	p    *parser
	hash *[32]byte
}

func (h hash) Value() (driver.Value, error) {
	if *h.hash == [32]byte{} {
		return []byte{}, nil
	}
	return h.hash[:], nil
}

func (h hash) Scan(v any) error {
	data, ok := v.([]byte)
	if len(data) != 0 && len(data) != len(h.hash) {
		h.p.note(fmt.Errorf("%x is not a SHA-256", data))
	}
	copy(h.hash[:], data)
	return fits(v, ok || v == nil)
}
