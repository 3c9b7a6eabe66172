package sqlstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// scanned converts a value of the driver's type C, which a column holds, into a value of the domain.
func scanned[C, V any](v any, name string, into *V, convert func(C) (V, error)) error {
	c, ok := v.(C)
	if !ok {
		return fmt.Errorf("%T is not %s", v, name)
	}
	value, err := convert(c)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*into = value
	return nil
}

// Time is a time in a column of milliseconds since 1970-01-01 UTC. The zero time is NULL.
type Time time.Time

func (t *Time) value() any {
	if (*time.Time)(t).IsZero() {
		return nil
	}
	return (*time.Time)(t).UnixMilli()
}

// Millis returns t as a column of type [Time] holds it.
func Millis(t time.Time) any { return (*Time)(&t).value() }

// Stored returns t as it comes back from a column of type [Time].
func Stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Scan implements [database/sql.Scanner]. The time is in UTC.
func (t *Time) Scan(v any) error {
	if v == nil {
		*t = Time{}
		return nil
	}
	return (*Instant)(t).Scan(v)
}

// Instant is a time in a column of milliseconds since 1970-01-01 UTC that is never NULL, because rows are ordered by it. The
// zero time is the number of its milliseconds.
type Instant time.Time

func (t *Instant) value() any { return (*time.Time)(t).UnixMilli() }

// Scan implements [database/sql.Scanner]. The time is in UTC.
func (t *Instant) Scan(v any) error {
	return scanned(v, "a time", t, func(ms int64) (Instant, error) { return Instant(time.UnixMilli(ms).UTC()), nil })
}

// Date is a date in a column of text, as YYYY-MM-DD. The zero date is "".
type Date money.Date

func (d *Date) value() any { return dateText(money.Date(*d)) }

// Scan implements [database/sql.Scanner].
func (d *Date) Scan(v any) error { return scanned(v, "a date", (*money.Date)(d), parseDate) }

func dateText(d money.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// parseDate parses the output of dateText. A due date may be later than any date that a request may contain.
func parseDate(text string) (money.Date, error) {
	if text == "" {
		return money.Date{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return money.Date{}, fmt.Errorf("%q is not a date: %w", text, err)
	}
	return money.DateOf(t), nil
}

// SHA256 is a hash in a column of bytes.
type SHA256 [32]byte

func (h *SHA256) value() any { return h[:] }

// Scan implements [database/sql.Scanner].
func (h *SHA256) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok || len(b) != len(h) {
		return fmt.Errorf("%v is not a SHA-256", v)
	}
	*h = SHA256(b)
	return nil
}

// Bytes is bytes in a column of bytes. No bytes are NULL, and nil.
type Bytes []byte

func (b *Bytes) value() any {
	if len(*b) == 0 {
		return nil
	}
	return []byte(*b)
}

// Scan implements [database/sql.Scanner].
func (b *Bytes) Scan(v any) error {
	if v == nil {
		*b = nil
		return nil
	}
	return scanned(v, "bytes", b, func(bytes []byte) (Bytes, error) { return append(Bytes(nil), bytes...), nil })
}

// Tokens is setup tokens in a column of text: epoch:expires_ms:key_id, separated by spaces. A token with which a create renewed the link
// ends in the milliseconds of that time, and a token that was sent by e-mail in mailed, after a sign that no key id has.
type Tokens []checkout.Token

func (t *Tokens) value() any {
	var text []byte
	for i, token := range *t {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, int64(token.Epoch), 10)
		text = strconv.AppendInt(append(text, ':'), token.Expires.UnixMilli(), 10)
		text = append(append(text, ':'), url.PathEscape(token.KID)...)
		if !token.Renewed.IsZero() {
			text = strconv.AppendInt(append(text, ';'), token.Renewed.UnixMilli(), 10)
		}
		if token.Mailed {
			text = append(text, mailed...)
		}
	}
	return string(text)
}

const mailed = ";mailed"

// Scan implements [database/sql.Scanner].
func (t *Tokens) Scan(v any) error { return scanned(v, "setup tokens", t, parseTokens) }

func parseTokens(text string) (list Tokens, err error) {
	for word := range strings.FieldsSeq(text) {
		epoch, rest, _ := strings.Cut(word, ":")
		expires, kid, _ := strings.Cut(rest, ":")
		var t checkout.Token
		kid, t.Mailed = strings.CutSuffix(kid, mailed)
		kid, renewed, again := strings.Cut(kid, ";")
		if t.Epoch, err = strconv.Atoi(epoch); err != nil {
			return nil, fmt.Errorf("epoch of %q: %w", word, err)
		}
		if t.Expires, err = parseMillis(expires); err != nil {
			return nil, fmt.Errorf("expiry of %q: %w", word, err)
		}
		if again {
			if t.Renewed, err = parseMillis(renewed); err != nil {
				return nil, fmt.Errorf("renewal of %q: %w", word, err)
			}
		}
		if t.KID, err = url.PathUnescape(kid); err != nil {
			return nil, fmt.Errorf("key of %q: %w", word, err)
		}
		list = append(list, t)
	}
	return list, nil
}

func parseMillis(text string) (time.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms).UTC(), err
}

// Schedule is a charge schedule in a column of text: a JSON array with, for each charge, an array of its sequence,
// type, due date and cents.
type Schedule []money.Charge

func (s *Schedule) value() any {
	rows := make([][4]any, len(*s))
	for i, c := range *s {
		rows[i] = [4]any{c.Sequence, c.Type, dateText(c.Due), c.Amount}
	}
	return jsonText(rows)
}

// Scan implements [database/sql.Scanner].
func (s *Schedule) Scan(v any) error { return scanned(v, "a schedule", s, parseSchedule) }

func parseSchedule(text string) (Schedule, error) {
	var wires []chargeWire
	err := json.Unmarshal([]byte(text), &wires)
	return mapped(wires, func(w chargeWire) money.Charge { return money.Charge(w) }), err
}

// chargeWire is a charge in its array.
type chargeWire money.Charge

func (w *chargeWire) UnmarshalJSON(text []byte) (err error) {
	var due string
	fields := []any{&w.Sequence, &w.Type, &due, &w.Amount}
	if err = json.Unmarshal(text, &fields); err == nil && len(fields) != 4 {
		err = errors.New("it has not four values")
	}
	if err == nil {
		w.Due, err = parseDate(due)
	}
	return wrap(err, "charge %s", text)
}
