package salesforce_test

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// add creates a record over the organisation's API, as an administrator's tool does, and returns its id.
func add(client *simtest.Client, object, fields string) string {
	client.Helper()
	return client.OK(http.StatusCreated, http.MethodPost, object, fields).Text("id")
}

// configure makes a provider with a catalogue, with everything in it that there can be, and one without.
func (b *bench) configure(t *testing.T) (account string) {
	t.Helper()
	client := b.administrator(t)
	account = add(client, "Account", `{"Name":"Kōwhai Limited"}`)
	kowhai := add(client, "Provider_Integration__c", `{"Name":"Ko\u0304whai Institute","Provider_Code__c":"KOWHAI","Account__c":"`+account+`",
		"Active__c":true,"API_Enabled__c":true,"Environment__c":"sandbox","Pricing_Mode__c":"catalogue",
		"Enrolment_Origins__c":"https://enrol.kowhai.example\r\nhttp://localhost:3000\n","Success_URL__c":"https://enrol.kowhai.example/done",
		"Cancel_URL__c":"https://enrol.kowhai.example/cancelled","Display_Name__c":"Kōwhai","Primary_Colour__c":"#1f6f54",
		"Logo_URL__c":"https://kowhai.example/logo.png","Support_Email__c":"help@kowhai.example","Notice_Days__c":2}`)
	add(client, "Provider_Integration__c", `{"Name":"Hinau","Provider_Code__c":"HINAU","Environment__c":"production","Pricing_Mode__c":"legacy"}`)
	diploma := add(client, "Course__c", `{"Name":"Diploma","Course_Code__c":"NZDIP","Course_Name__c":"Diploma in Business",
		"Provider_Integration__c":"`+kowhai+`","Price__c":2990.51,"Upfront_Payment__c":200,"Active__c":true}`)
	short := add(client, "Course__c", `{"Name":"Short","Course_Code__c":"SHORT","Course_Name__c":"Short course",
		"Provider_Integration__c":"`+kowhai+`","Price__c":9999999.99,"Environment__c":"production"}`)
	for _, plan := range []string{`"Course__c":"` + short + `","Payment_Frequency__c":"Monthly","Number_Of_Instalments__c":600`,
		`"Course__c":"` + diploma + `","Payment_Frequency__c":"Weekly","Number_Of_Instalments__c":52`,
		`"Course__c":"` + diploma + `","Payment_Frequency__c":"Fortnightly","Instalment_Amount__c":120.05`} {
		add(client, "Course_Plan__c", "{"+plan+"}")
	}
	return account
}

// configurations returns what the reader of provider files makes of the organisation's one.
func configurations(t *testing.T, crm *salesforce.CRM) ([]catalogue.Configuration, error) {
	t.Helper()
	file, places, faults, err := crm.ProviderFile(t.Context())
	if err != nil {
		return nil, err
	}
	return providerfile.ParseRecords(file, places, faults)
}

func TestConfigurationsAreWhatTheOrganisationHas(t *testing.T) {
	for _, page := range []int{0, 1} { // records a page
		b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) { sim.QueryPage = page })
		account := b.configure(t)
		want := []catalogue.Configuration{
			{Provider: catalogue.Provider{Code: "HINAU", Name: "Hinau", Environment: catalogue.Production, Mode: catalogue.Legacy}},
			{Provider: catalogue.Provider{Code: "KOWHAI", Name: "Kōwhai Institute", AccountID: account, Environment: catalogue.Sandbox, Active: true,
				APIEnabled: true, EnrolmentOrigins: []string{"https://enrol.kowhai.example", "http://localhost:3000"},
				SuccessURL: "https://enrol.kowhai.example/done", CancelURL: "https://enrol.kowhai.example/cancelled", NoticeDays: 2,
				Branding: catalogue.Branding{DisplayName: "Kōwhai", PrimaryColour: "#1f6f54", LogoURL: "https://kowhai.example/logo.png",
					SupportEmail: "help@kowhai.example"}, Mode: catalogue.Authoritative},
				Courses: []catalogue.Course{
					{Code: "NZDIP", Name: "Diploma in Business", Price: 2990_51, Upfront: 200_00, Active: true, Environment: catalogue.Sandbox,
						Options: []catalogue.Option{{Frequency: money.Weekly, Number: 52}, {Frequency: money.Fortnightly, Amount: 120_05}}},
					{Code: "SHORT", Name: "Short course", Price: 9_999_999_99, Environment: catalogue.Production,
						Options: []catalogue.Option{{Frequency: money.Monthly, Number: 600}}}}},
		}
		got, err := configurations(t, b.CRM)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("pages of %d: Configurations = %+v, %v; want %+v", page, got, err, want)
		}
	}
}

