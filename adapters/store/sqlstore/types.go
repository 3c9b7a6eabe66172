package sqlstore

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

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
	switch v := v.(type) {
	case nil:
		*t = Time{}
	case int64:
		*t = Time(time.UnixMilli(v).UTC())
	default:
		return fmt.Errorf("%T is not a time", v)
	}
	return nil
}

// Instant is a time in a column of milliseconds since 1970-01-01 UTC that is never NULL, because rows are ordered by it. The
// zero time is the number of its milliseconds.
type Instant time.Time

func (t *Instant) value() any { return (*time.Time)(t).UnixMilli() }

// Scan implements [database/sql.Scanner]. The time is in UTC.
func (t *Instant) Scan(v any) error {
	ms, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%T is not a time", v)
	}
	*t = Instant(time.UnixMilli(ms).UTC())
	return nil
}

// Date is a date in a column of text, as YYYY-MM-DD. The zero date is "".
type Date money.Date

func (d *Date) value() any { return dateText(money.Date(*d)) }

// Scan implements [database/sql.Scanner].
func (d *Date) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%v is not a date", v)
	}
	parsed, err := parseDate(text)
	*d = Date(parsed)
	return err
}

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

// Hashes is SHA-256 hashes in a column of bytes, one after the other. An empty list is NULL.
type Hashes []evidence.Hash

func (h *Hashes) value() any {
	if len(*h) == 0 {
		return nil
	}
	b := make([]byte, 0, len(*h)*sha256.Size)
	for _, hash := range *h {
		b = append(b, hash[:]...)
	}
	return b
}

// Scan implements [database/sql.Scanner].
func (h *Hashes) Scan(v any) error {
	b, ok := v.([]byte)
	if v != nil && !ok || len(b)%sha256.Size != 0 {
		return fmt.Errorf("%T is not hashes", v)
	}
	*h = nil
	for hash := range slices.Chunk(b, sha256.Size) {
		*h = append(*h, evidence.Hash(hash))
	}
	return nil
}

// PlaceValues returns the values of the columns position and nodes of an entry of the evidence log, and its id.
func PlaceValues(p evidence.Place) []any {
	return []any{p.Position, (*Hashes)(&p.Nodes).value(), p.ID}
}

// Text is bytes in a column of text.
type Text []byte

func (b *Text) value() any { return string(*b) }

// Scan implements [database/sql.Scanner].
func (b *Text) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%T is not text", v)
	}
	*b = append(Text(nil), text...)
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
	bytes, ok := v.([]byte)
	if v != nil && !ok {
		return fmt.Errorf("%T is not bytes", v)
	}
	*b = append(Bytes(nil), bytes...)
	return nil
}

// Tokens is setup tokens in a column of text: epoch:expires_ms:key_id, separated by spaces.
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
	}
	return string(text)
}

// Scan implements [database/sql.Scanner].
func (t *Tokens) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%T is not setup tokens", v)
	}
	*t = nil
	for word := range strings.FieldsSeq(text) {
		token, err := parseToken(word)
		if err != nil {
			return fmt.Errorf("setup token %q: %w", word, err)
		}
		*t = append(*t, token)
	}
	return nil
}

func parseToken(text string) (t checkout.Token, err error) {
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
func (s *Schedule) Scan(v any) error {
	text, _ := v.(string)
	var rows [][4]json.RawMessage
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	*s = nil
	for _, row := range rows {
		c, err := parseCharge(row)
		if err != nil {
			return fmt.Errorf("charge %s: %w", row, err)
		}
		*s = append(*s, c)
	}
	return nil
}

func parseCharge(row [4]json.RawMessage) (c money.Charge, err error) {
	var due string
	for i, into := range []any{&c.Sequence, &c.Type, &due, &c.Amount} {
		if err := json.Unmarshal(row[i], into); err != nil {
			return c, err
		}
	}
	c.Due, err = parseDate(due)
	return c, err
}
