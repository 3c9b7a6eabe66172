// Package rows has what the SQL stores share: for each table a row, which converts between a value of the domain and its columns.
//
// Fields returns a pointer for each column, in the order that it lists, to bind the row and to scan it: a *string, *int64, *int, *bool,
// or a [Column]. A column that cannot be parsed is an error of the method that returns the value.
//
// No column is NULL: a time is in milliseconds since 1970 UTC, and 0 for the zero time; a date is YYYY-MM-DD, and "" for the zero
// date; bytes are empty for nil; JSON is "" for a zero value and for an empty list. Agreements, options and prices have the names of
// their fields in their JSON.
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

// parsed is a column with a text that is parsed.
type parsed struct {
	p     *parser
	text  string
	parse func(text string) error
}

func (c parsed) Value() (driver.Value, error) { return c.text, nil }

func (c parsed) Scan(v any) error {
	text, ok := v.(string)
	if text != "" {
		c.p.note(c.parse(text))
	}
	return fits(v, ok)
}

// date returns the column of a date.
func (p *parser) date(d *money.Date) Column {
	return parsed{p, dateText(*d), func(text string) error {
		t, err := time.Parse(time.DateOnly, text)
		*d = money.DateOf(t)
		return err
	}}
}

func dateText(d money.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// jsonColumn returns the column of a value that is w in JSON.
func jsonColumn[W any](p *parser, w W, set func(W)) Column {
	text := ""
	if !reflect.ValueOf(&w).Elem().IsZero() {
		data, err := json.Marshal(w)
		if err != nil {
			panic(err) // it has texts, numbers and booleans, which always marshal
		}
		text = string(data)
	}
	return parsed{p, text, func(text string) error {
		var w W
		err := json.Unmarshal([]byte(text), &w)
		set(w)
		return err
	}}
}

// jsonList returns the column of a list.
func jsonList[T any](p *parser, list *[]T) Column {
	return jsonColumn(p, append([]T(nil), *list...), func(parsed []T) { *list = parsed })
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
