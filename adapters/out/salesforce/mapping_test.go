package salesforce_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const mapping = `{"contact": {"fields": {"key": "Our_Key__c"}}, "authority": {"object": "Debit__c", "fields": {"status": "State__c"}},
	"agreement": {"fields": {"authority": "Debit__c", "opportunity": "Enrolment__c"}},
	"stages": {"open": "Application", "complete": "Enrolled", "cancelled": "Left", "withdrawn": "Left"}}`

// renamed is an organisation that names things as the mapping says.
func renamed(schema *salesforcetest.Schema) {
	schema.Rename("Contact.Provider_Checkout_Key__c", "Our_Key__c")
	schema.Rename("Direct_Debit_Authority__c.Status__c", "State__c")
	schema.Rename("Payment_Plan_Agreement__c.Direct_Debit_Authority__c", "Debit__c")
	schema.Rename("Payment_Plan_Agreement__c.Opportunity__c", "Enrolment__c")
	schema.Rename("Direct_Debit_Authority__c", "Debit__c")
	stage := schema.Field("Opportunity.StageName")
	stage.Values, stage.Restricted = []string{"Application", "Enrolled", "Left"}, true
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

func TestAnOrganisationWithOtherNamesIsMapped(t *testing.T) {
	b := newBench(t, inOrganisation(renamed), mapped(t, mapping))
	b.wantLacks(t)
	c := completion(b.opened(t))
	b.completed(t, c)
	if got, err := b.Agreed(t.Context(), key); err != nil || got.Number != c.Agreement.Number {
		t.Errorf("Agreed = %+v, %v; want the agreement", got, err)
	}
	if o := b.sim.Records("Opportunity")[0]; o["StageName"] != "Enrolled" {
		t.Errorf("stage %q, want Enrolled", o["StageName"])
	}
	if d := b.sim.Records("Debit__c")[0]; d["State__c"] != "Authorised" {
		t.Errorf("state %q, want Authorised", d["State__c"])
	}
	end := checkout.Ending{EnrolmentKey: c.EnrolmentKey, Records: c.Records, Withdrawn: true,
		End: checkout.End{At: c.Agreement.AcceptedAt, By: checkout.PartyOperator, Ground: checkout.GroundHardship}}
	if err := b.End(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if o := b.sim.Records("Opportunity")[0]; o["StageName"] != "Left" || o["End__c"] != "withdrawn: hardship" {
		t.Errorf("of a withdrawn enrolment the opportunity is %v", o)
	}
}

// Salesforce takes names in any letter case, and answers with its own.
func TestTheLetterCaseOfAMappingDoesNotMatter(t *testing.T) {
	b := newBench(t, mapped(t, `{"agreement": {"fields": {"number": "agreement_NUMBER__c", "opportunity": "OPPORTUNITY__c",
		"pdf_document_id": "pdf_content_document_id__c"}}, "opportunity": {"fields": {"stage": "stagename"}}}`))
	records := b.opened(t)
	for range 2 {
		b.completed(t, completion(records))
	}
}

func TestAMappingIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                          "the document",
		`[]`:                         "must be an object",
		`{"contacts": {}}`:           "contacts is not known; there are contact, opportunity",
		`{"contact": {"field": {}}}`: "contact.field is not known",
		`{"contact": {"fields": {"phone": "Phone"}}}`:      "contact.fields.phone is not known",
		`{"contact": {"object": "Contact WHERE"}}`:         "contact.object must be the API name",
		`{"contact": {"fields": {"key": 1}}}`:              "contact.fields.key must be the API name",
		`{"contact": {"fields": {"key": "email"}}}`:        "contact.fields.email is Email, as key is",
		`{"stages": {"open": "Closed Won"}}`:               "stages must differ",
		`{"stages": {"open": "@{contact.id}"}}`:            "stages.open must be a value",
		`{"stages": {"withdrawn": "Closed Won"}}`:          "stages.withdrawn must not be the stage of a complete",
		`{"stages": {"complete": "Closed Lost"}}`:          "stages.cancelled must not be the stage of a complete",
		`{"stages": {"open": "A", "open": "B"}}`:           "stages.open",
		`{"stages": {"closed": "A"}, "contact": "Person"}`: "stages.closed is not known",
	} {
		if _, err := salesforce.ParseMapping([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseMapping(%s) = %v, want %q", text, err, want)
		}
	}
}

// wantLacks checks what the organisation lacks.
func (b *bench) wantLacks(t *testing.T, want ...string) {
	t.Helper()
	if got, err := b.Check(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("Check = %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if journal := b.sim.Journal(); len(journal) > 0 {
		t.Errorf("Check wrote %+v", journal)
	}
}

// inOrganisation is a simulator whose schema is changed.
func inOrganisation(change func(*salesforcetest.Schema)) func(*salesforcetest.Options, *salesforce.Options) {
	return func(sim *salesforcetest.Options, _ *salesforce.Options) {
		sim.Schema = salesforcetest.DefaultSchema()
		change(&sim.Schema)
	}
}

func TestCheckSaysWhatAnOrganisationLacks(t *testing.T) {
	b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) { sim.Sandbox = false }, inOrganisation(func(schema *salesforcetest.Schema) {
		schema.Remove("Payment_Plan_Agreement__c")
		schema.Remove("Contact.Environment__c")
		schema.Field("Contact.Provider_Checkout_Key__c").Unique = false
		schema.Field("Opportunity.Provider_Checkout_Key__c").ExternalID = false
		schema.Field("Opportunity.Course_Name__c").Length = 80
		schema.Field("Opportunity.Course_Price__c").Scale = 0
		schema.Field("Opportunity.Upfront_Payment__c").Type = salesforcetest.TypeBoolean
		schema.Field("Direct_Debit_Authority__c.Mandate_Id__c").CreateOnly = true
		schema.Field("Direct_Debit_Authority__c.Status__c").Values = []string{"Authorised"}
		schema.Field("OpportunityContactRole.Provider_Checkout_Key__c").ReadOnly = true
	}))
	b.wantLacks(t,
		"the organisation is neither a sandbox nor a Developer Edition, and the environment is sandbox",
		"field Contact.Provider_Checkout_Key__c is not unique: records would be made twice",
		"field Contact.Environment__c is missing, or the user may not see it",
		"field Opportunity.Provider_Checkout_Key__c is no external id",
		"field Opportunity.Course_Name__c holds 80 characters; it must hold 255",
		"field Opportunity.Course_Price__c holds 18 digits, 0 of them after the point; it must hold 9999999.99",
		"field Opportunity.Upfront_Payment__c has the type boolean; it must be one of currency, double",
		"field OpportunityContactRole.Provider_Checkout_Key__c cannot be written by the user: give the permission set write access to it",
		`field Direct_Debit_Authority__c.Status__c does not have the value "Customer In Progress"`,
		"field Direct_Debit_Authority__c.Mandate_Id__c cannot be written by the user: give the permission set write access to it",
		"object Payment_Plan_Agreement__c is missing, or the user may not see it")
}

// The agreement of an enrolment is found through its opportunity.
func TestCheckWantsALookupForTheOpportunityOfAnAgreement(t *testing.T) {
	newBench(t, inOrganisation(func(schema *salesforcetest.Schema) {
		f := schema.Field("Payment_Plan_Agreement__c.Opportunity__c")
		f.Type, f.ReferenceTo = salesforcetest.TypeString, nil
	})).wantLacks(t, "field Payment_Plan_Agreement__c.Opportunity__c has the type string; it must be one of reference")
}

func TestCheckDoesNotAskToWriteWhatIsOnlyRead(t *testing.T) {
	newBench(t, inOrganisation(func(schema *salesforcetest.Schema) {
		for i := range schema.Objects {
			o := &schema.Objects[i]
			o.ReadOnly = o.ReadOnly || slices.Contains([]string{"Provider_Integration__c", "Course__c", "Course_Plan__c"}, o.Name)
		}
		schema.Field("Course__c.Price__c").ReadOnly = true
		schema.Field("Provider_Integration__c.Pricing_Mode__c").Values = []string{"catalogue"}
	})).wantLacks(t)
}

func TestCheckFindsNothingInAnOrganisationWithTheMetadata(t *testing.T) {
	newBench(t).wantLacks(t)
}
