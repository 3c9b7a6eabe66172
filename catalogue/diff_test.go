package catalogue_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestDiff(t *testing.T) {
	type configuration = catalogue.Configuration
	certificate := sample.Course()
	certificate.Code = "NZCERT"
	tests := []struct {
		name   string
		before func(*configuration)
		after  func(*configuration)
		want   []string
	}{
		{"nothing", nil, nil, nil},
		{
			"no origins and an empty list of them",
			func(c *configuration) { c.Provider.EnrolmentOrigins = nil },
			func(c *configuration) { c.Provider.EnrolmentOrigins = []string{} },
			nil,
		},
		{
			"plain facts, as they were and will be", nil,
			func(c *configuration) { c.Provider.Name, c.Provider.Active = "Kōwhai Ltd", false },
			[]string{`~ provider KOWHAI: name "Kōwhai Institute" → "Kōwhai Ltd", active true → false`},
		},
		{
			"a destination, without showing it", nil,
			func(c *configuration) {
				c.Provider.Destination = catalogue.Destination{URL: "https://hooks.example/s3cr3t", Secret: "another secret of 24 bytes"}
			},
			[]string{`~ provider KOWHAI: webhook.url changed, signing secret changed`},
		},
		{
			"the first destination", func(c *configuration) { c.Provider.Destination = catalogue.Destination{} }, nil,
			[]string{`~ provider KOWHAI: webhook.url changed, signing secret changed`},
		},
		{
			"origins", nil,
			func(c *configuration) { c.Provider.EnrolmentOrigins = c.Provider.EnrolmentOrigins[:1] },
			[]string{`~ provider KOWHAI: enrolment_origins ["https://enrol.kowhai.example" "https://kowhai.example:8443"]` +
				` → ["https://enrol.kowhai.example"]`},
		},
		{
			"from catalogue to legacy, loudly", nil,
			func(c *configuration) { c.Provider.Mode, c.Courses = catalogue.Legacy, nil },
			[]string{
				`!! provider KOWHAI: PRICING MODE CHANGES from catalogue to legacy: ` +
					`prices and plans will come with the provider's requests, and a course_code is refused`,
				`- course KOWHAI/NZDIP: removed`,
			},
		},
		{
			"from legacy to catalogue, loudly", func(c *configuration) { c.Provider.Mode, c.Courses = catalogue.Legacy, nil }, nil,
			[]string{
				`!! provider KOWHAI: PRICING MODE CHANGES from legacy to catalogue: ` +
					`prices and plans will come from the catalogue, and every request must name a course_code`,
				`+ course KOWHAI/NZDIP: "Diploma in Business" added at 2990.00`,
			},
		},
		{
			"a course", nil,
			func(c *configuration) { c.Courses[0].Price, c.Courses[0].Options = 3100_00, c.Courses[0].Options[:1] },
			[]string{`~ course KOWHAI/NZDIP: course_price 2990.00 → 3100.00, ` +
				`plans [Weekly × 52, Fortnightly at 120.00] → [Weekly × 52]`},
		},
		{
			"one course for another", nil,
			func(c *configuration) { c.Courses = []catalogue.Course{certificate} },
			[]string{`+ course KOWHAI/NZCERT: "Diploma in Business" added at 2990.00`, `- course KOWHAI/NZDIP: removed`},
		},
		{
			"the order of the courses",
			func(c *configuration) { c.Courses = []catalogue.Course{sample.Course(), certificate} },
			func(c *configuration) { c.Courses = []catalogue.Course{certificate, sample.Course()} },
			[]string{`~ provider KOWHAI: courses in another order`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := kowhai(), kowhai()
			if tt.before != nil {
				tt.before(&before)
			}
			if tt.after != nil {
				tt.after(&after)
			}
			got := catalogue.Diff([]configuration{before}, []configuration{after})
			if !slices.Equal(got, tt.want) {
				t.Errorf("Diff =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestDiffListsProvidersInTheOrderOfTheirCodes(t *testing.T) {
	named := func(code string) catalogue.Configuration {
		return catalogue.Configuration{Provider: catalogue.Provider{
			Code: code, Name: code, Environment: catalogue.Sandbox, Mode: catalogue.Legacy,
		}}
	}
	got := catalogue.Diff(
		[]catalogue.Configuration{kowhai(), named("RATA")},
		[]catalogue.Configuration{named("TOTARA"), named("RATA"), named("HARAKEKE")},
	)
	want := []string{
		`+ provider HARAKEKE: "HARAKEKE" added in sandbox, with legacy pricing`,
		`- provider KOWHAI: removed; its keys and checkouts stay`,
		`+ provider TOTARA: "TOTARA" added in sandbox, with legacy pricing`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("Diff = %q; want %q", got, want)
	}
}

// Each field of a provider, its configuration and its courses is compared: a field that is
// added to the types and forgotten in Diff fails here.
func TestDiffSeesEveryField(t *testing.T) {
	leaves(reflect.TypeFor[catalogue.Configuration](), nil, func(path []int, name string) {
		after := kowhai()
		vary(reflect.ValueOf(&after).Elem().FieldByIndex(path))
		if len(catalogue.Diff([]catalogue.Configuration{kowhai()}, []catalogue.Configuration{after})) == 0 {
			t.Errorf("Diff does not see a change of Configuration.%s", name)
		}
	})
	leaves(reflect.TypeFor[catalogue.Course](), nil, func(path []int, name string) {
		after := kowhai()
		vary(reflect.ValueOf(&after.Courses[0]).Elem().FieldByIndex(path))
		if len(catalogue.Diff([]catalogue.Configuration{kowhai()}, []catalogue.Configuration{after})) == 0 {
			t.Errorf("Diff does not see a change of Course.%s", name)
		}
	})
}

// leaves visits every field of a struct type that is not a struct itself.
func leaves(of reflect.Type, path []int, visit func(path []int, name string)) {
	for i := range of.NumField() {
		field, path := of.Field(i), append(slices.Clone(path), i)
		if field.Type.Kind() == reflect.Struct {
			leaves(field.Type, path, func(p []int, name string) { visit(p, field.Name+"."+name) })
			continue
		}
		visit(path, field.Name)
	}
}

// vary gives a field another value than it has.
func vary(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		} else {
			v.SetZero()
		}
	default:
		panic("teach vary to change a " + v.Kind().String())
	}
}
