package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

const (
	maxBody  = 64 << 10 // bytes
	maxDepth = 32
)

// readBody returns the JSON object that a request carries. Its type and size are checked
// before any of it is read.
func readBody(r *http.Request) (strictjson.Value, error) {
	if err := checkType(r.Header); err != nil {
		return strictjson.Value{}, err
	}
	if r.ContentLength > maxBody {
		return strictjson.Value{}, tooLarge()
	}
	data, err := io.ReadAll(r.Body)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return strictjson.Value{}, tooLarge()
	case err != nil: // a body that is cut off, or badly chunked
		return strictjson.Value{}, malformed("the request body did not arrive whole; send it again")
	}
	return parseBody(data)
}

// checkType refuses what is not declared as plain JSON in UTF-8.
func checkType(h http.Header) error {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return unsupported("there must be one Content-Type header: application/json")
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return unsupported("the Content-Type must be application/json")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return unsupported("the charset must be utf-8")
	}
	for _, coding := range h.Values("Content-Encoding") {
		if !strings.EqualFold(coding, "identity") {
			return unsupported("the body must not have a Content-Encoding")
		}
	}
	return nil
}

// parseBody returns the JSON object that data is.
func parseBody(data []byte) (strictjson.Value, error) {
	body, err := strictjson.Parse(data, maxDepth)
	var fault *strictjson.Error
	switch {
	case errors.As(err, &fault) && fault.Path != "":
		return strictjson.Value{}, malformed("the request body is not well-formed; details says where",
			checkout.Fault{Field: fault.Path, Message: fault.Message})
	case errors.As(err, &fault):
		return strictjson.Value{}, malformed("the request body " + fault.Message)
	case err != nil:
		return strictjson.Value{}, fmt.Errorf("parse request body: %w", err)
	case body.Kind != strictjson.Object:
		return strictjson.Value{}, malformed("the request body must be a JSON object")
	}
	return body, nil
}

func malformed(message string, faults ...checkout.Fault) error {
	return checkout.Refuse(checkout.CodeInvalid, message, faults...)
}

// form reads the sections and fields of a body by name.
type form struct {
	section  // the body itself; its fields are the sections
	sections []*section
	unread   []checkout.Fault // what is there but cannot be read
}

// section is an object of fields. Those that it was asked for are the ones that it knows.
type section struct {
	path  string // "plan."; "" for the body
	value strictjson.Value
	known []string
}

func newForm(body strictjson.Value) *form { return &form{section: section{value: body}} }

// open returns a section of the body, which is empty if it is absent, null or no object.
func (f *form) open(name string) *section {
	s := &section{path: name + ".", value: f.member(name)}
	if s.value.Kind != strictjson.Object && s.value.Kind != strictjson.Null {
		f.unread = append(f.unread, checkout.Fault{Field: name, Message: "must be an object"})
	}
	f.sections = append(f.sections, s)
	return s
}

// member returns the value under a name; null where there is none.
func (s *section) member(name string) strictjson.Value {
	s.known = append(s.known, name)
	v, _ := s.value.Member(name)
	return v
}

// misspelt returns a refusal if a known name stands in the body in another letter case:
// whoever reads it next might take one for the other.
func (f *form) misspelt() error {
	faults := f.section.misspelt()
	for _, s := range f.sections {
		faults = append(faults, s.misspelt()...)
	}
	if len(faults) == 0 {
		return nil
	}
	return malformed("the request body is not well-formed; details says where", faults...)
}

func (s *section) misspelt() (faults []checkout.Fault) {
	for _, name := range s.known {
		if slices.ContainsFunc(s.value.Members, func(m strictjson.Member) bool {
			return m.Name != name && strings.EqualFold(m.Name, name)
		}) {
			faults = append(faults, checkout.Fault{Field: s.path + name, Message: "must be spelt exactly so"})
		}
	}
	return faults
}

// read returns the field of a section that convert makes of its value. A field that is null
// is absent; one that cannot be converted is absent too, and told of in f.unread.
func read[T any](f *form, s *section, name string, convert func(strictjson.Value) (T, error)) checkout.Given[T] {
	v := s.member(name)
	if v.Kind == strictjson.Null {
		return checkout.Given[T]{}
	}
	got, err := convert(v)
	if err != nil {
		f.unread = append(f.unread, checkout.Fault{Field: s.path + name, Message: err.Error()})
		return checkout.Given[T]{}
	}
	return checkout.Give(got)
}

var (
	errNotString = errors.New("must be a string")
	errNotWhole  = fmt.Errorf("must be a whole number from 1 to %d", money.MaxInstalments)
)

// text reads a string as it came.
func text(v strictjson.Value) (string, error) {
	if v.Kind != strictjson.String {
		return "", errNotString
	}
	return v.Text, nil
}

// name reads a string that people read: two spellings of it that look the same are the
// same. Control characters stay, for the core to refuse.
func name(v strictjson.Value) (string, error) {
	s, err := text(v)
	if err != nil {
		return "", err
	}
	return strings.TrimFunc(norm.NFC.String(s), func(r rune) bool {
		return unicode.IsSpace(r) && !unicode.IsControl(r)
	}), nil
}

// amount reads a number of dollars.
func amount(v strictjson.Value) (money.Cents, error) {
	if v.Kind != strictjson.Number {
		return 0, money.ErrNotNumber
	}
	return money.Parse(v.Text)
}

// whole reads a whole number, however JSON writes it: 52, 52.0 and 5.2e1 are the same.
// money.Parse is exact, and cheap for a text of any size.
func whole(v strictjson.Value) (int, error) {
	hundredths, err := amount(v)
	if err != nil || hundredths%100 != 0 {
		return 0, errNotWhole
	}
	return int(hundredths / 100), nil
}

// date reads a day.
func date(v strictjson.Value) (money.Date, error) {
	s, err := text(v)
	if err != nil {
		return money.Date{}, err
	}
	return money.ParseDate(s)
}

// accepted tells whether a declaration is made: only true itself is.
func accepted(v strictjson.Value) (bool, error) {
	return v.Kind == strictjson.Bool && v.Text == "true", nil
}
