// Package strictjson reads JSON whose meaning must not be in doubt: valid UTF-8, no name
// twice in one object, nothing after the value, bounded depth. Numbers keep their text.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the type of a Value.
type Kind byte

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one JSON value.
type Value struct {
	Kind    Kind
	Text    string   // a string's value, a number's text, "true" or "false"
	Items   []Value  // of an Array
	Members []Member // of an Object, in the order in which they came
}

// Member is one name of an object with its value.
type Member struct {
	Name  string
	Value Value
}

// Member returns the value of a name of an object. The name must match to the letter; a
// value that is no object has no members.
func (v Value) Member(name string) (Value, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Parse parses data as one JSON value nested at most maxDepth deep: 0 allows no array and no
// object, 1 an array or object of plain values. Strings are returned unchanged, even with U+0000.
// The error is an *Error and names the first fault.
func Parse(data []byte, maxDepth int) (Value, error) {
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		return Value{}, &Error{Message: "must not begin with a byte order mark"}
	}
	p := parser{data: data, maxDepth: maxDepth, dec: jsontext.NewDecoder(bytes.NewBuffer(data))}
	v, fault := p.value(0)
	if fault != nil {
		return Value{}, fault
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return Value{}, &Error{Message: "must be one JSON value with nothing after it"}
	}
	return v, nil
}

type parser struct {
	data     []byte
	maxDepth int
	dec      *jsontext.Decoder // refuses duplicate names and invalid UTF-8 by default
}

// value reads the next value, which is inside depth arrays and objects.
func (p *parser) value(depth int) (Value, *Error) {
	token, err := p.dec.ReadToken()
	if err != nil {
		return Value{}, p.fault(err)
	}
	switch token.Kind() {
	case jsontext.KindNull:
		return Value{Kind: Null}, nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return Value{Kind: Bool, Text: token.String()}, nil
	case jsontext.KindNumber:
		return Value{Kind: Number, Text: token.String()}, nil
	case jsontext.KindString:
		return Value{Kind: String, Text: token.String()}, nil
	}
	if depth >= p.maxDepth { // an opening bracket: the decoder refuses a closing one where a value begins
		return Value{}, &Error{Message: fmt.Sprintf("must not be nested more than %d deep", p.maxDepth)}
	}
	v := Value{Kind: Array}
	if token.Kind() == jsontext.KindBeginObject {
		v.Kind = Object
	}
	for end := p.dec.PeekKind(); end != jsontext.KindEndArray && end != jsontext.KindEndObject; end = p.dec.PeekKind() {
		if v.Kind == Array {
			item, fault := p.value(depth + 1)
			if fault != nil {
				return Value{}, fault.under("[" + strconv.Itoa(len(v.Items)) + "]")
			}
			v.Items = append(v.Items, item)
			continue
		}
		if token, err = p.dec.ReadToken(); err != nil {
			return Value{}, p.fault(err)
		}
		m := Member{Name: token.String()}
		var fault *Error
		if m.Value, fault = p.value(depth + 1); fault != nil {
			return Value{}, fault.under(step(m.Name))
		}
		v.Members = append(v.Members, m)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Value{}, p.fault(err)
	}
	return v, nil
}

func (p *parser) fault(err error) *Error {
	syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Message: "is cut off: the JSON ends too early"}
	case errors.Is(err, io.EOF):
		return &Error{Message: "must be JSON, and is empty"}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Error{Path: step(syntax.JSONPointer.LastToken()), Message: "is given twice"}
	}
	at := min(max(syntax.ByteOffset, 0), int64(len(p.data)))
	before, reason := p.data[:at], syntax.Err.Error()
	if bytes.HasPrefix(p.data[at:], []byte(",")) { // at the start of a value: usually a trailing comma after the last value
		reason = "a comma too many"
	}
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &Error{Message: fmt.Sprintf("is not valid JSON at line %d, column %d: %s", line, column, reason)}
}

// Error describes a fault, and its place as far as it is known: "plan.instalment_amount",
// "providers[0]". Its size is bounded, whatever the JSON holds.
type Error struct {
	Path    string // "" is the whole document
	Message string // reads on from the path: "is given twice"
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "the document " + e.Message
	}
	return e.Path + " " + e.Message
}

// under returns e with one more step in front of the path.
func (e *Error) under(step string) *Error {
	e.Path = join(step, e.Path)
	return e
}

// Join returns the path of a name inside the object at path: "plan" and "instalment_amount" are
// "plan.instalment_amount". A name that is not a plain word is quoted and a long one
// is cut, so that a path cannot be mistaken for another, nor move a terminal's cursor.
func Join(path, name string) string { return join(path, step(name)) }

func join(path, rest string) string {
	if path == "" || rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}

const maxName = 64

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func step(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	if !plain.MatchString(name) {
		return "[" + strconv.QuoteToASCII(name) + "]"
	}
	return name
}
