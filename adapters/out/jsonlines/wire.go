package jsonlines

import (
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// Object is a JSON object, which is written with its fields in their order.
type Object []Field

// Field is a field of an object.
type Field struct {
	Name     string
	Value    any  // string, int, bool, time.Time, money.Cents, money.Date, JSON, an object, or a list of objects or of strings
	Optional bool // it is left out without a value
}

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

// Write writes the objects, a line each. An amount is a number of dollars with two decimals, and a time that is not set is "". The
// separators that some readers of lines take for the end of a line are escaped.
func Write(w io.Writer, objects ...Object) error {
	for _, o := range objects {
		line, err := json.Marshal(o, jsontext.EscapeForJS(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true),
			json.WithMarshalers(json.JoinMarshalers(
				json.MarshalFunc(func(c money.Cents) ([]byte, error) { return []byte(c.String()), nil }),
				json.MarshalToFunc(func(e *jsontext.Encoder, d money.Date) error { return e.WriteToken(jsontext.String(d.String())) }),
				json.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error {
					if t.IsZero() {
						return e.WriteToken(jsontext.String(""))
					}
					return e.WriteToken(jsontext.String(events.Timestamp(t)))
				}),
			)))
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// MarshalJSONTo implements [json.MarshalerTo].
func (o Object) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for _, f := range o {
		if err == nil && !(f.Optional && f.isEmpty()) {
			if err = e.WriteToken(jsontext.String(f.Name)); err == nil {
				err = json.MarshalEncode(e, f.Value)
			}
		}
	}
	if err == nil {
		err = e.WriteToken(jsontext.EndObject)
	}
	return err
}
