package salesforce_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// fields are the values of a record's fields.
type fields = map[string]any

// add creates a record as an administrator does, and returns its id.
func (b *bench) add(t *testing.T, object string, values fields) string {
	t.Helper()
	id, err := b.org.Insert(object, values)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// configure makes a provider with a catalogue, with everything in it that there can be, and one without.
func (b *bench) configure(t *testing.T) (account string) {
	t.Helper()
	account = b.add(t, "Account", fields{"Name": "Kōwhai Limited"})
	kowhai := b.add(t, "Provider_Integration__c", fields{"Name": "Ko\u0304whai Institute", "Provider_Code__c": "KOWHAI", "Account__c": account,
		"Active__c": true, "API_Enabled__c": true, "Environment__c": "sandbox", "Pricing_Mode__c": "catalogue",
		"Enrolment_Origins__c": "https://enrol.kowhai.example\r\nhttp://localhost:3000\n", "Success_URL__c": "https://enrol.kowhai.example/done",
		"Cancel_URL__c": "https://enrol.kowhai.example/cancelled", "Display_Name__c": "Kōwhai", "Primary_Colour__c": "#1f6f54",
		"Logo_URL__c": "data:image/png;base64,iVBORw0KGgo=", "Support_Email__c": "help@kowhai.example"})
	b.add(t, "Provider_Integration__c", fields{"Name": "Hinau", "Provider_Code__c": "HINAU", "Environment__c": "production",
		"Pricing_Mode__c": "legacy"})
	diploma := b.add(t, "Course__c", fields{"Name": "Diploma", "Course_Code__c": "NZDIP", "Course_Name__c": "Diploma in Business",
		"Provider_Integration__c": kowhai, "Price__c": "2990.51", "Upfront_Payment__c": "200", "Active__c": true, "Environment__c": "sandbox"})
	short := b.add(t, "Course__c", fields{"Name": "Short", "Course_Code__c": "SHORT", "Course_Name__c": "Short course",
		"Provider_Integration__c": kowhai, "Price__c": "9999999.99", "Environment__c": "production"})
	for _, plan := range []fields{
		{"Course__c": short, "Payment_Frequency__c": "Monthly", "Number_Of_Instalments__c": "600"},
		{"Course__c": diploma, "Payment_Frequency__c": "Weekly", "Number_Of_Instalments__c": "52"},
		{"Course__c": diploma, "Payment_Frequency__c": "Fortnightly", "Instalment_Amount__c": "120.05"}} {
		b.add(t, "Course_Plan__c", plan)
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

func TestProviderFileIsWhatTheOrganisationHas(t *testing.T) {
	for _, page := range []int{0, 1} { // records a page
		b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) { sim.QueryPage = page })
		account := b.configure(t)
		want := []catalogue.Configuration{
			{Provider: catalogue.Provider{Code: "HINAU", Name: "Hinau", Environment: catalogue.Production, Mode: catalogue.Legacy}},
			{Provider: catalogue.Provider{Code: "KOWHAI", Name: "Kōwhai Institute", AccountID: account, Environment: catalogue.Sandbox,
				Active: true, APIEnabled: true, EnrolmentOrigins: []string{"https://enrol.kowhai.example", "http://localhost:3000"},
				SuccessURL: "https://enrol.kowhai.example/done", CancelURL: "https://enrol.kowhai.example/cancelled",
				Branding: catalogue.Branding{DisplayName: "Kōwhai", PrimaryColour: "#1f6f54", LogoURL: "data:image/png;base64,iVBORw0KGgo=",
					SupportEmail: "help@kowhai.example"}, Mode: catalogue.Authoritative},
				Courses: []catalogue.Course{
					{Code: "NZDIP", Name: "Diploma in Business", Price: 2990_51, Upfront: 200_00, Active: true, Environment: catalogue.Sandbox,
						Options: []catalogue.Option{{Frequency: money.Weekly, Number: 52}, {Frequency: money.Fortnightly, Amount: 120_05}}},
					{Code: "SHORT", Name: "Short course", Price: 9_999_999_99, Environment: catalogue.Production,
						Options: []catalogue.Option{{Frequency: money.Monthly, Number: 600}}}}},
		}
		got, err := configurations(t, b.CRM)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("pages of %d: %+v, %v; want %+v", page, got, err, want)
		}
	}
}

