// Package rows has what the SQL stores share: a struct for the rows of each table, with its conversion from a value of the domain
// and back. A field has the name of its column, or nearly, and its type is string, int64, bool or []byte.
//
// Fields returns pointers to the fields of a row in the order of its columns, which each type lists, to bind the row and to scan it.
// No column is NULL: a time is in milliseconds since 1970 UTC, and 0 for the zero time; a date is YYYY-MM-DD, and "" for the zero
// date; bytes are empty for nil; JSON is "" for a zero value and for an empty list. Agreements, options and prices have the names of
// their fields in their JSON.
package rows

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

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

func dateText(d money.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// hashBytes returns a hash as a column has it. The zero hash has no bytes.
func hashBytes(hash [32]byte) []byte {
	if hash == [32]byte{} {
		return []byte{}
	}
	return hash[:]
}

// jsonText returns a value as JSON. Values have texts, numbers and booleans, which always marshal.
func jsonText[T comparable](v T) string {
	if v == *new(T) {
		return ""
	}
	return marshal(v)
}

func listText[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	return marshal(list)
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// parser parses columns, and keeps the first error.
type parser struct{ err error }

func (p *parser) note(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) date(text string) money.Date {
	if text == "" {
		return money.Date{}
	}
	t, err := time.Parse(time.DateOnly, text)
	p.note(err)
	return money.DateOf(t)
}

func (p *parser) hash(b []byte) (hash [32]byte) {
	if len(b) != 0 && len(b) != len(hash) {
		p.note(fmt.Errorf("%x is not a SHA-256", b))
	}
	copy(hash[:], b)
	return hash
}

func (p *parser) json(text string, v any) {
	if text != "" {
		p.note(json.Unmarshal([]byte(text), v))
	}
}

// result wraps the error in words for the row.
func (p *parser) result(row string, key ...string) error {
	if p.err != nil {
		return fmt.Errorf("%s %s: %w", row, key, p.err)
	}
	return nil
}

// stored returns a time as it comes back.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// filled returns bytes that a column takes.
func filled(b []byte) []byte { return append([]byte{}, b...) }

// bare returns a copy of a list; nil for an empty list.
func bare[T any](list []T) []T { return append([]T(nil), list...) }
