// Package column writes values of the domain into the columns of a table and reads them back, alike in
// every SQL store. What it returns to be read into is a [sql.Scanner].
package column

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// scanner is a [sql.Scanner].
type scanner func(v any) error

func (s scanner) Scan(v any) error { return s(v) }

// Millis writes a time as milliseconds since 1970-01-01 UTC; no time is NULL.
func Millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// Time reads what Millis wrote, in UTC.
func Time(into *time.Time) sql.Scanner {
	return scanner(func(v any) error {
		switch v := v.(type) {
		case nil:
			*into = time.Time{}
		case int64:
			*into = time.UnixMilli(v).UTC()
		default:
			return fmt.Errorf("%T is not a time", v)
		}
		return nil
	})
}

// Day writes a date as YYYY-MM-DD; no date is empty.
func Day(d money.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// Date reads what Day wrote.
func Date(into *money.Date) sql.Scanner {
	return scanner(func(v any) (err error) {
		*into, err = date(v)
		return err
	})
}

func date(v any) (money.Date, error) {
	text, ok := v.(string)
	if text == "" && ok {
		return money.Date{}, nil
	}
	t, err := time.Parse(time.DateOnly, text) // due dates lie beyond the dates that a request may name
	if err != nil {
		return money.Date{}, fmt.Errorf("%v is not a date: %w", v, err)
	}
	return money.DateOf(t), nil
}

// SHA256 reads the bytes of a SHA-256.
func SHA256(into *[32]byte) sql.Scanner {
	return scanner(func(v any) error {
		b, ok := v.([]byte)
		if !ok || len(b) != len(into) {
			return fmt.Errorf("%v is not a SHA-256", v)
		}
		*into = [32]byte(b)
		return nil
	})
}

// TokensText writes setup tokens as epoch:expires_ms:key_id, separated by spaces.
func TokensText(tokens []checkout.Token) string {
	texts := make([]string, len(tokens))
	for i, t := range tokens {
		texts[i] = fmt.Sprintf("%d:%d:%s", t.Epoch, t.Expires.UnixMilli(), url.PathEscape(t.KID))
	}
	return strings.Join(texts, " ")
}

// Tokens reads what TokensText wrote.
func Tokens(into *[]checkout.Token) sql.Scanner {
	return scanner(func(v any) error {
		text, _ := v.(string)
		*into = nil
		for one := range strings.FieldsSeq(text) {
			t, err := token(one)
			if err != nil {
				return fmt.Errorf("setup token %q: %w", one, err)
			}
			*into = append(*into, t)
		}
		return nil
	})
}

func token(text string) (t checkout.Token, err error) {
	epoch, rest, _ := strings.Cut(text, ":")
	expires, kid, _ := strings.Cut(rest, ":")
	if t.Epoch, err = strconv.Atoi(epoch); err != nil {
		return t, fmt.Errorf("epoch: %w", err)
	}
	ms, err := strconv.ParseInt(expires, 10, 64)
	if err != nil {
		return t, fmt.Errorf("expiry: %w", err)
	}
	t.Expires = time.UnixMilli(ms).UTC()
	if t.KID, err = url.PathUnescape(kid); err != nil {
		return t, fmt.Errorf("key: %w", err)
	}
	return t, nil
}

// ScheduleText writes a schedule as a JSON array with an array of four for each charge: its
// sequence, type, due date and cents.
func ScheduleText(charges []money.Charge) (string, error) {
	rows := make([][4]any, len(charges))
	for i, c := range charges {
		rows[i] = [4]any{c.Sequence, c.Type, Day(c.Due), c.Amount}
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// Schedule reads what ScheduleText wrote.
func Schedule(into *[]money.Charge) sql.Scanner {
	return scanner(func(v any) error {
		text, _ := v.(string)
		var rows [][4]json.RawMessage
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			return fmt.Errorf("schedule: %w", err)
		}
		*into = nil
		for _, row := range rows {
			c, err := charge(row)
			if err != nil {
				return fmt.Errorf("charge %s: %w", row, err)
			}
			*into = append(*into, c)
		}
		return nil
	})
}

func charge(row [4]json.RawMessage) (c money.Charge, err error) {
	var due string
	for i, into := range []any{&c.Sequence, &c.Type, &due, &c.Amount} {
		if err := json.Unmarshal(row[i], into); err != nil {
			return c, err
		}
	}
	c.Due, err = date(due)
	return c, err
}
