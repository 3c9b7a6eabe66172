package salesforcetest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// Values are kept as texts, by the type of their field: a number in full with at most its scale of digits after the
// point, a time in UTC as storedTime, an id with 18 characters, base64 decoded. A value that is not given, or empty, is "".

const (
	storedTime = "2006-01-02T15:04:05.000Z"
	dayFormat  = "2006-01-02"
)

// maxNumber is the length of the longest number that is read.
const maxNumber = 64

// parse reads the value of a field as a client sends it.
func (f *Field) parse(v strictjson.Value) (string, *fault) {
	switch {
	case v.Kind == strictjson.Null:
		return "", nil
	case f.Type == TypeBoolean:
		if v.Kind != strictjson.Bool {
			return "", f.wrongKind("boolean", v)
		}
		if v.Text != "true" {
			return "", nil // false is as if it were not given
		}
		return v.Text, nil
	case f.isNumber():
		if v.Kind != strictjson.Number && v.Kind != strictjson.String {
			return "", f.wrongKind("double", v)
		}
		return f.parseNumber(v.Text)
	case v.Kind != strictjson.String:
		return "", f.wrongKind("string", v)
	case f.Type == TypeBase64:
		content, err := base64.StdEncoding.DecodeString(v.Text)
		if err != nil {
			return "", f.says(codeBadJSON, "value not of required type: the content is not base64")
		}
		return string(content), nil
	}
	return f.parseText(v.Text)
}

// parseText reads a value that comes as a text.
func (f *Field) parseText(sent string) (string, *fault) {
	sent = strings.TrimSpace(sent)
	switch {
	case sent == "":
		return "", nil
	case f.isText() && utf8.RuneCountInString(sent) > f.Length:
		return "", f.says(codeStringTooLong, fmt.Sprintf("data value too large: %.60s (max length=%d)", sent, f.Length))
	case f.Type == TypePicklist && f.Restricted && !slices.Contains(f.Values, sent):
		return "", f.says(codeBadPicklist, "bad value for restricted picklist field: "+sent)
	case f.Type == TypeEmail:
		if address, err := mail.ParseAddress(sent); err != nil || address.Address != sent {
			return "", f.says("INVALID_EMAIL_ADDRESS", "invalid email address: "+sent)
		}
	case f.Type == TypeDate:
		if _, err := time.Parse(dayFormat, sent); err != nil {
			return "", f.says(codeBadJSON, "Cannot deserialize instance of date from VALUE_STRING value "+sent)
		}
	case f.Type == TypeDateTime:
		at, ok := parseTime(sent)
		if !ok {
			return "", f.says(codeBadJSON, "Cannot deserialize instance of datetime from VALUE_STRING value "+sent)
		}
		return at.Format(storedTime), nil
	case f.Type == TypeReference:
		id, ok := parseID(sent)
		if !ok {
			return "", f.says(codeMalformedID, "id value of incorrect type: "+sent)
		}
		return id, nil
	}
	return sent, nil
}

// parseTime reads a time as the API takes it. One without a zone is UTC's.
func parseTime(sent string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999-0700", "2006-01-02T15:04:05.999"} {
		if at, err := time.Parse(layout, sent); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// parseNumber reads a number, and rounds it to the scale of the field.
func (f *Field) parseNumber(sent string) (string, *fault) {
	number, ok := parseRat(sent)
	if !ok {
		return "", f.says(codeBadJSON, "value not of required type: "+sent[:min(len(sent), maxNumber)])
	}
	digits := f.Precision - f.Scale
	if f.Type == TypeInt {
		digits = 9
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	if new(big.Rat).Abs(number).Cmp(new(big.Rat).SetInt(limit)) >= 0 {
		return "", f.says(codeNumberRange, "value outside of valid range on numeric field: "+sent)
	}
	return number.FloatString(f.Scale), nil
}

// parseRat reads a number without rounding it. It refuses a number that would take much work.
func parseRat(sent string) (*big.Rat, bool) {
	if len(sent) > maxNumber || strings.ContainsAny(sent, "/xXpPoObB_") {
		return nil, false
	}
	if at := strings.IndexAny(sent, "eE"); at >= 0 && len(strings.TrimLeft(sent[at+1:], "+-0")) > 2 {
		return nil, false
	}
	return new(big.Rat).SetString(sent)
}

// says is a fault of the field.
func (f *Field) says(code, message string) *fault {
	says := about(code, f.Name+": "+message, f.Name)
	return &says
}

func (f *Field) wrongKind(want string, v strictjson.Value) *fault {
	return &fault{code: codeBadJSON, message: "Cannot deserialize instance of " + want + " from the value " +
		v.Text[:min(len(v.Text), maxNumber)] + " of the field " + f.Name}
}

// toJSON gives a value the form of an answer. The version's path is where content can be fetched.
func (f *Field) toJSON(value, version string, r *record) any {
	switch {
	case f.Type == TypeBoolean:
		return value == "true"
	case value == "":
		return nil
	case f.Type == TypeInt:
		return json.Number(value)
	case f.isNumber():
		whole, fraction, _ := strings.Cut(value, ".")
		return json.Number(whole + "." + cmp.Or(strings.TrimRight(fraction, "0"), "0"))
	case f.Type == TypeDateTime:
		return strings.TrimSuffix(value, "Z") + "+0000"
	case f.Type == TypeBase64:
		return r.url(version) + "/" + f.Name
	}
	return value
}

// compare orders two values of the field. Letter case does not matter in a text; what is not given comes first.
func (f *Field) compare(a, b string) int {
	switch {
	case a == "" || b == "" || a == b:
		return strings.Compare(a, b)
	case f.isNumber():
		x, _ := parseRat(a) // both are stored values
		y, _ := parseRat(b)
		return x.Cmp(y)
	case f.isText():
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	}
	return strings.Compare(a, b)
}

// indexed returns the form of a value in which an index has it.
func (f *Field) indexed(value string) string {
	if f.isText() {
		return strings.ToLower(value)
	}
	return value
}
