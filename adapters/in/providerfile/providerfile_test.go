package providerfile_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// full is a file in which every field is given.
const full = `{"providers": [{
  "provider_code": "KOWHAI", "name": "Kōwhai Institute", "account_id": "acc-kowhai",
  "environment": "sandbox", "active": true, "api_enabled": true,
  "enrolment_origins": ["https://enrol.kowhai.example", "http://localhost:3000"],
  "success_url": "https://enrol.kowhai.example/done", "cancel_url": "https://enrol.kowhai.example/cancelled",
  "branding": {"display_name": "Kōwhai", "primary_colour": "#1f6f54",
    "logo_url": "https://kowhai.example/logo.svg", "support_email": "help@kowhai.example"},
  "webhook": {"url": "https://hooks.kowhai.example/checkout", "signing_secret": "whsec_0123456789abcdefgh"},
  "courses": [{
    "course_code": "NZDIP", "course_name": "Diploma in Business", "course_price": 2990.00, "upfront_payment": 200.00,
    "active": true, "environment": "production",
    "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 52},
              {"payment_frequency": "Fortnightly", "instalment_amount": 120.00}]}]}]}`

// least is a file with only the required fields.
const least = `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai Institute",
  "environment": "sandbox", "active": false, "api_enabled": false}]}`

// oneCourse is least with one course that has only the required fields.
var oneCourse = strings.Replace(least, `false}`, `false, "courses": [{"course_code": "NZDIP",
  "course_name": "Diploma", "course_price": 100, "active": true,
  "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 4}]}]}`, 1)

func TestParseReadsEveryField(t *testing.T) {
	got, err := providerfile.Parse([]byte(full))
	want := []catalogue.Configuration{{
		Provider: catalogue.Provider{
			Code:             "KOWHAI",
			Name:             "Kōwhai Institute",
			AccountID:        "acc-kowhai",
			Environment:      catalogue.Sandbox,
			Active:           true,
			APIEnabled:       true,
			EnrolmentOrigins: []string{"https://enrol.kowhai.example", "http://localhost:3000"},
			SuccessURL:       "https://enrol.kowhai.example/done",
			CancelURL:        "https://enrol.kowhai.example/cancelled",
			Branding: catalogue.Branding{
				DisplayName:   "Kōwhai",
				PrimaryColour: "#1f6f54",
				LogoURL:       "https://kowhai.example/logo.svg",
				SupportEmail:  "help@kowhai.example",
			},
			Destination: catalogue.Destination{
				URL:    "https://hooks.kowhai.example/checkout",
				Secret: "whsec_0123456789abcdefgh",
			},
			Mode: catalogue.Authoritative,
		},
		Courses: []catalogue.Course{sample.Course()},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, %v; want %+v", got, err, want)
	}
}

func TestParseReadsThePricesFromADay(t *testing.T) {
	const file = `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai", "environment": "sandbox", "active": true, "api_enabled": true,
		"courses": [{"course_code": "NZDIP", "course_name": "Diploma", "course_price": 100.00, "active": true,
		"plans": [{"payment_frequency": "Weekly", "number_of_instalments": 4}], "prices": [PRICES]}]}]}`
	parse := func(prices string) ([]catalogue.Configuration, error) {
		return providerfile.Parse([]byte(strings.Replace(file, "PRICES", prices, 1)))
	}
	got, err := parse(`{"valid_from": "2027-01-01", "course_price": 110.50, "upfront_payment": 10}, {"valid_from": "2028-01-01", "course_price": 120, "upfront_payment": 0}`)
	want := []catalogue.Price{{From: money.Date{Year: 2027, Month: 1, Day: 1}, Price: 110_50, Upfront: 10_00}, {From: money.Date{Year: 2028, Month: 1, Day: 1}, Price: 120_00}}
	if err != nil || !slices.Equal(got[0].Courses[0].Prices, want) {
		t.Errorf("Parse = %+v, %v; want the prices %+v", got, err, want)
	}
	for prices, fault := range map[string]string{
		`{"course_price": 110, "upfront_payment": 0}`:                                                                                                      "valid_from must be given",
		`{"valid_from": "2027-02-29", "course_price": 110, "upfront_payment": 0}`:                                                                          "valid_from must be a real date",
		`{"valid_from": "2027-01-01", "course_price": 110}`:                                                                                                "upfront_payment must be given",
		`{"valid_from": "2027-01-01", "course_price": 110, "upfront_payment": 110}`:                                                                        "upfront_payment must be below the course price",
		`{"valid_from": "2027-01-01", "course_price": 0.03, "upfront_payment": 0}`:                                                                         "course_price must leave an amount that plans[0] can divide",
		`{"valid_from": "2027-01-01", "course_price": 110, "upfront_payment": 0, "a":1}`:                                                                   "prices[0].a is not a field here",
		`{"valid_from": "2027-01-01", "course_price": 110, "upfront_payment": 0}, {"valid_from": "2027-01-01", "course_price": 120, "upfront_payment": 0}`: "prices[1].valid_from must be after 2027-01-01",
	} {
		if _, err := parse(prices); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("Parse of %s: %v, want %q", prices, err, fault)
		}
	}
}