func TestEveryFaultOfTheConfigurationIsNamedWithItsPlace(t *testing.T) {
	b := newBench(t, inOrganisation(func(s *salesforcetest.Schema) { s.Field("Course__c.Price__c").Scale = 3 }))
	b.configure(t)
	client := b.administrator(t)
	one := add(client, "Provider_Integration__c", `{"Name":"One","Provider_Code__c":"ONE","Environment__c":"production","Pricing_Mode__c":"catalogue",
		"Enrolment_Origins__c":"https://one.example\nhttps://one.example/","Success_URL__c":"http://one.example","Notice_Days__c":31,"Primary_Colour__c":"green"}`)
	two := add(client, "Provider_Integration__c", `{"Name":"Two","Provider_Code__c":"two words"}`)
	three := add(client, "Provider_Integration__c", `{"Name":"Three","Provider_Code__c":"THREE","Environment__c":"sandbox","Pricing_Mode__c":"legacy"}`)
	course := func(of, code, more string) string {
		return add(client, "Course__c", `{"Name":"x","Course_Name__c":"x","Provider_Integration__c":"`+of+`","Course_Code__c":"`+code+`"`+more+`}`)
	}
	course(one, "NONE", `,"Price__c":10.005`)
	spaced := course(one, "TWO WORDS", `,"Price__c":100,"Upfront_Payment__c":100`)
	whole := course(one, "WHOLE", `,"Price__c":100`)
	extra := course(three, "EXTRA", `,"Price__c":100`)
	plan := func(of, more string) string {
		return add(client, "Course_Plan__c", `{"Course__c":"`+of+`"`+more+`}`)
	}
	free := course(two, "FREE", "")
	for _, of := range []string{spaced, extra, free} {
		plan(of, `,"Payment_Frequency__c":"Weekly","Number_Of_Instalments__c":2`)
	}
	plan(whole, `,"Payment_Frequency__c":"Weekly","Number_Of_Instalments__c":601`)
	plan(whole, `,"Payment_Frequency__c":"Monthly","Number_Of_Instalments__c":6,"Instalment_Amount__c":5`)
	nameless := plan(whole, `,"Instalment_Amount__c":0`)

	_, err := configurations(t, b.CRM)
	var faults providerfile.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("Configurations = %v, want faults", err)
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.Place+" "+f.Message)
		if !strings.Contains(err.Error(), f.Place+" "+f.Message) {
			t.Errorf("%v lacks %v", err, f)
		}
	}
	want := []string{
		"Provider_Integration__c THREE: Pricing_Mode__c must not be legacy: courses belong to the provider",
		"Provider_Integration__c " + two + ": Pricing_Mode__c must say which pricing mode is meant, catalogue or legacy",
		"Provider_Integration__c ONE: Notice_Days__c must be a whole number from 1 to 30",
		"Course__c ONE/NONE: Price__c must be a whole number of cents",
		"Course_Plan__c ONE/WHOLE/Weekly: Number_Of_Instalments__c must be a whole number from 1 to 600",
		"Course_Plan__c ONE/WHOLE/" + nameless + ": Payment_Frequency__c must be given",
		"Course_Plan__c ONE/WHOLE/" + nameless + ": Instalment_Amount__c must be above zero",
		"Provider_Integration__c " + two + ": Environment__c must be given",
		"Course__c " + two + "/FREE: Price__c must be given",
		"Provider_Integration__c ONE: Enrolment_Origins__c[1] must be scheme://host[:port] with nothing after it, not even a slash",
		"Provider_Integration__c ONE: Success_URL__c must begin with https://",
		"Provider_Integration__c ONE: Primary_Colour__c must be a colour written as #rrggbb",
		"Course__c ONE/NONE: Course_Plan__c must hold at least one plan",
		"Course__c ONE/" + spaced + ": Upfront_Payment__c must be below the course price of 100.00",
		"Course_Plan__c ONE/WHOLE/Monthly must fix number_of_instalments or instalment_amount, not both",
		"Provider_Integration__c " + two + ": Provider_Code__c must be 1 to 32 of A-Z, 0-9, _ and -, and begin with a letter or digit",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestConfigurationsAreReadByTheNamesOfTheMapping(t *testing.T) {
	b := newBench(t, mapped(t, `{"provider": {"object": "Partner__c", "fields": {"account_id": "creditor__c", "display_name": "Name"}},
		"course": {"object": "Product__c", "fields": {"provider": "Partner__c", "course_price": "Fee__c"}}}`), inOrganisation(func(schema *salesforcetest.Schema) {
		schema.Rename("Course__c.Provider_Integration__c", "Partner__c")
		schema.Rename("Course__c.Price__c", "Fee__c")
		schema.Field("Course__c.Partner__c").Required = false
		schema.Rename("Course__c", "Product__c")
		schema.Rename("Provider_Integration__c", "Partner__c")
		schema.Add("Partner__c", salesforcetest.Field{Name: "Creditor__c", Type: salesforcetest.TypeString, Length: 80})
	}))
	b.wantLacks(t)
	client := b.administrator(t)
	partner := add(client, "Partner__c", `{"Name":"Rata","Provider_Code__c":"RATA","Environment__c":"sandbox","Pricing_Mode__c":"catalogue","Creditor__c":"CR1"}`)
	product := add(client, "Product__c", `{"Name":"x","Course_Code__c":"A","Course_Name__c":"A","Partner__c":"`+partner+`","Fee__c":10}`)
	add(client, "Product__c", `{"Name":"of nobody","Course_Code__c":"B"}`)
	add(client, "Course_Plan__c", `{"Course__c":"`+product+`","Payment_Frequency__c":"Weekly","Number_Of_Instalments__c":2}`)
	all, err := configurations(t, b.CRM)
	if err != nil || len(all) != 1 || all[0].Provider.AccountID != "CR1" || all[0].Provider.Branding.DisplayName != "Rata" ||
		len(all[0].Courses) != 1 || all[0].Courses[0].Price != 10_00 {
		t.Errorf("Configurations = %+v, %v", all, err)
	}
}

func TestConfigurationsSurviveLostAnswers(t *testing.T) {
	b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) { sim.QueryPage = 1 })
	b.configure(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultResetAfter, Method: "GET", Path: "/services/data/*/query", Times: 2})
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultError, Method: "GET", Path: "/services/data/*/query/*", Times: 2})
	if all, err := configurations(t, b.CRM); err != nil || len(all) != 2 {
		t.Errorf("Configurations = %+v, %v", all, err)
	}
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultError, Method: "GET", Path: "/services/data/*/query/*"})
	if all, err := configurations(t, b.CRM); err == nil {
		t.Errorf("Configurations = %+v without its further pages", all)
	}
}

