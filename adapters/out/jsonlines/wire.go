package jsonlines

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-checkout/provider-checkout/money"
)

// object is a JSON object, which is written with its fields in their order. No secret, token or key is in any object.
type object []field

type field struct {
	name     string
	value    any  // string, int, bool, money.Cents, an object, or a list of objects or of strings
	optional bool // it is left out without a value
}

func put(name string, value any) field { return field{name, value, false} }

func opt(name string, value any) field { return field{name, value, true} }

// isEmpty reports whether a field has no value. A list of objects that is not nil is a value.
func (f field) isEmpty() bool {
	switch v := f.value.(type) {
	case object:
		return !slices.ContainsFunc(v, func(f field) bool { return !f.isEmpty() })
	case []object:
		return v == nil
	case []string:
		return len(v) == 0
	}
	return f.value == "" || f.value == 0 || f.value == false || f.value == money.Cents(0)
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) { return o.append(make([]byte, 0, 1024)), nil }

func (o object) append(b []byte) []byte {
	start := len(b)
	b = append(b, '{')
	for _, f := range o {
		if f.optional && f.isEmpty() {
			continue
		}
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = appendValue(append(append(append(b, '"'), f.name...), `":`...), f.value)
	}
	return append(b, '}')
}

// appendValue appends the value of a field. An amount is a number of dollars with two decimals.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendText(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case bool:
		return strconv.AppendBool(b, v)
	case money.Cents:
		return append(b, v.String()...)
	case object:
		return v.append(b)
	case []object:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	}
	panic(fmt.Sprintf("jsonlines: a field is a %T", value))
}

func appendList[T any](b []byte, list []T) []byte {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, item)
	}
	return append(b, ']')
}

// appendText escapes also the separators that some readers of lines take for the end of a line.
func appendText(b []byte, text string) []byte {
	start := len(b)
	b, _ = jsontext.AppendQuote(b, text) // its error is of invalid UTF-8, in whose place U+FFFD stands
	if strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029") {
		escaped := strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(b[start:]))
		b = append(b[:start], escaped...)
	}
	return b
}

type eventWire struct {
	Kind         string `json:"kind"`
	EventID      string `json:"event_id"`
	Event        string `json:"event"`
	CheckoutID   string `json:"checkout_id"`
	ProviderCode string `json:"provider_code"`
	OrderID      string `json:"provider_order_id"`
	RequestID    string `json:"request_id"`
	CreatedAt    string `json:"created_at"`
	Status       string `json:"status"`
	Attempts     int    `json:"attempts"`
	Body         string `json:"body"` // the exact bytes that are signed and sent
}

type noticeWire struct {
	Kind       string `json:"kind"`
	NoticeID   string `json:"notice_id"`
	CheckoutID string `json:"checkout_id"`
	Notice     string `json:"notice"` // setup or agreement
	CreatedAt  string `json:"created_at"`
	Status     string `json:"status"` // pending, sent, failed or dropped
	Attempts   int    `json:"attempts"`
	SentAt     string `json:"sent_at,omitempty"`    // when another system took it over
	MessageID  string `json:"message_id,omitempty"` // under which that knows it
	Answer     string `json:"answer,omitempty"`     // what it said
	FailedAt   string `json:"failed_at,omitempty"`  // of the latest attempt that failed, like the failure
	Failure    string `json:"failure,omitempty"`
}

type wireCheckpoint struct {
	Kind       string `json:"kind"`
	Key        string `json:"evidence_key"`
	Checkpoint string `json:"checkpoint"` // a signed note
}