func TestEveryFaultOfTheConfigurationIsNamedWithItsPlace(t *testing.T) {
	b := newBench(t)
	b.configure(t)
	one := b.add(t, "Provider_Integration__c", fields{"Name": "One", "Provider_Code__c": "ONE", "Environment__c": "production",
		"Pricing_Mode__c": "catalogue", "Enrolment_Origins__c": "https://one.example\nhttps://one.example/", "Primary_Colour__c": "green"})
	two := b.add(t, "Provider_Integration__c", fields{"Name": "Two", "Provider_Code__c": "two words"})
	three := b.add(t, "Provider_Integration__c", fields{"Name": "Three", "Provider_Code__c": "THREE", "Environment__c": "sandbox",
		"Pricing_Mode__c": "legacy"})
	course := func(of, code string) string {
		return b.add(t, "Course__c", fields{"Name": "x", "Course_Name__c": "x", "Provider_Integration__c": of, "Course_Code__c": code,
			"Price__c": "100"})
	}
	spaced, whole, extra := course(one, "TWO WORDS"), course(one, "WHOLE"), course(three, "EXTRA")
	for _, of := range []string{spaced, extra} {
		b.add(t, "Course_Plan__c", fields{"Course__c": of, "Payment_Frequency__c": "Weekly", "Number_Of_Instalments__c": "2"})
	}
	b.add(t, "Course_Plan__c", fields{"Course__c": whole, "Payment_Frequency__c": "Monthly", "Number_Of_Instalments__c": "601"})
	nameless := b.add(t, "Course_Plan__c", fields{"Course__c": whole, "Instalment_Amount__c": "5"})
	if err := b.org.Update(spaced, fields{"Price__c": nil}); err != nil {
		t.Fatal(err)
	}
	_, err := configurations(t, b.CRM)
	var faults providerfile.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("the file has the faults %v, want some", err)
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.Place+" "+f.Message)
	}
	for _, want := range []string{
		"Provider_Integration__c THREE: Pricing_Mode__c must not be legacy: courses belong to the provider",
		"Provider_Integration__c " + two + ": Pricing_Mode__c must say which pricing mode is meant, catalogue or legacy",
		"Provider_Integration__c " + two + ": Environment__c must be given",
		"Provider_Integration__c ONE: Enrolment_Origins__c[1] must be ",
		"Provider_Integration__c ONE: Primary_Colour__c must be a colour",
		"Course__c ONE/" + spaced + ": Price__c must be given",
		"Course_Plan__c ONE/WHOLE/Monthly: Number_Of_Instalments__c must be a whole number from 1 to 600",
		"Course_Plan__c ONE/WHOLE/" + nameless + ": Payment_Frequency__c must be given",
	} {
		if !slices.ContainsFunc(got, func(fault string) bool { return strings.HasPrefix(fault, want) }) {
			t.Errorf("faults\n%s\nlack\n%s", strings.Join(got, "\n"), want)
		}
	}
}

// A record that belongs to a record that the user may not see is no sign of a deletion.
func TestARecordOfAHiddenRecordIsAFault(t *testing.T) {
	b := newBench(t)
	b.configure(t)
	queries := 0
	b.org.Faults(func(c salesforcetest.Call) (f salesforcetest.Fault) {
		if strings.HasSuffix(c.Path, "/query") {
			if queries++; queries == 3 { // of the courses, after the organisation and its providers
				f = salesforcetest.Fault{Kind: salesforcetest.OtherBody, Body: `{"records": [], "done": true}`}
			}
		}
		return f
	})
	_, err := configurations(t, b.CRM)
	if err == nil || !strings.Contains(err.Error(), ": Course__c must be a record that the user may see") {
		t.Errorf("the file without courses has the faults %v, want one of the plans", err)
	}
}

func TestProviderFileOfAnotherEnvironmentIsRefused(t *testing.T) {
	for _, production := range []bool{true, false} {
		b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) { sim.Production = production })
		_, _, _, err := b.ProviderFile(t.Context())
		if refused := errors.Is(err, salesforce.ErrOtherEnvironment); refused != production {
			t.Errorf("ProviderFile of an organisation in production %v = %v in the sandbox", production, err)
		}
		lacks, err := b.CheckMetadata(t.Context())
		if err != nil || (len(lacks) == 1) != production {
			t.Errorf("CheckMetadata of an organisation in production %v = %q, %v in the sandbox", production, lacks, err)
		}
	}
}