// isSandbox is a sandbox's description of itself.
const isSandbox = `{"done":true,"records":[{"IsSandbox":true,"OrganizationType":"Enterprise Edition"}]}`

// A sandbox that was copied from production has its providers, with the prices of then.
func TestAnOrganisationOfTheOtherEnvironmentConfiguresNothing(t *testing.T) {
	b := newBench(t, func(sim *salesforcetest.Options, o *salesforce.Options) { sim.Sandbox = false })
	b.configure(t)
	all, err := configurations(t, b.CRM)
	const want = "the organisation is neither a sandbox nor a Developer Edition, and the environment is sandbox"
	if !errors.Is(err, salesforce.ErrOtherEnvironment) || !strings.Contains(err.Error(), want) {
		t.Errorf("Configurations = %v, %v; want %q", all, err, want)
	}
}

// answeredBy returns a CRM whose queries are answered by what they ask of.
func answeredBy(t *testing.T, answers map[string]string) *salesforce.CRM {
	t.Helper()
	return newTransported(t, func(r *http.Request) (int, string) {
		if strings.Contains(r.URL.RawQuery, "FROM+Organization") {
			return http.StatusOK, isSandbox
		}
		for object, answer := range answers {
			if strings.Contains(r.URL.Query().Get("q"), " FROM "+object+" ") {
				return http.StatusOK, answer
			}
		}
		return http.StatusOK, `{"done":true,"records":[]}`
	})
}

