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

func TestAFrequencyThatIsNotOfferedIsRefusedWithThoseThatAre(t *testing.T) {
	course, monthly := nzdip, weekly
	course.Options = append(slices.Clip(course.Options), catalogue.Option{Frequency: money.Fortnightly, Amount: 120_00})
	monthly.Frequency = checkout.Some("Monthly")
	_, err := resolve(monthly, &course)
	var refusal *checkout.Error
	want := checkout.Fault{Field: "plan.payment_frequency",
		Message: `must be "Weekly" or "Fortnightly": this course is not offered otherwise`}
	if !errors.As(err, &refusal) || len(refusal.Faults) != 1 || refusal.Faults[0] != want {
		t.Errorf("Resolve = %v, want %+v", err, want)
	}
}

func TestACourseThatCannotBeSoldIsUnknown(t *testing.T) {
	inactive, elsewhere := nzdip, nzdip
	inactive.Active = false
	elsewhere.Environment = catalogue.Production
	_, err := resolve(weekly, nil)
	expectFault(t, err, checkout.CodeValidation, "course.course_code")
	unknown := err.Error()
	for name, course := range map[string]catalogue.Course{"inactive": inactive, "of another environment": elsewhere} {
		_, err := resolve(weekly, &course)
		expectFault(t, err, checkout.CodeValidation, "course.course_code")
		if err.Error() != unknown {
			t.Errorf("a course that is %s: %q, want the words of an unknown one, %q", name, err, unknown)
		}
	}
}

func TestAnOrderIsResolvedOnce(t *testing.T) {
	intent, err := resolve(weekly, &nzdip)
	if err != nil {
		t.Fatal(err)
	}
	stored := weekly.Open(intent, opening(t)).Next
	stored.Intent.Pricing.Price++ // what was stored differs from what any catalogue says today
	stored.Intent.Pricing.Principal++

	onRecord := checkout.Facts{Mode: catalogue.Authoritative, Environment: catalogue.Sandbox, ByOrder: &stored}
	if weekly.NeedsCourse(onRecord) {
		t.Error("the same code and frequency need the catalogue")
	}
	dearer := nzdip
	dearer.Price++
	for name, course := range map[string]*catalogue.Course{"none": nil, "as it was": &nzdip, "dearer": &dearer} {
		onRecord.Course = course
		if got, err := weekly.Decide(onRecord); err != nil || got != stored.Intent {
			t.Errorf("the same code and frequency, course %s: %+v, %v; want a replay with the stored intent", name, got, err)
		}
	}
	onRecord.Course = nil
	other := weekly
	other.CourseCode = checkout.Some("OTHER")
	monthly := weekly
	monthly.Frequency = checkout.Some("Monthly")
	if !other.NeedsCourse(onRecord) || !monthly.NeedsCourse(onRecord) {
		t.Error("another course, or another frequency, must be resolved by the catalogue")
	}
	_, err = other.Decide(onRecord)
	expectFault(t, err, checkout.CodeValidation, "course.course_code")
	claimed := weekly
	claimed.Price = checkout.Some(money.Cents(2990_00))
	_, err = claimed.Decide(onRecord)
	expectFault(t, err, checkout.CodeValidation, "pricing.course_price")
}