func TestParseFillsInWhatIsAbsent(t *testing.T) {
	plain := catalogue.Configuration{Provider: catalogue.Provider{
		Code: "KOWHAI", Name: "Kōwhai Institute", Environment: catalogue.Sandbox, Mode: catalogue.Legacy,
	}}
	empty := plain
	empty.Provider.Mode = catalogue.Authoritative
	course := empty
	course.Courses = []catalogue.Course{{
		Code: "NZDIP", Name: "Diploma", Price: 100_00, Active: true, Environment: catalogue.Sandbox,
		Options: []catalogue.Option{{Frequency: money.Weekly, Number: 4}},
	}}
	tests := []struct {
		name, in string
		want     []catalogue.Configuration
	}{
		{"no providers", `{"providers": []}`, nil},
		{"no courses: legacy", least, []catalogue.Configuration{plain}},
		{"null is absent", strings.Replace(least, `false}`, `false, "account_id": null, "enrolment_origins": null,
			"success_url": null, "branding": null, "webhook": {"url": null}, "courses": null}`, 1), []catalogue.Configuration{plain}},
		{"empty courses: a catalogue", strings.Replace(least, `false}`, `false, "courses": []}`, 1), []catalogue.Configuration{empty}},
		{"a course of its provider's environment, without an upfront payment", oneCourse, []catalogue.Configuration{course}},
		{"other spellings of the same numbers",
			strings.NewReplacer(`100`, `1.0e2`, `4`, `4.0`).Replace(oneCourse), []catalogue.Configuration{course}},
		{"names in NFC, without white space at the edges",
			strings.Replace(least, `"Kōwhai Institute"`, `"\u00a0Ko\u0304whai Institute "`, 1), []catalogue.Configuration{plain}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := providerfile.Parse([]byte(tt.in))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Parse = %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	in := func(file, old, new string) string { return strings.Replace(file, old, new, 1) }
	const course = "providers[0].courses[0]"
	tests := []struct {
		name, in string
		places   []string
	}{
		{"an empty file", ``, []string{""}},
		{"a file cut off", full[:len(full)-1], []string{""}},
		{"a byte order mark", "\uFEFF" + full, []string{""}},
		{"a list", `[]`, []string{""}},
		{"no providers", `{}`, []string{"providers"}},
		{"providers by name", `{"providers": {"KOWHAI": {}}}`, []string{"providers"}},
		{"a provider that is null", `{"providers": [null]}`, []string{"providers[0]"}},
		{"a field given twice", in(least, `"active"`, `"name": "x", "active"`), []string{"providers[0].name"}},
		{"an unknown field at the top", in(least, `{"providers"`, `{"version": 1, "providers"`), []string{"version"}},
		{"a field in another letter case", in(least, `"name"`, `"Name"`), []string{"providers[0].name", "providers[0].Name"}},
		{"a mistyped field", in(oneCourse, `"active": true`, `"active": true, "upfront": 1`), []string{course + ".upfront"}},
		{"a mistyped webhook field", in(full, `"url"`, `"URL"`), []string{"providers[0].webhook.URL", "providers[0].webhook.url"}},
		{"a mistyped branding field", in(full, `"logo_url"`, `"logo"`), []string{"providers[0].branding.logo"}},
		{"a field whose name would move a cursor", in(least, `"active"`, `"\u001b[2J": 1, "active"`), []string{`providers[0]["\x1b[2J"]`}},
		{"a string for a boolean", in(least, `"active": false`, `"active": "true"`), []string{"providers[0].active"}},
		{"no boolean", in(least, `"active": false, `, ``), []string{"providers[0].active"}},
		{"a number for a name", in(least, `"Kōwhai Institute"`, `1`), []string{"providers[0].name"}},
		{"a name of spaces", in(least, `"Kōwhai Institute"`, `"  "`), []string{"providers[0].name"}},
		{"a name with a line feed at its edge", in(least, `Institute`, `Institute\n`), []string{"providers[0].name"}},
		{"a name with U+0000", in(least, `Institute`, `Institute\u0000`), []string{"providers[0].name"}},
		{"no environment", in(oneCourse, `"environment": "sandbox", `, ``), []string{"providers[0].environment"}},
		{"an unknown environment", in(oneCourse, `"sandbox"`, `"test"`), []string{"providers[0].environment"}},
		{"a string for branding", in(least, `false}`, `false, "branding": "green"}`), []string{"providers[0].branding"}},
		{"a string for a webhook", in(least, `false}`, `false, "webhook": "https://x"}`), []string{"providers[0].webhook"}},
		{"one origin outside a list", in(full, `["https://enrol.kowhai.example", "http://localhost:3000"]`, `"https://enrol.kowhai.example"`),
			[]string{"providers[0].enrolment_origins"}},
		{"an origin that is null", in(full, `"http://localhost:3000"`, `null`), []string{"providers[0].enrolment_origins[1]"}},
		{"a rate of nothing", in(full, `"name":`, `"rate_limit": -1, "name":`), []string{"providers[0].rate_limit"}},
		{"a rate that nobody has", in(full, `"name":`, `"rate_limit": 10001, "name":`), []string{"providers[0].rate_limit"}},
		{"a secret that is a number", in(full, `"whsec_0123456789abcdefgh"`, `1`), []string{"providers[0].webhook.signing_secret"}},
		{"a course that is a string", in(least, `false}`, `false, "courses": ["NZDIP"]}`), []string{course}},
		{"a price in quotation marks", in(oneCourse, `100`, `"100"`), []string{course + ".course_price"}},
		{"no price", in(oneCourse, `"course_price": 100, `, ``), []string{course + ".course_price"}},
		{"a price of nothing", in(oneCourse, `100`, `0`), []string{course + ".course_price"}},
		{"a negative price", in(oneCourse, `100`, `-1`), []string{course + ".course_price"}},
		{"a price in fractions of a cent", in(oneCourse, `100`, `100.001`), []string{course + ".course_price"}},
		{"a price beyond any float", in(oneCourse, `100`, `1e999999`), []string{course + ".course_price"}},
		{"an upfront payment that is unreadable", in(full, `200.00`, `"200"`), []string{course + ".upfront_payment"}},
		{"no plans", in(oneCourse, `"plans"`, `"plan"`), []string{course + ".plans", course + ".plan"}},
		{"empty plans", in(oneCourse, `[{"payment_frequency": "Weekly", "number_of_instalments": 4}]`, `[]`), []string{course + ".plans"}},
		{"a plan that is a number", in(oneCourse, `{"payment_frequency": "Weekly", "number_of_instalments": 4}`, `4`), []string{course + ".plans[0]"}},
		{"half an instalment", in(oneCourse, `4`, `4.5`), []string{course + ".plans[0].number_of_instalments"}},
		{"a plan of no instalments", in(oneCourse, `4`, `0`), []string{course + ".plans[0].number_of_instalments"}},
		{"a plan of no instalments, and an amount", in(oneCourse, `4`, `0, "instalment_amount": 25`),
			[]string{course + ".plans[0].number_of_instalments", course + ".plans[0]"}},
		{"a plan of instalments of nothing", in(full, `120.00`, `0.00`), []string{course + ".plans[1].instalment_amount"}},
		{"a plan of unreadable instalments", in(full, `120.00`, `"120.00"`), []string{course + ".plans[1].instalment_amount"}},
		{"two plans at one frequency", in(full, `Fortnightly`, `Weekly`), []string{course + ".plans[1].payment_frequency"}},
		{"two providers of one code", in(least, `[{`, `[`+strings.TrimSuffix(strings.TrimPrefix(least, `{"providers": [`), `]}`)+`, {`),
			[]string{"providers[1].provider_code"}},
		{"two providers without a code", `{"providers": [
			{"name": "a", "environment": "sandbox", "active": true, "api_enabled": true},
			{"name": "b", "environment": "sandbox", "active": true, "api_enabled": true}]}`,
			[]string{"providers[0].provider_code", "providers[1].provider_code"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			configurations, err := providerfile.Parse([]byte(tt.in))
			var faults providerfile.Faults
			if !errors.As(err, &faults) || configurations != nil {
				t.Fatalf("Parse = %+v, %v; want Faults alone", configurations, err)
			}
			var places []string
			for _, f := range faults {
				places = append(places, f.Place)
			}
			if !slices.Equal(places, tt.places) {
				t.Errorf("faults at %q; want %q\n%v", places, tt.places, err)
			}
		})
	}
}

func TestFaultsReadAsSentences(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"of the whole file", ``, "the file must be JSON, and is empty"},
		{"a single one on one line", `{}`, "providers must be given"},
		{
			"several on a line each",
			strings.NewReplacer(`"KOWHAI"`, `"Kowhai"`, `"active": false`, `"activ": false`).Replace(least),
			`3 faults
  providers[0].active must be given
  providers[0].activ is not a field here; the fields are provider_code, name, account_id, environment, active, api_enabled, ` +
				`success_url, cancel_url, rate_limit, branding, webhook, enrolment_origins, courses
  providers[0].provider_code must be 1 to 32 of A-Z, 0-9, _ and -, and begin with a letter or digit`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := providerfile.Parse([]byte(tt.in)); err == nil || err.Error() != tt.want {
				t.Errorf("Parse = %v; want %s", err, tt.want)
			}
		})
	}
}