// Records of an answer.
const (
	provider = `{"Id":"a02000000000001AAA","Provider_Code__c":"A","Name":"A","Account__c":null,"Environment__c":"sandbox","Active__c":true,
		"API_Enabled__c":true,"Pricing_Mode__c":"catalogue","Enrolment_Origins__c":null,"Success_URL__c":null,"Cancel_URL__c":null,
		"Display_Name__c":null,"Primary_Colour__c":null,"Logo_URL__c":null,"Support_Email__c":null,"Notice_Days__c":null}`
	course = `{"attributes":{"type":"Course__c"},"Id":"a03000000000001AAA","Provider_Integration__c":"a02000000000001AAA","Course_Code__c":"A",
		"Course_Name__c":"A","Price__c":1.0,"Upfront_Payment__c":null,"Active__c":true,"Environment__c":null}`
	plan = `{"Id":"a04000000000001AAA","Course__c":"a03000000000001AAA","Payment_Frequency__c":"Weekly","Number_Of_Instalments__c":2.0,
		"Instalment_Amount__c":null}`
)

// holding returns a CRM of an organisation with these records in which texts are replaced, old and new by turns.
func holding(t *testing.T, replaced ...string) *salesforce.CRM {
	t.Helper()
	answers := map[string]string{"Provider_Integration__c": provider, "Course__c": course, "Course_Plan__c": plan}
	for object, records := range answers {
		answers[object] = `{"done":true,"records":[` + strings.NewReplacer(replaced...).Replace(records) + `]}`
	}
	return answeredBy(t, answers)
}