func TestConfigurationIsReadByTheNamesOfTheMapping(t *testing.T) {
	mapping := `{"Provider_Integration__c": "Partner__c", "Provider_Integration__c.Account__c": "creditor__c", "Course__c": "Product__c",
		"Course__c.Price__c": "Fee__c"}`
	b := newBench(t, mapped(t, mapping), func(sim *salesforcetest.Options, _ *salesforce.Options) {
		sim.Schema = salesforcetest.DefaultSchema()
		sim.Schema.Field("Provider_Integration__c.Account__c").Name = "Creditor__c"
		sim.Schema.Field("Course__c.Price__c").Name = "Fee__c"
		for _, o := range sim.Schema {
			for _, f := range o.Fields {
				f.To = strings.NewReplacer("Provider_Integration__c", "Partner__c", "Course__c", "Product__c").Replace(f.To)
			}
			o.Name = strings.NewReplacer("Provider_Integration__c", "Partner__c", "Course__c", "Product__c").Replace(o.Name)
		}
	})
	account := b.add(t, "Account", fields{"Name": "Kōwhai"})
	partner := b.add(t, "Partner__c", fields{"Name": "One", "Provider_Code__c": "ONE", "Environment__c": "sandbox",
		"Pricing_Mode__c": "catalogue", "Creditor__c": account})
	product := b.add(t, "Product__c", fields{"Name": "x", "Course_Code__c": "C", "Course_Name__c": "x", "Provider_Integration__c": partner,
		"Fee__c": "100"})
	b.add(t, "Course_Plan__c", fields{"Course__c": product, "Payment_Frequency__c": "Weekly", "Number_Of_Instalments__c": "2"})
	got, err := configurations(t, b.CRM)
	if err != nil || len(got) != 1 || got[0].Provider.AccountID != account || len(got[0].Courses) != 1 || got[0].Courses[0].Price != 100_00 {
		t.Errorf("the file has %+v, %v; want a provider with a course", got, err)
	}
}

func TestCheckMetadataNamesEverythingThatTheOrganisationLacks(t *testing.T) {
	b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) {
		sim.Schema = slices.DeleteFunc(salesforcetest.DefaultSchema(), func(o *salesforcetest.Object) bool { return o.Name == "Course_Plan__c" })
		sim.Schema.Field("Contact.Environment__c").Name = "Other__c"
		sim.Schema.Field("Direct_Debit_Authority__c.Provider_Checkout_Key__c").Unique = false
		sim.Schema.Field("Payment_Plan_Agreement__c.Facts__c").Length = 255
		sim.Schema.Field("Opportunity.Amount").Type = "date"
		sim.Schema.Field("Opportunity.StageName").Values = []string{"Prospecting", "Closed Won"}
		sim.Schema.Field("Opportunity.End__c").CreateOnly = true
	})
	got, err := b.CheckMetadata(t.Context())
	want := []string{
		"field Contact.Environment__c is missing, or the user may not see it",
		"field Opportunity.StageName does not have the value \"Closed Lost\"",
		"field Opportunity.Amount has the type date; it must be one of currency, double",
		"field Opportunity.End__c cannot be written by the user: give the permission set write access to it",
		"field Direct_Debit_Authority__c.Provider_Checkout_Key__c must be unique and an external id: records would be made twice",
		"field Payment_Plan_Agreement__c.Facts__c holds 255 characters; it must hold 131072",
		"object Course_Plan__c is missing, or the user may not see it",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("CheckMetadata = %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	b = newBench(t)
	if got, err := b.CheckMetadata(t.Context()); err != nil || got != nil {
		t.Errorf("CheckMetadata of an organisation with the metadata = %q, %v", got, err)
	}
}

// mapped is a CRM with a mapping.
func mapped(t *testing.T, mapping string) func(*salesforcetest.Options, *salesforce.Options) {
	t.Helper()
	m, err := salesforce.ParseMapping([]byte(mapping))
	if err != nil {
		t.Fatal(err)
	}
	return func(_ *salesforcetest.Options, o *salesforce.Options) { o.Mapping = m }
}

func TestEveryFaultOfAMappingIsNamed(t *testing.T) {
	for mapping, wants := range map[string][]string{
		`[]`:                {"must be an object"},
		`{"Lead": "Lead2"}`: {"Lead is not known"},
		`{"Contact.Phone": "Phone", "Contact.": "X", "stages.other": "Other"}`: {"Contact.Phone is not known",
			"Contact. is not known", "stages.other is not known"},
		`{"Contact": "Contact; DROP", "Contact.Email": 5, "Opportunity": ""}`: {"Contact must be the API name", "Contact.Email must be",
			"Opportunity must be"},
		`{"stages.open": "@{Contact.id}", "stages.complete": " "}`: {"stages.open must be", "stages.complete must be"},
		`{"stages.complete": "Closed Lost"}`:                       {"stages.cancelled must not be", "stages.withdrawn must not be"},
		`{"Contact": "A", "Contact": "B"}`:                         {"Contact"},
	} {
		_, err := salesforce.ParseMapping([]byte(mapping))
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("ParseMapping(%s) = %v, want %q", mapping, err, want)
			}
		}
	}
}
