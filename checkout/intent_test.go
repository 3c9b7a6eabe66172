package checkout_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
)

// body is a request in sections, each with its fields.
type body map[string]map[string]any

func parseBody(t rapid.TB, text string) (b body) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&b); err != nil {
		t.Fatalf("body is not JSON: %v\n%s", err, text)
	}
	return b
}

// parseCreate parses a create as the JSON API does, whose own parser is tested in its package.
func parseCreate(t rapid.TB, text string) checkout.Create {
	t.Helper()
	return parseBody(t, text).create()
}

func (b body) create() checkout.Create {
	return checkout.Create{
		ProviderCode: read(b, checkout.FieldProviderCode, asText), OrderID: read(b, checkout.FieldOrderID, asText),
		FirstName: read(b, checkout.FieldFirstName, asText), LastName: read(b, checkout.FieldLastName, asText),
		Email:      read(b, checkout.FieldEmail, asText),
		CourseCode: read(b, checkout.FieldCourseCode, asText), CourseName: read(b, checkout.FieldCourseName, asText),
		Price: read(b, checkout.FieldPrice, asCents), Principal: read(b, checkout.FieldPrincipal, asCents),
		Upfront:     read(b, checkout.FieldUpfront, asCents),
		PaymentType: read(b, checkout.FieldPaymentType, asText), Frequency: read(b, checkout.FieldFrequency, asText),
		Number: read(b, checkout.FieldNumber, asNumber), Regular: read(b, checkout.FieldRegular, asCents),
		Final: read(b, checkout.FieldFinal, asCents), First: read(b, checkout.FieldFirstPayment, asDate),
	}
}

// read reads one field. A null is a field that was not sent.
func read[T any](b body, field string, as func(v any) (T, error)) checkout.Optional[T] {
	section, name, _ := strings.Cut(field, ".")
	value := b[section][name]
	if value == nil {
		return checkout.Optional[T]{}
	}
	v, err := as(value)
	if err != nil {
		return checkout.Unreadable[T](checkout.Fault{Field: field, Message: err.Error()})
	}
	return checkout.Some(v)
}

var (
	asText   = typed(func(s string) (string, error) { return s, nil })
	asCents  = typed(func(n json.Number) (money.Cents, error) { return money.Parse(n.String()) })
	asNumber = typed(func(n json.Number) (int, error) { i, err := n.Int64(); return int(i), err })
	asDate   = typed(money.ParseDate)
)

// typed returns a function that reads a value which JSON has in the type V.
func typed[V, T any](parse func(V) (T, error)) func(any) (T, error) {
	return func(value any) (T, error) {
		v, ok := value.(V)
		if !ok {
			var none T
			return none, errors.New("must be of another type")
		}
		return parse(v)
	}
}

func fields(faults []checkout.Fault) []string {
	out := []string{}
	for _, f := range faults {
		out = append(out, f.Field)
	}
	return out
}

func TestCanonicalIntentVectors(t *testing.T) {
	var vectors struct {
		Description string `json:"description"`
		Pairs       []struct {
			Name    string          `json:"name"`
			First   json.RawMessage `json:"first"`
			Second  json.RawMessage `json:"second"`
			Differs []string        `json:"differs"`
		} `json:"pairs"`
	}
	testdata.Read(t, "intents.json", &vectors)
	for _, v := range vectors.Pairs {
		t.Run(v.Name, func(t *testing.T) {
			first, second := parseCreate(t, string(v.First)).Normalized(), parseCreate(t, string(v.Second)).Normalized()
			for _, c := range []checkout.Create{first, second} {
				if err := c.Check(catalogue.Legacy); err != nil {
					t.Fatalf("Check: %v", err)
				}
			}
			got := fields(checkout.Compare(intentOf(t, first), intentOf(t, second)))
			if !slices.Equal(got, v.Differs) {
				t.Errorf("Compare(first, second) names %q, want %q", got, v.Differs)
			}
			back := fields(checkout.Compare(intentOf(t, second), intentOf(t, first)))
			if !slices.Equal(back, v.Differs) {
				t.Errorf("Compare(second, first) names %q, want %q", back, v.Differs)
			}
		})
	}
}

var weekly = parseWeekly()

func parseWeekly() checkout.Create {
	return checkout.Create{
		RequestID:    "req_1",
		ProviderCode: checkout.Some("KOWHAI"), OrderID: checkout.Some("ORDER-1"),
		FirstName: checkout.Some("Aroha"), LastName: checkout.Some("Ngata"), Email: checkout.Some("aroha@example.ac.nz"),
		CourseCode: checkout.Some("NZDIP"), Frequency: checkout.Some("Weekly"),
		First: checkout.Some(money.Date{Year: 2027, Month: 2, Day: 1}),
	}
}

var nzdip = catalogue.Course{Code: "NZDIP", Name: "Diploma in Business", Price: 2990_00, Upfront: 200_00,
	Active: true, Environment: catalogue.Sandbox,
	Options: []catalogue.Option{{Frequency: money.Weekly, Number: 52}}}

// resolve returns the intent with which a create opens a checkout under the catalogue.
func resolve(c checkout.Create, course *catalogue.Course) (checkout.Intent, error) {
	return c.Decide(checkout.Facts{Mode: catalogue.Authoritative, Environment: catalogue.Sandbox, Course: course})
}

// intentOf returns the intent with which a create of a legacy provider opens a checkout.
func intentOf(t rapid.TB, c checkout.Create) checkout.Intent {
	t.Helper()
	intent, err := c.Decide(checkout.Facts{Mode: catalogue.Legacy})
	if err != nil {
		t.Fatal(err)
	}
	return intent
}