func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	least := catalogue.Configuration{
		Provider: catalogue.Provider{Code: "A", Name: "A", Environment: catalogue.Sandbox, Active: true, APIEnabled: true, Mode: catalogue.Authoritative},
		Courses: []catalogue.Course{{Code: "A", Name: "A", Price: 1_00, Active: true, Environment: catalogue.Sandbox,
			Options: []catalogue.Option{{Frequency: money.Weekly, Number: 2}}}}}
	with := func(change func(*catalogue.Configuration, *catalogue.Course)) catalogue.Configuration {
		c := least
		c.Courses = slices.Clone(least.Courses)
		change(&c, &c.Courses[0])
		return c
	}
	for name, tt := range map[string]struct {
		replaced []string
		want     catalogue.Configuration
	}{
		"only what must be there": {nil, least},
		"empty texts are absent": {[]string{`"Environment__c":null`, `"Environment__c":""`, `"Logo_URL__c":null`, `"Logo_URL__c":""`,
			`"Enrolment_Origins__c":null`, `"Enrolment_Origins__c":" \r\n"`}, least},
		"numbers by their value": {[]string{`"Price__c":1.0`, `"Price__c":10e-1`, `:2.0`, `:0.2E+1`,
			`"Upfront_Payment__c":null`, `"Upfront_Payment__c":-0.000`}, least},
		"letters that JSON may escape": {[]string{`"Course_Name__c":"A"`, `"Course_Name__c":"<o\u0304 & \"\\>"`},
			with(func(_ *catalogue.Configuration, c *catalogue.Course) { c.Name = `<ō & "\>` })},
		"a course of another environment": {[]string{`"Environment__c":null`, `"Environment__c":"production"`},
			with(func(_ *catalogue.Configuration, c *catalogue.Course) { c.Environment = catalogue.Production })},
		"a catalogue without a course": {[]string{course, "", plan, ""}, with(func(c *catalogue.Configuration, _ *catalogue.Course) { c.Courses = nil })},
		"no catalogue": {[]string{course, "", plan, "", `"catalogue"`, `"legacy"`},
			with(func(c *catalogue.Configuration, _ *catalogue.Course) {
				c.Courses, c.Provider.Mode = nil, catalogue.Legacy
			})},
	} {
		got, err := configurations(t, holding(t, tt.replaced...))
		if err != nil || !reflect.DeepEqual(got, []catalogue.Configuration{tt.want}) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tt.want)
		}
	}
}

func TestValuesThatNoRecordShouldHaveAreRefusedWithTheirPlace(t *testing.T) {
	second := func(record, id string) string { return record + "," + strings.Replace(record, "000001AAA", id, 1) }
	for _, tt := range []struct{ old, new, want string }{
		{`"Price__c":1.0`, `"Price__c":1e999999`, "Course__c A/A: Price__c must be at most 9999999.99"},
		{`"Price__c":1.0`, `"Price__c":"1.0"`, "Course__c A/A: Price__c must be a number of dollars, such as 1250.00"},
		{`"Price__c":1.0`, `"Price__c":null`, "Course__c A/A: Price__c must be given"},
		{`"Upfront_Payment__c":null`, `"Upfront_Payment__c":true`,
			"Course__c A/A: Upfront_Payment__c must be a number of dollars, such as 1250.00"},
		{`:2.0`, `:2.5`, "Course_Plan__c A/A/Weekly: Number_Of_Instalments__c must be a whole number from 1 to 600"},
		{`"Weekly"`, `7`, "Course_Plan__c A/A/7: Payment_Frequency__c must be a string"},
		{`"Name":"A"`, `"Name":false`, "Provider_Integration__c A: Name must be a string"},
		{`"Name":"A"`, `"Name":"` + strings.Repeat("x", 1_000_000) + `"`,
			"Provider_Integration__c A: Name must be at most 255 characters, not 1000000"},
		{`"Name":"A"`, `"Name":"a\u0000b"`, "Provider_Integration__c A: Name must not contain control characters"},
		{`"Display_Name__c":null`, `"Display_Name__c":1`, "Provider_Integration__c A: Display_Name__c must be a string"},
		{`"API_Enabled__c":true`, `"API_Enabled__c":"true"`, "Provider_Integration__c A: API_Enabled__c must be true or false"},
		{`"API_Enabled__c":true`, `"API_Enabled__c":null`, "Provider_Integration__c A: API_Enabled__c must be given"},
		{`"Enrolment_Origins__c":null`, `"Enrolment_Origins__c":12`,
			"Provider_Integration__c A: Enrolment_Origins__c[0] must be an absolute URL, such as https://example.com/page"},
		{`"catalogue"`, `true`, "Provider_Integration__c A: Pricing_Mode__c must say which pricing mode is meant, catalogue or legacy"},
		{`"catalogue"`, `"legacy"`, "Provider_Integration__c A: Pricing_Mode__c must not be legacy: courses belong to the provider"},
		{`"Provider_Code__c":"A"`, `"Provider_Code__c":null`, "Provider_Integration__c a02000000000001AAA: Provider_Code__c must be given"},
		{`"Course__c":"a03000000000001AAA"`, `"Course__c":"a03000000000009AAA"`,
			"2 faults\n  Course_Plan__c a04000000000001AAA: Course__c must be a record that the user may see\n" +
				"  Course__c A/A: Course_Plan__c must hold at least one plan"},
		{provider, second(provider, "000002AAA"), // an organisation's field may not be unique
			"Provider_Integration__c a02000000000002AAA: Provider_Code__c must be unique: Provider_Integration__c A has the same"},
		{course, second(course, "000002AAA"),
			"2 faults\n  Course__c A/a03000000000002AAA: Course_Plan__c must hold at least one plan\n" +
				"  Course__c A/a03000000000002AAA: Course_Code__c must be unique within the provider: \"A\" is given twice"},
		{plan, second(plan, "000002AAA"),
			"Course_Plan__c A/A/a04000000000002AAA: Payment_Frequency__c must be unique within the course: Weekly is given twice"},
	} {
		if all, err := configurations(t, holding(t, tt.old, tt.new)); err == nil || err.Error() != tt.want {
			t.Errorf("with %.100s: %v, %v; want %q", tt.new, all, err, tt.want)
		}
	}
}

