package apiclient

import (
	"encoding/json"
	"strings"
)

// CreateRequest is a create for a course of the provider's catalogue.
type CreateRequest struct {
	ProviderCode, OrderID      string
	FirstName, LastName, Email string // of the student
	CourseCode                 string
	Frequency, FirstPayment    string // the student's choice among the course's plans
}

// String returns the JSON text of the body.
func (r CreateRequest) String() string {
	return encode(map[string]map[string]any{
		"provider": {"provider_code": r.ProviderCode, "provider_order_id": r.OrderID},
		"student":  {"first_name": r.FirstName, "last_name": r.LastName, "email": r.Email},
		"course":   {"course_code": r.CourseCode},
		"plan":     {"payment_frequency": r.Frequency, "first_payment_date": r.FirstPayment},
	})
}

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
