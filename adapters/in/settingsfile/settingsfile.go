// Package settingsfile reads the file in which an operator keeps the settings of the program: one JSON object with a field a
// setting. A secret is never in the file: its field holds a reference to the place of the secret,
// "env:NAME" for an environment variable or "file:PATH" for a file.
package settingsfile

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// Kind is the type of a setting in the file.
type Kind int

const (
	Text   Kind = iota // a string
	Number             // a number
	Switch             // true or false
	List               // a list of strings
	Secret             // a reference
	Open               // a string, or a reference
)

// Setting is the value of a setting in the file: a text, as a flag takes it, or a reference.
type Setting struct {
	Text     string
	Variable string // of "env:NAME"
	File     string // of "file:PATH"
}

// maxSize bounds the file, in bytes. All settings together need a twentieth of that.
const maxSize = 64 << 10

// Parse parses the file, whose settings are of the given kinds. Unknown settings and settings that are given twice are refused.
// The error names the setting of every fault, a line each, and no value: it may be a secret.
func Parse(data []byte, kinds map[string]Kind) (map[string]Setting, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("is larger than %d KB", maxSize>>10)
	}
	document, err := strictjson.Parse(data, 2) // an object with lists
	if err != nil {
		return nil, err
	}
	if document.Kind != strictjson.Object {
		return nil, &strictjson.Error{Message: "must be an object"}
	}
	var faults []error
	settings := make(map[string]Setting)
	for _, m := range document.Members {
		fault := "is not a setting"
		if kind, known := kinds[m.Name]; known {
			settings[m.Name], fault = read(kind, m.Value)
		}
		if fault != "" {
			faults = append(faults, &strictjson.Error{Path: strictjson.Join("", m.Name), Message: fault})
		}
	}
	return settings, errors.Join(faults...)
}

// read reads the value of a setting, or describes the fault of the value.
func read(kind Kind, v strictjson.Value) (s Setting, fault string) {
	variable, file, isReference := strictjson.Reference(v)
	s = Setting{Variable: variable, File: file}
	switch {
	case kind == List:
		return list(v)
	case kind == Number && v.Kind != strictjson.Number:
		return s, "must be a number"
	case kind == Switch && v.Kind != strictjson.Bool:
		return s, "must be true or false"
	case kind == Number, kind == Switch:
		return Setting{Text: v.Text}, ""
	case kind == Secret && s == Setting{}:
		return s, "must be env:NAME or file:PATH: a secret itself does not belong into this file"
	case kind == Open && isReference && s == Setting{}:
		return s, "must name a variable after env: or a file after file:"
	case kind == Secret, kind == Open && isReference:
		return s, ""
	case v.Kind != strictjson.String || v.Text == "":
		return Setting{}, "must be a text"
	case hasPassword(v.Text):
		return Setting{}, "holds a password, which does not belong into this file (a store may be named by env:NAME or file:PATH)"
	}
	return Setting{Text: v.Text}, ""
}

// list reads a list of strings, which a flag has with commas between them.
func list(v strictjson.Value) (s Setting, fault string) {
	const wanted = "must be a list of texts in square brackets"
	if v.Kind != strictjson.Array || len(v.Items) == 0 {
		return s, wanted
	}
	texts := make([]string, len(v.Items))
	for i, item := range v.Items {
		if item.Kind != strictjson.String || strings.Contains(item.Text, ",") {
			return s, wanted
		}
		texts[i] = item.Text
	}
	return Setting{Text: strings.Join(texts, ",")}, ""
}

// hasPassword reports whether a text is a URL with a password in it, or could be meant as one.
func hasPassword(text string) bool {
	_, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return false
	}
	place, query, _ := strings.Cut(rest, "?")
	if at := strings.LastIndex(place, "@"); at >= 0 && strings.Contains(place[:at], ":") {
		return true
	}
	values, err := url.ParseQuery(query)
	return err != nil || values.Has("password") || values.Has("sslpassword")
}
