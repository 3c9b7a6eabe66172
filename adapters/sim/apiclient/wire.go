package apiclient

import (
	"encoding/json"
	"strings"
)

// With returns the JSON text of a request with other fields: paths such as plan.payment_type and their JSON in turn, "" for a field
// that is left out. It is "" if the body or a value is no JSON.
func With(body string, changes ...string) string {
	sections := map[string]map[string]json.RawMessage{}
	if json.Unmarshal([]byte(body), &sections) != nil {
		return ""
	}
	for i := 0; i < len(changes); i += 2 {
		section, field, _ := strings.Cut(changes[i], ".")
		if sections[section] == nil {
			sections[section] = map[string]json.RawMessage{}
		}
		if sections[section][field] = json.RawMessage(changes[i+1]); changes[i+1] == "" {
			delete(sections[section], field)
		}
	}
	text, err := json.Marshal(sections)
	if err != nil {
		return ""
	}
	return string(text)
}

// encode returns the JSON text of a request.
func encode(request any) string {
	text, err := json.Marshal(request)
	if err != nil {
		panic(err) // strings and booleans always marshal
	}
	return string(text)
}
