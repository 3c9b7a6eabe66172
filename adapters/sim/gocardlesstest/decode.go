package gocardlesstest

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// maxBody is the largest body, in bytes, that is read; maxDepth how deep its JSON may be nested.
const (
	maxBody  = 1 << 20
	maxDepth = 8
)

// Limits of metadata.
const (
	maxMetadata      = 3
	maxMetadataKey   = 50
	maxMetadataValue = 500
)

// readCall returns the object in the envelope of a call's body. An action may come without a body.
func readCall(w http.ResponseWriter, r *http.Request, envelope string) (strictjson.Value, *apiError) {
	none := strictjson.Value{Kind: strictjson.Object}
	if len(r.Header.Get("Idempotency-Key")) > maxKey {
		return none, usage(http.StatusBadRequest, "idempotency_key_too_long", "Idempotency-Key must be at most 128 characters")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return none, usage(http.StatusRequestEntityTooLarge, "request_entity_too_large", "Request entity too large")
	}
	if err != nil {
		return none, usage(http.StatusBadRequest, "bad_request", "The body could not be read")
	}
	if len(data) == 0 && envelope == dataEnvelope {
		return none, nil
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return none, usage(http.StatusUnsupportedMediaType, "unsupported_media_type", "Content-Type must be application/json")
	}
	v, err := strictjson.Parse(data, maxDepth)
	if err != nil {
		return none, usage(http.StatusBadRequest, "bad_request", "Bad JSON: "+err.Error())
	}
	inner, ok := v.Member(envelope)
	if !ok || len(v.Members) != 1 || inner.Kind != strictjson.Object {
		return none, usage(http.StatusBadRequest, "invalid_document_structure", "The body must be an object that holds "+envelope)
	}
	return inner, nil
}

// form reads the fields of an object and collects what is wrong with them.
type form struct {
	pointer string
	fields  *strictjson.Fields
	faults  *[]fault // shared by all forms of one body
}

// formOf returns the form of the object in an envelope.
func formOf(envelope string, v strictjson.Value) form {
	return form{"/" + envelope, strictjson.FieldsOf("", v), new([]fault)}
}

// fault says what is wrong with a field.
func (f form) fault(field, message string) {
	*f.faults = append(*f.faults, fault{Message: message, Field: field, RequestPointer: f.pointer + "/" + field})
}

// maxUnknown is the largest number of unknown fields that an error names.
const maxUnknown = 10

// close refuses the fields that were not asked for.
func (f form) close() {
	for _, name := range f.fields.Unknown(maxUnknown) {
		f.fault(name, "is not a field that this simulator knows")
	}
}

// err closes the form of a whole body, and returns the error of everything that was found wrong, or nil.
func (f form) err() *apiError {
	f.close()
	if len(*f.faults) == 0 {
		return nil
	}
	return &apiError{http.StatusUnprocessableEntity, typeValidationFailed, "Validation failed", *f.faults}
}

// skip takes note of fields that the simulator accepts and does without.
func (f form) skip(names ...string) {
	for _, name := range names {
		f.fields.Take(name)
	}
}

// take returns a field of a kind. It is a fault that a field is of another kind; want names the kind.
func (f form) take(name string, kind strictjson.Kind, want string) (v strictjson.Value, ok bool) {
	if v, ok = f.fields.Take(name); ok && v.Kind != kind {
		f.fault(name, "must be "+want)
		return v, false
	}
	return v, ok
}

// text reads a text of at most max characters.
func (f form) text(name string, max int) string {
	v, ok := f.take(name, strictjson.String, "a string")
	switch {
	case !ok:
		return ""
	case utf8.RuneCountInString(v.Text) > max:
		f.fault(name, "is too long")
	case text.CheckReadable(v.Text) != "":
		f.fault(name, text.CheckReadable(v.Text))
	default:
		return v.Text
	}
	return ""
}

// required reads a text that must be there.
func (f form) required(name string, max int) string {
	faults := len(*f.faults)
	value := f.text(name, max)
	if value == "" && len(*f.faults) == faults {
		f.fault(name, "is required")
	}
	return value
}

// flag reads a boolean.
func (f form) flag(name string, otherwise bool) bool {
	if v, ok := f.take(name, strictjson.Bool, "a boolean"); ok {
		return strictjson.IsTrue(v)
	}
	return otherwise
}

// uri reads an absolute address of the web.
func (f form) uri(name string) string {
	value := f.text(name, 2083)
	if value == "" {
		return ""
	}
	if u, err := url.Parse(value); err != nil || originOf(value) == "" || u.Scheme != "https" && u.Scheme != "http" {
		f.fault(name, "must be a valid URL")
		return ""
	}
	return value
}

// email reads an e-mail address.
func (f form) email(name string) string {
	value := f.text(name, text.Max)
	if value != "" && text.CheckEmail(value) != "" {
		f.fault(name, "is invalid")
		return ""
	}
	return value
}

// object returns the form of an object within, or an empty form.
func (f form) object(name string) (inner form, ok bool) {
	v, ok := f.take(name, strictjson.Object, "an object")
	return form{f.pointer + "/" + name, strictjson.FieldsOf("", v), f.faults}, ok
}

// metadata reads metadata, or returns nil.
func (f form) metadata() map[string]string {
	const name = "metadata"
	v, ok := f.take(name, strictjson.Object, "an object")
	if !ok {
		return nil
	}
	if len(v.Members) > maxMetadata {
		f.fault(name, "can have a maximum of 3 keys")
	}
	values := map[string]string{}
	for _, m := range v.Members {
		switch {
		case utf8.RuneCountInString(m.Name) > maxMetadataKey:
			f.fault(name, "keys can be a maximum of 50 characters")
		case m.Value.Kind != strictjson.String:
			f.fault(name, "values must be strings")
		case utf8.RuneCountInString(m.Value.Text) > maxMetadataValue:
			f.fault(name, "values can be a maximum of 500 characters")
		default:
			values[m.Name] = m.Value.Text
		}
	}
	return values
}
