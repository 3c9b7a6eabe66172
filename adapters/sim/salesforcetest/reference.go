package salesforcetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
)

// references are the answers of the parts that have been carried out, by reference id. Later parts refer to what is in
// them: @{contact.id}, @{found.records[0].Id}.
type references map[string]any

var (
	referencePattern = regexp.MustCompile(`@\{([^{}]*)\}`)
	stepPattern      = regexp.MustCompile(`^(?:\.([A-Za-z0-9_]+)|\[([0-9]{1,4})\])`)
)

// resolve replaces the references in the texts of a part's body.
func (r references) resolve(part string, v strictjson.Value) (strictjson.Value, *apiError) {
	switch v.Kind {
	case strictjson.String:
		text, err := r.replace(part, v.Text, func(value string) string { return value })
		v.Text = text
		return v, err
	case strictjson.Array:
		items := make([]strictjson.Value, len(v.Items))
		for i := range v.Items {
			var err *apiError
			if items[i], err = r.resolve(part, v.Items[i]); err != nil {
				return v, err
			}
		}
		v.Items = items
	case strictjson.Object:
		members := make([]strictjson.Member, len(v.Members))
		for i, m := range v.Members {
			value, err := r.resolve(part, m.Value)
			if err != nil {
				return v, err
			}
			members[i] = strictjson.Member{Name: m.Name, Value: value}
		}
		v.Members = members
	}
	return v, nil
}

// replace replaces the references in a text.
func (r references) replace(part, text string, escape func(string) string) (string, *apiError) {
	var err *apiError
	replaced := referencePattern.ReplaceAllStringFunc(text, func(reference string) string {
		path := reference[len("@{") : len(reference)-len("}")]
		value, ok := r.find(path)
		if !ok && err == nil {
			err = halted("Invalid reference specified. No value for " + path + " found in " + part)
		}
		return escape(value)
	})
	return replaced, err
}

// find returns the text or number under a path.
func (r references) find(path string) (string, bool) {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return "", false
	}
	body, ok := r[path[:end]]
	if !ok {
		return "", false
	}
	value := generic(body)
	for rest := path[end:]; rest != ""; {
		step := stepPattern.FindStringSubmatch(rest)
		if step == nil {
			return "", false
		}
		rest = rest[len(step[0]):]
		switch holder := value.(type) {
		case map[string]any:
			value = holder[step[1]]
		case []any:
			i, err := strconv.Atoi(step[2])
			if err != nil || i >= len(holder) {
				return "", false
			}
			value = holder[i]
		default:
			return "", false
		}
	}
	switch value.(type) {
	case string, json.Number, bool:
		return fmt.Sprint(value), true
	}
	return "", false
}

// generic returns an answer's body as its JSON is.
func generic(body any) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(control.Encode(body)))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		panic("salesforcetest: " + err.Error()) // the JSON is ours
	}
	return v
}
