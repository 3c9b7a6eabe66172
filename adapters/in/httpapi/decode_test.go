package httpapi

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// wholeCreate has every field that a create knows.
const wholeCreate = `{
  "provider": {"provider_code": "KOWHAI", "provider_order_id": "ENR-1"},
  "student": {"first_name": "Mere", "last_name": "Tōmuri", "email": "mere@example.nz"},
  "course": {"course_code": "NZDIP", "course_name": "Diploma in Business"},
  "pricing": {"course_price": 2990.00, "amount_to_finance": 2790, "upfront_payment": 2e2},
  "plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 52,
           "instalment_amount": 53.65, "final_instalment_amount": 53.85, "first_payment_date": "2027-02-01"}
}`

func readCreate(body string) (checkout.Create, error) {
	v, err := parseBody([]byte(body))
	if err != nil {
		return checkout.Create{}, err
	}
	return toCreate(v, nil)
}

// faultsOf returns the messages about a field.
func faultsOf(err error, field string) (messages []string) {
	if refusal, ok := errors.AsType[*checkout.Error](err); ok {
		for _, f := range refusal.Faults {
			if f.Field == field {
				messages = append(messages, f.Message)
			}
		}
	}
	return messages
}

func TestAMissingFieldIsReportedWithTheUnknownFields(t *testing.T) {
	long := strings.Repeat("email", 1000)
	for body, want := range map[string]string{
		`{"student": {"emial": "a"}}`:                                    `is required; unknown fields beside it: "emial"`,
		`{"student": {}, "email": "a"}`:                                  `is required; unknown fields beside it: "email"`,
		`{"sudent": {"email": "a"}}`:                                     `is required; unknown fields beside it: "sudent"`,
		`{"student": {"d": 1, "c": 1}, "b": 1, "a": 1}`:                  `is required; unknown fields beside it: "d", "c", "b"`,
		`{"student": {"` + long + `": 1}}`:                               `is required; unknown fields beside it: "` + long[:64] + `"`,
		`{"student": {"last_name": "a", "first_name": "b"}, "plan": {}}`: `is required`,
	} {
		cmd, err := readCreate(body)
		if got := faultsOf(cmd.Check(catalogue.Legacy), checkout.FieldEmail); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%.60s: refused as %q, %v; want %q", body, got, err, want)
		}
	}
}
