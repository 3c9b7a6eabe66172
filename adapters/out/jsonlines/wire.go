package jsonlines

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// Object is a JSON object, which is written with its fields in their order.
type Object []Field

// Field is a field of an object.
type Field struct {
	Name     string
	Value    any  // string, int, bool, time.Time, money.Cents, money.Date, an object, or a list of objects or of strings
	Optional bool // it is left out without a value
}

// raw is a value that is JSON already.
type raw struct{ value jsontext.Value }

// Put returns a field that is always written.
func Put(name string, value any) Field { return Field{name, value, false} }

// Opt returns a field that is left out without a value.
func Opt(name string, value any) Field { return Field{name, value, true} }

// isEmpty reports whether a field has no value. A list of objects that is not nil is a value.
func (f Field) isEmpty() bool {
	switch v := f.Value.(type) {
	case Object:
		return !slices.ContainsFunc(v, func(f Field) bool { return !f.isEmpty() })
	case []Object:
		return v == nil
	case []string:
		return len(v) == 0
	case time.Time:
		return v.IsZero()
	}
	return f.Value == "" || f.Value == 0 || f.Value == false || f.Value == money.Cents(0) || f.Value == money.Date{}
}

// Write writes the objects, a line each.
func Write(w io.Writer, objects ...Object) error {
	for _, o := range objects {
		if _, err := w.Write(append(o.append(make([]byte, 0, 1024)), '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (o Object) append(b []byte) []byte {
	start := len(b)
	b = append(b, '{')
	for _, f := range o {
		if f.Optional && f.isEmpty() {
			continue
		}
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = appendValue(append(append(append(b, '"'), f.Name...), `":`...), f.Value)
	}
	return append(b, '}')
}

// appendValue appends the value of a field. An amount is a number of dollars with two decimals, and a time that is not set is "".
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendText(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case bool:
		return strconv.AppendBool(b, v)
	case time.Time:
		if v.IsZero() {
			return append(b, `""`...)
		}
		return appendText(b, events.Timestamp(v))
	case money.Date:
		return appendText(b, v.String())
	case money.Cents:
		return append(b, v.String()...)
	case raw:
		_ = v.value.Compact() // it is JSON
		return append(b, v.value...)
	case Object:
		return v.append(b)
	case []Object:
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
