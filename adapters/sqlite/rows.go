package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// source is where rows are read: the pool of readers, or a transaction.
type source interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// row is a row that is read.
type row interface{ Scan(into ...any) error }

// each passes what scan makes of each row to visit.
func each[T any](ctx context.Context, src source, scan func(row) (T, error), visit func(T) error,
	query string, args ...any) error {
	rows, err := src.query(ctx, query, args...)
	if err != nil {
		return meaning(err)
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return err
		}
		if err := visit(v); err != nil {
			return err
		}
	}
	return meaning(rows.Err())
}

// all returns what scan makes of the rows.
func all[T any](ctx context.Context, src source, scan func(row) (T, error), query string, args ...any) (list []T, err error) {
	err = each(ctx, src, scan, func(v T) error { list = append(list, v); return nil }, query, args...)
	return list, err
}

// one returns what scan makes of the only row, or ErrNotFound.
func one[T any](ctx context.Context, src source, scan func(row) (T, error), query string, args ...any) (v T, err error) {
	list, err := all(ctx, src, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return v, err
	}
	return list[0], nil
}

// scanValue scans a row of one column.
func scanValue[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// millis writes a time; no time is NULL.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// readTime reads what millis wrote.
type readTime struct{ into *time.Time }

func (r readTime) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*r.into = time.Time{}
	case int64:
		*r.into = time.UnixMilli(v).UTC()
	default:
		return fmt.Errorf("%T is not a time", v)
	}
	return nil
}

// day writes a date; no date is empty.
func day(d money.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// readDay reads what day wrote.
type readDay struct{ into *money.Date }

func (r readDay) Scan(v any) error {
	text, ok := v.(string)
	if text == "" && ok {
		*r.into = money.Date{}
		return nil
	}
	t, err := time.Parse(time.DateOnly, text) // due dates lie beyond the dates that a request may name
	if err != nil {
		return fmt.Errorf("%v is not a date: %w", v, err)
	}
	*r.into = money.DateOf(t)
	return nil
}

// readHash reads a SHA-256.
type readHash struct{ into *[32]byte }

func (r readHash) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok || len(b) != len(r.into) {
		return fmt.Errorf("%v is not a SHA-256", v)
	}
	*r.into = [32]byte(b)
	return nil
}

// tokensText writes setup tokens as epoch:expires_ms:key_id, separated by spaces.
func tokensText(tokens []checkout.Token) string {
	texts := make([]string, len(tokens))
	for i, t := range tokens {
		texts[i] = fmt.Sprintf("%d:%d:%s", t.Epoch, t.Expires.UnixMilli(), url.PathEscape(t.KID))
	}
	return strings.Join(texts, " ")
}

// readTokens reads what tokensText wrote.
type readTokens struct{ into *[]checkout.Token }

func (r readTokens) Scan(v any) error {
	text, _ := v.(string)
	*r.into = nil
	for one := range strings.FieldsSeq(text) {
		epoch, rest, _ := strings.Cut(one, ":")
		expires, kid, _ := strings.Cut(rest, ":")
		var t checkout.Token
		var ms int64
		var err error
		if t.Epoch, err = strconv.Atoi(epoch); err != nil {
			return fmt.Errorf("epoch of setup token %q: %w", one, err)
		}
		if ms, err = strconv.ParseInt(expires, 10, 64); err != nil {
			return fmt.Errorf("expiry of setup token %q: %w", one, err)
		}
		if t.KID, err = url.PathUnescape(kid); err != nil {
			return fmt.Errorf("key of setup token %q: %w", one, err)
		}
		t.Expires = time.UnixMilli(ms).UTC()
		*r.into = append(*r.into, t)
	}
	return nil
}
