package checkout_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// parseCreate reads a well-formed create body; the API's own reader is tested where it stands.
func parseCreate(t testing.TB, body string) checkout.Create {
	t.Helper()
	var sections map[string]map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	d.UseNumber()
	if err := d.Decode(&sections); err != nil {
		t.Fatalf("body is not JSON: %v\n%s", err, body)
	}
	text := func(section, field string) checkout.Optional[string] {
		v, ok := sections[section][field].(string)
		return checkout.Optional[string]{Value: v, Given: ok}
	}
	amount := func(section, field string) checkout.Optional[money.Cents] {
		n, ok := sections[section][field].(json.Number)
		if !ok {
			return checkout.Optional[money.Cents]{}
		}
		c, err := money.Parse(n.String())
		if err != nil {
			t.Fatalf("%s.%s: %v", section, field, err)
		}
		return checkout.Some(c)
	}
	c := checkout.Create{
		ProviderCode: text("provider", "provider_code"), OrderID: text("provider", "provider_order_id"),
		FirstName: text("student", "first_name"), LastName: text("student", "last_name"), Email: text("student", "email"),
		CourseCode: text("course", "course_code"), CourseName: text("course", "course_name"),
		Price: amount("pricing", "course_price"), Principal: amount("pricing", "amount_to_finance"),
		Upfront:     amount("pricing", "upfront_payment"),
		PaymentType: text("plan", "payment_type"), Frequency: text("plan", "payment_frequency"),
		Regular: amount("plan", "instalment_amount"), Final: amount("plan", "final_instalment_amount"),
	}
	if n, ok := sections["plan"]["number_of_instalments"].(json.Number); ok {
		i, err := n.Int64()
		if err != nil {
			t.Fatal(err)
		}
		c.Number = checkout.Some(int(i))
	}
	if d, ok := sections["plan"]["first_payment_date"].(string); ok {
		day, err := money.ParseDate(d)
		if err != nil {
			t.Fatal(err)
		}
		c.First = checkout.Some(day)
	}
	return c
}

func fields(faults []checkout.Fault) []string {
	out := []string{}
	for _, f := range faults {
		out = append(out, f.Field)
	}
	return out
}

