package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/money"
)

// array reads the values of a row that SQLite wrote as one JSON array, in their order. The first
// failure stays, and is what end returns.
type array struct {
	decoder *jsontext.Decoder
	err     error
}

func newArray(text []byte) *array {
	a := &array{decoder: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))}
	a.expect('[')
	return a
}

// end returns the failure there was, or that there is more to read.
func (a *array) end() error {
	a.expect(']')
	if a.err != nil {
		return fmt.Errorf("read a row: %w", a.err)
	}
	return nil
}

func (a *array) expect(kind jsontext.Kind) {
	if t := a.next(); a.err == nil && t.Kind() != kind {
		a.err = fmt.Errorf("%v where %v should be", t.Kind(), kind)
	}
}

// next returns the next token, which holds until the one after it.
func (a *array) next() (t jsontext.Token) {
	if a.err == nil {
		t, a.err = a.decoder.ReadToken()
	}
	return t
}

func (a *array) text() (s string) {
	t := a.next()
	switch {
	case a.err != nil:
	case t.Kind() == '"':
		s = t.String()
	default:
		a.err = fmt.Errorf("%v where a text should be", t.Kind())
	}
	return s
}

// number returns the next number, and whether it is one: it may be NULL.
func (a *array) number() (n int64, ok bool) {
	t := a.next()
	switch {
	case a.err != nil || t.Kind() == 'n':
		return 0, false
	case t.Kind() != '0':
		a.err = fmt.Errorf("%v where a number should be", t.Kind())
		return 0, false
	}
	n, a.err = strconv.ParseInt(t.String(), 10, 64)
	return n, a.err == nil
}

func (a *array) texts(into ...*string) {
	for _, s := range into {
		*s = a.text()
	}
}

func (a *array) numbers(into ...*int64) {
	for _, n := range into {
		v, ok := a.number()
		if !ok && a.err == nil {
			a.err = errors.New("NULL where a number should be")
		}
		*n = v
	}
}

func (a *array) int(into *int) {
	var n int64
	a.numbers(&n)
	*into = int(n)
}

// time reads milliseconds, or NULL for no time.
func (a *array) time(into *time.Time) {
	if ms, ok := a.number(); ok {
		*into = time.UnixMilli(ms).UTC()
	}
}

func (a *array) date(into *money.Date) { a.scan(column.Date(into)) }

// scan reads a text as its column would be read.
func (a *array) scan(into sql.Scanner) {
	if s := a.text(); a.err == nil {
		a.err = into.Scan(s)
	}
}