// A fault says which record and field to mend, and all faults come at once.
func TestFaultsOfRecordsNameThemInThePlaceOfTheFile(t *testing.T) {
	places := map[string]string{"providers[0]": "Provider A", "providers[1].provider_code": "Provider a02: Code__c", "providers[1].courses[0].course_price": "Course A/X: Price__c"}
	found := providerfile.Faults{{Place: "Provider A: Mode__c", Message: "must be known"}}
	const file = `{"providers": [{"provider_code": "A", "name": "A", "environment": "sandbox", "active": true, "api_enabled": true},
		{"provider_code": "A", "name": "A", "environment": "sandbox", "active": true, "api_enabled": true, "courses": [{"course_code": "X", "course_name": "X",
		"course_price": 1.005, "active": null, "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 4}]}]}]}`
	want := providerfile.Faults{found[0], {Place: "Course A/X: Price__c", Message: "must be a whole number of cents, not 1.005"},
		{Place: "providers[1].courses[0].active", Message: "must be given"},
		{Place: "Provider a02: Code__c", Message: "must be unique: Provider A has the same"}}
	var got providerfile.Faults
	if all, err := providerfile.ParseRecords([]byte(file), places, found); !errors.As(err, &got) || all != nil || !slices.Equal(got, want) {
		t.Errorf("ParseRecords = %v, %v; want %v", all, err, want)
	}
	if all, err := providerfile.ParseRecords([]byte(full), places, found); !errors.As(err, &got) || all != nil || !slices.Equal(got, found) {
		t.Errorf("ParseRecords = %v, %v; want the fault that was found before", all, err)
	}
	all, err := providerfile.ParseRecords([]byte(full), places, nil)
	if same, _ := providerfile.Parse([]byte(full)); err != nil || !reflect.DeepEqual(all, same) {
		t.Errorf("ParseRecords = %+v, %v; want what Parse returns", all, err)
	}
}