func TestAnAnswerThatCannotBeTrustedConfiguresNothing(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want string }{
		"a course of a provider that is not seen": {`{"done":true,"records":[` + course + `]}`,
			"Course__c a03000000000001AAA: Provider_Integration__c must be a record that the user may see"},
		"a field is missing":      {`{"done":true,"records":[` + strings.Replace(course, `"Price__c":1.0,`, "", 1) + `]}`, "has no Price__c"},
		"a field comes twice":     {`{"done":true,"records":[` + strings.Replace(course, "{", `{"Active__c":false,`, 1) + `]}`, "is not well-formed"},
		"no id":                   {`{"done":true,"records":[` + strings.Replace(course, "a03000000000001AAA", "../x", 1) + `]}`, "has no id"},
		"pages without an end":    {`{"done":false,"records":[],"nextRecordsUrl":"/services/data/v61.0/query/01g-1"}`, "where it goes on"},
		"a page somewhere else":   {`{"done":false,"records":[` + course + `],"nextRecordsUrl":"https://evil.example/"}`, "where it goes on"},
		"a page of another thing": {`{"done":false,"records":[` + course + `],"nextRecordsUrl":"/services/data/v61.0/sobjects/Contact"}`, "where it goes on"},
		"no page after this one":  {`{"done":false,"records":[` + course + `]}`, "where it goes on"},
	} {
		all, err := configurations(t, answeredBy(t, map[string]string{"Course__c": tt.answer}))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Configurations = %v, %v; want %q", name, all, err, tt.want)
		}
	}
}

// A query that goes on and on is not followed for ever.
func TestHowMuchConfigurationThereIsHasABound(t *testing.T) {
	page := `{"done":false,"records":[` + strings.Repeat(course+",", 499) + course + `],"nextRecordsUrl":"/services/data/v61.0/query/01g-1"}`
	pages := 0
	c := newTransported(t, func(r *http.Request) (int, string) {
		if strings.Contains(r.URL.RawQuery, "FROM+Organization") {
			return http.StatusOK, isSandbox
		}
		if pages++; strings.Contains(r.URL.Query().Get("q"), " FROM Provider_Integration__c ") || pages > 100 {
			return http.StatusOK, `{"done":true,"records":[]}`
		}
		return http.StatusOK, page
	})
	if all, err := configurations(t, c); err == nil || !strings.Contains(err.Error(), "more than 20000 records of Course__c") {
		t.Errorf("Configurations = %v, %v", all, err)
	}
}
