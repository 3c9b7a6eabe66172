package httpapi

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

var seeds = []string{
	wholeCreate, "", "{}", "null", `{"plan": {"number_of_instalments": 1e999999}}`,
	`{"student": {"first_name": "o\u0304\u0000"}, "Student": {}}`, `{"pricing": {"course_price": 0.1e1, "course_price": 1}}`,
}

// checkFaults checks that a refusal has everything that an answer needs.
func checkFaults(t *testing.T, body string, err error) {
	var refusal *checkout.Error
	if !errors.As(err, &refusal) || refusal.Code != checkout.CodeValidation || refusal.Message == "" {
		t.Fatalf("%q: error %v, want a VALIDATION_ERROR with a message", body, err)
	}
	seen := map[string]bool{}
	for _, f := range refusal.Faults {
		if f.Field == "" || f.Message == "" || !utf8.ValidString(f.Field+f.Message) {
			t.Errorf("%q: fault %+q lacks a field or a message", body, f)
		}
		if seen[f.Field] {
			t.Errorf("%q: %s is faulted twice", body, f.Field)
		}
		seen[f.Field] = true
	}
}

// FuzzCreate checks that an accepted create has names in NFC and amounts in range, and that a
// second reading of its body gives the same.
func FuzzCreate(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		cmd, err := readCreate(body)
		if err != nil {
			checkFaults(t, body, err)
			return
		}
		for _, given := range []checkout.Optional[string]{cmd.Normalized().FirstName, cmd.Normalized().LastName, cmd.Normalized().CourseName} {
			if !norm.NFC.IsNormalString(given.Value) {
				t.Errorf("%q: name %+q is not in NFC", body, given.Value)
			}
		}
		for _, given := range []checkout.Optional[money.Cents]{cmd.Price, cmd.Principal, cmd.Upfront, cmd.Regular, cmd.Final} {
			if given.Value < 0 || given.Value > money.Max {
				t.Errorf("%q: amount %d is out of range", body, given.Value)
			}
		}
		if cmd.Number.Value < 0 {
			t.Errorf("%q: %d instalments", body, cmd.Number.Value)
		}
		allowed := 0
		for _, mode := range []catalogue.Mode{catalogue.Authoritative, catalogue.Legacy} {
			if err := cmd.Normalized().Check(mode); err != nil {
				checkFaults(t, body, err)
			} else {
				allowed++
			}
		}
		if either := cmd.Normalized().CheckEither(catalogue.Legacy) == nil; allowed > 1 || either != (allowed == 1) {
			t.Errorf("%q: %d pricing modes allow it, and CheckEither %v", body, allowed, either)
		}
	})
}

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
