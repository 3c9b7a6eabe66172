package salesforcetest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Values are kept as texts, by the type of their field: a number with its scale of digits after the point, a time in UTC as
// storedTime, base64 decoded. false is "".

// decode reads the fields that a client sent for a record; r is nil for a new one.
func (t *table) decode(body map[string]any, r *record) (map[string]string, *apiError) {
	written := map[string]string{}
	for name, value := range body {
		f := t.field(name)
		switch {
		case name == "attributes":
			continue
		case f == nil:
			return nil, refused("INVALID_FIELD", "No such column '"+name+"' on sobject of type "+t.Name)
		case f.ReadOnly, f.CreateOnly && r != nil:
			return nil, refused("INVALID_FIELD_FOR_INSERT_UPDATE", "Unable to create/update fields: "+f.Name, f.Name)
		}
		kept, err := f.parse(value)
		if err != nil {
			return nil, err
		}
		written[f.Name] = kept
	}
	return written, nil
}

// parse reads the value of a field as a client sends it.
func (f *Field) parse(sent any) (string, *apiError) {
	switch value := sent.(type) {
	case nil:
		return "", nil
	case bool:
		if f.Type == "boolean" {
			return map[bool]string{true: "true"}[value], nil
		}
	case json.Number:
		if f.isNumber() {
			return f.parseText(value.String())
		}
	case string:
		if f.Type != "boolean" {
			return f.parseText(strings.TrimSpace(value))
		}
	}
	return "", refused("JSON_PARSER_ERROR", fmt.Sprintf("Cannot deserialize the field %s from a %T", f.Name, sent))
}

// parseText reads a value that comes as a text.
func (f *Field) parseText(sent string) (kept string, err *apiError) {
	ok, code := true, "JSON_PARSER_ERROR"
	kept = sent
	switch {
	case sent == "":
		return "", nil
	case f.isNumber():
		number, err := strconv.ParseFloat(sent, 64) // exact for the figures of a plan, and for a revision
		kept, ok = strconv.FormatFloat(number, 'f', f.Scale, 64), err == nil
	case f.isText() && utf8.RuneCountInString(sent) > f.Length:
		ok, code = false, "STRING_TOO_LONG"
	case f.Restricted && !slices.Contains(f.Values, sent):
		ok, code = false, "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST"
	case f.Type == "email":
		address, err := mail.ParseAddress(sent)
		ok, code = err == nil && address.Address == sent && sent[0] != '.', "INVALID_EMAIL_ADDRESS"
	case f.Type == "base64":
		content, err := base64.StdEncoding.DecodeString(sent)
		kept, ok = string(content), err == nil
	case f.Type == "date":
		_, err := time.Parse(time.DateOnly, sent)
		ok = err == nil
	case f.Type == "datetime":
		at, err := time.Parse(time.RFC3339Nano, sent)
		kept, ok = at.UTC().Format(storedTime), err == nil
	case f.Type == "reference":
		ok, code = len(sent) == 18, "MALFORMED_ID"
	}
	if !ok {
		return "", refused(code, fmt.Sprintf("%s: bad value: %.60s", f.Name, sent), f.Name)
	}
	return kept, nil
}

// toJSON gives a value the form of an answer. address is that of the record, below which content can be fetched.
func (f *Field) toJSON(value, address string) any {
	switch {
	case f.Type == "boolean":
		return value == "true"
	case value == "":
		return nil
	case f.isNumber():
		return json.Number(value)
	case f.Type == "datetime":
		return strings.TrimSuffix(value, "Z") + "+0000"
	case f.Type == "base64":
		return address + "/" + f.Name
	}
	return value
}

// compare orders two values of the field. Letter case does not matter in a text; what is not given comes first.
func (f *Field) compare(a, b string) int {
	switch {
	case a == "" || b == "":
	case f.isNumber():
		x, _ := strconv.ParseFloat(a, 64) // both are stored values
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	case f.isText():
		a, b = strings.ToLower(a), strings.ToLower(b)
	}
	return cmp.Compare(a, b)
}