func TestCanonicalIntentVectors(t *testing.T) {
	data, err := os.ReadFile("../testdata/intents.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Pairs []struct {
			Name, First, Second string
			Differs             []string
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Pairs) < 15 {
		t.Fatalf("only %d pairs were read", len(vectors.Pairs))
	}
	for _, v := range vectors.Pairs {
		t.Run(v.Name, func(t *testing.T) {
			first, second := parseCreate(t, v.First), parseCreate(t, v.Second)
			for _, c := range []checkout.Create{first, second} {
				if err := c.Check(catalogue.Legacy); err != nil {
					t.Fatalf("Check: %v", err)
				}
			}
			got := fields(checkout.Compare(first.Intent(), second.Intent()))
			if !slices.Equal(got, v.Differs) {
				t.Errorf("Compare(first, second) names %q, want %q", got, v.Differs)
			}
			back := fields(checkout.Compare(second.Intent(), first.Intent()))
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

func TestACatalogueResolvesPriceAndPlan(t *testing.T) {
	got, err := weekly.Resolve(&nzdip, catalogue.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	want := checkout.Intent{
		CourseName: "Diploma in Business",
		Pricing:    money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00},
		Plan: money.Plan{Frequency: money.Weekly, First: money.Date{Year: 2027, Month: 2, Day: 1},
			Instalments: money.Instalments{Number: 52, Regular: 53_65, Final: 53_85}},
	}
	if got != want {
		t.Errorf("Resolve = %+v\nwant      %+v", got, want)
	}
}

func TestAValueThatRepeatsTheCatalogueMustEqualIt(t *testing.T) {
	tests := []struct {
		name  string
		send  func(*checkout.Create)
		field string // "" if it is accepted
	}{
		{"equal price", func(c *checkout.Create) { c.Price = checkout.Some(money.Cents(2990_00)) }, ""},
		{"other price", func(c *checkout.Create) { c.Price = checkout.Some(money.Cents(2990_01)) }, "pricing.course_price"},
		{"zero price", func(c *checkout.Create) { c.Price = checkout.Some(money.Cents(0)) }, "pricing.course_price"},
		{"equal principal", func(c *checkout.Create) { c.Principal = checkout.Some(money.Cents(2790_00)) }, ""},
		{"other principal", func(c *checkout.Create) { c.Principal = checkout.Some(money.Cents(2990_00)) }, "pricing.amount_to_finance"},
		{"other upfront", func(c *checkout.Create) { c.Upfront = checkout.Some(money.Cents(0)) }, "pricing.upfront_payment"},
		{"equal number", func(c *checkout.Create) { c.Number = checkout.Some(52) }, ""},
		{"other number", func(c *checkout.Create) { c.Number = checkout.Some(51) }, "plan.number_of_instalments"},
		{"equal instalment", func(c *checkout.Create) { c.Regular = checkout.Some(money.Cents(53_65)) }, ""},
		{"other instalment", func(c *checkout.Create) { c.Regular = checkout.Some(money.Cents(53_66)) }, "plan.instalment_amount"},
		{"equal final", func(c *checkout.Create) { c.Final = checkout.Some(money.Cents(53_85)) }, ""},
		{"other final", func(c *checkout.Create) { c.Final = checkout.Some(money.Cents(53_65)) }, "plan.final_instalment_amount"},
		{"equal name", func(c *checkout.Create) { c.CourseName = checkout.Some("Diploma in Business") }, ""},
		{"other name", func(c *checkout.Create) { c.CourseName = checkout.Some("Diploma") }, "course.course_name"},
		{"frequency not offered", func(c *checkout.Create) { c.Frequency = checkout.Some("Monthly") }, "plan.payment_frequency"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := weekly
			tt.send(&c)
			_, err := c.Resolve(&nzdip, catalogue.Sandbox)
			expectFault(t, err, checkout.CodeValidation, tt.field)
		})
	}
}

func TestAFrequencyThatIsNotOfferedIsRefusedWithThoseThatAre(t *testing.T) {
	course, monthly := nzdip, weekly
	course.Options = append(slices.Clip(course.Options), catalogue.Option{Frequency: money.Fortnightly, Amount: 120_00})
	monthly.Frequency = checkout.Some("Monthly")
	_, err := monthly.Resolve(&course, catalogue.Sandbox)
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
	_, err := weekly.Resolve(nil, catalogue.Sandbox)
	expectFault(t, err, checkout.CodeValidation, "course.course_code")
	unknown := err.Error()
	for name, course := range map[string]catalogue.Course{"inactive": inactive, "of another environment": elsewhere} {
		_, err := weekly.Resolve(&course, catalogue.Sandbox)
		expectFault(t, err, checkout.CodeValidation, "course.course_code")
		if err.Error() != unknown {
			t.Errorf("a course that is %s: %q, want the words of an unknown one, %q", name, err, unknown)
		}
	}
}

func TestAnOrderIsResolvedOnce(t *testing.T) {
	intent, err := weekly.Resolve(&nzdip, catalogue.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	stored := weekly.Open(intent, opening(t)).Next
	stored.Intent.Pricing.Price++ // what was stored differs from what any catalogue says today
	stored.Intent.Pricing.Principal++

	again, ok, err := weekly.ResolveAgain(stored)
	if err != nil || !ok || again != stored.Intent {
		t.Errorf("the same code and frequency: %+v, %v, %v; want the stored intent", again, ok, err)
	}
	other := weekly
	other.CourseCode = checkout.Some("OTHER")
	if _, ok, _ := other.ResolveAgain(stored); ok {
		t.Error("another course must be resolved by the catalogue")
	}
	claimed := weekly
	claimed.Price = checkout.Some(money.Cents(2990_00))
	_, _, err = claimed.ResolveAgain(stored)
	expectFault(t, err, checkout.CodeValidation, "pricing.course_price")
}