func TestFaultsShowNoSecret(t *testing.T) {
	for _, secret := range []string{`"hush"`, `"hush\n0123456789012345678901234"`, `["hush"]`, `{"hush": 1}`} {
		_, err := providerfile.Parse([]byte(strings.Replace(full, `"whsec_0123456789abcdefgh"`, secret, 1)))
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("with the secret %s, Parse = %v; want an error that does not show it", secret, err)
		}
	}
}

// FuzzParse checks that what Parse accepts may be stored, and that what it refuses has faults
// that can be printed.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{full, least, oneCourse, `{"providers":[null,{"courses":[1,{"plans":[{}]}]}]}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		configurations, err := providerfile.Parse(data)
		if err != nil {
			var faults providerfile.Faults
			if !errors.As(err, &faults) || len(faults) == 0 || configurations != nil {
				t.Errorf("Parse(%q) = %v, %v; want Faults alone", data, configurations, err)
			}
			for _, fault := range faults {
				if fault.Message == "" || strings.ContainsAny(fault.Place, "\x00\x1b\r\n") {
					t.Errorf("Parse(%q) has the fault %q", data, fault)
				}
			}
			return
		}
		codes := make(map[string]bool)
		for _, c := range configurations {
			if faults := c.Check(); faults != nil || codes[c.Provider.Code] {
				t.Errorf("Parse accepts %q, with faults %q or a duplicate code", data, faults)
			}
			codes[c.Provider.Code] = true
		}
		if again, err := providerfile.Parse(data); err != nil || catalogue.Diff(configurations, again) != nil {
			t.Errorf("the same file read again differs: %v, %v", catalogue.Diff(configurations, again), err)
		}
	})
}
