package apiclient

import (
	"encoding/json"
	"strings"
)

// CreateRequest is a create for a course of the provider's catalogue or, without a CourseCode, for a course of 1250.00.
type CreateRequest struct {
	ProviderCode, OrderID      string
	FirstName, LastName, Email string // of the student
	CourseCode                 string
	Frequency, FirstPayment    string // the student's choice among the course's plans
}

// String returns the JSON text of the body.
func (r CreateRequest) String() string {
	body := map[string]map[string]any{
		"provider": {"provider_code": r.ProviderCode, "provider_order_id": r.OrderID},
		"student":  {"first_name": r.FirstName, "last_name": r.LastName, "email": r.Email},
		"course":   {"course_code": r.CourseCode},
		"plan":     {"payment_frequency": r.Frequency, "first_payment_date": r.FirstPayment},
	}
	if r.CourseCode == "" {
		body["course"] = map[string]any{"course_name": "Certificate in Joinery"}
		body["pricing"] = map[string]any{"course_price": 1250, "amount_to_finance": 1000, "upfront_payment": 250}
		body["plan"]["payment_type"], body["plan"]["number_of_instalments"] = "interest_free_payment_plan", 3
		body["plan"]["instalment_amount"], body["plan"]["final_instalment_amount"] = 333.33, 333.34
	}
	return encode(body)
}

// ConfirmRequest is the confirm of a checkout.
type ConfirmRequest struct {
	Created          Response // the response to the create, whose identifiers and plan the confirm repeats
	DepositConfirmed bool
	Declarations     map[string]bool // by the name of the field
}

// String returns the JSON text of the body.
func (r ConfirmRequest) String() string {
	is := r.Created.String
	return encode(map[string]any{
		"provider": map[string]string{"provider_code": r.Created.Provider(), "provider_order_id": is("provider.provider_order_id")},
		"checkout": map[string]string{"checkout_id": is("checkout.checkout_id"), "checkout_token": is("direct_debit.token"),
			"opportunity_id": is("records.opportunity_id"), "dda_id": is("direct_debit.dda_id")},
		"payment": map[string]any{"payment_method": "service_payment_plan", "first_payment_date": is("plan.first_payment_date"),
			"deposit_confirmed": r.DepositConfirmed},
		"declarations": r.Declarations,
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
