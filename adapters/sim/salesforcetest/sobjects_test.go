package salesforcetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

func TestARecordIsCreatedReadUpdatedAndDeleted(t *testing.T) {
	b := newBench(t)
	made := b.OK(201, "POST", "sobjects/Contact", contact("mere@example.nz"))
	id := made.Text("id")
	if !strings.HasPrefix(id, "003") || len(id) != 18 || made.At("success") != true ||
		made.Header.Get("Location") != data+"sobjects/Contact/"+id {
		t.Errorf("created: %s %v", made.Raw, made.Header)
	}
	b.sim.Advance(90 * time.Second)
	b.OK(204, "PATCH", "sobjects/contact/"+id[:15], `{"firstname":" Māreikura ","Phone":null}`)
	got := b.OK(200, "GET", "sobjects/Contact/"+id, "")
	for path, want := range map[string]any{"Id": id, "FirstName": "Māreikura", "LastName": "Tau", "Name": "Māreikura Tau", "Phone": nil,
		"CreatedDate": "2027-02-01T00:00:00.000+0000", "LastModifiedDate": "2027-02-01T00:01:30.000+0000", "IsDeleted": false,
		"attributes.type": "Contact", "attributes.url": data + "sobjects/Contact/" + id} {
		if at := got.At(path); at != want {
			t.Errorf("%s = %v, want %v", path, at, want)
		}
	}
	some, _ := b.OK(200, "GET", "sobjects/Contact/"+id+"?fields=Email,Name", "").Body.(simtest.Object)
	if len(some) != 3 || some["Email"] != "mere@example.nz" {
		t.Errorf("two fields = %v", some)
	}
	b.OK(204, "DELETE", "sobjects/Contact/"+id, "")
	b.refused(404, "ENTITY_IS_DELETED", "GET", "sobjects/Contact/"+id, "")
	b.refused(404, "ENTITY_IS_DELETED", "PATCH", "sobjects/Contact/"+id, `{}`)
}

func TestAnUpsertMakesOneRecordAndThenUpdatesIt(t *testing.T) {
	b := newBench(t)
	const path = "sobjects/Contact/Provider_Checkout_Key__c/ab%2F12"
	first := b.OK(201, "PATCH", path, contact("a@example.nz"))
	again := b.OK(200, "PATCH", "sobjects/Contact/provider_checkout_key__c/AB%2f12", `{"LastName":"Other"}`)
	if first.At("created") != true || again.At("created") != false || first.Text("id") != again.Text("id") || first.Text("id") == "" {
		t.Errorf("first %s, again %s; want one id, created once", first.Raw, again.Raw)
	}
	if got := b.OK(200, "GET", path, ""); got.Text("LastName") != "Other" || got.Text("Provider_Checkout_Key__c") != "ab/12" {
		t.Errorf("by its key: %s", got.Raw)
	}
	taken := b.refused(400, "DUPLICATE_VALUE", "POST", "sobjects/Contact", `{"LastName":"Tau","Provider_Checkout_Key__c":"ab/12"}`)
	unknown := b.refused(404, "NOT_FOUND", "GET", "sobjects/Contact/Provider_Checkout_Key__c/other", "")
	if !strings.Contains(string(taken.Raw), `"fields":[]`) || strings.Contains(string(unknown.Raw), "fields") {
		t.Errorf("%s, %s: want fields where the error is of a record, and there alone", taken.Raw, unknown.Raw)
	}
	b.refused(404, "NOT_FOUND", "PATCH", "sobjects/Contact/Email/a@example.nz", `{"LastName":"Tau"}`)
	b.refused(400, "INVALID_FIELD", "PATCH", path, `{"LastName":"Tau","Provider_Checkout_Key__c":"ab/12"}`)
	b.refused(400, "REQUIRED_FIELD_MISSING", "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/new", `{"FirstName":"Mere"}`)
	b.OK(204, "PATCH", "sobjects/Contact/"+first.Text("id"), `{"Provider_Checkout_Key__c":"Ab/12"}`) // still its own
	b.OK(204, "DELETE", "sobjects/Contact/"+first.Text("id"), "")
	b.OK(201, "PATCH", path, contact("a@example.nz"))
}

func TestValuesAreChecked(t *testing.T) {
	b := newBench(t)
	taken := b.create("Contact", `{"LastName":"Tau","Provider_Checkout_Key__c":"taken"}`)
	account := b.create("Account", `{"Name":"Kowhai"}`)
	gone := b.create("Contact", `{"LastName":"Gone"}`)
	b.OK(204, "DELETE", "sobjects/Contact/"+gone, "")
	for _, tt := range []struct{ name, object, body, code, field string }{
		{"a long first name", "Contact", `{"LastName":"Tau","FirstName":"` + strings.Repeat("ā", 41) + `"}`, "STRING_TOO_LONG", "FirstName"},
		{"no last name", "Contact", `{"FirstName":"Mere"}`, "REQUIRED_FIELD_MISSING", "LastName"},
		{"an empty last name", "Contact", `{"LastName":"  "}`, "REQUIRED_FIELD_MISSING", "LastName"},
		{"an unknown field", "Contact", `{"LastName":"Tau","Nickname":"M"}`, "INVALID_FIELD", ""},
		{"an e-mail address that is none", "Contact", `{"LastName":"Tau","Email":"mere"}`, "INVALID_EMAIL_ADDRESS", "Email"},
		{"a key that is taken", "Contact", `{"LastName":"Tau","Provider_Checkout_Key__c":"TAKEN"}`, "DUPLICATE_VALUE", ""},
		{"another environment", "Contact", `{"LastName":"Tau","Environment__c":"Sandbox"}`, "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", "Environment__c"},
		{"a field that is Salesforce's", "Contact", `{"LastName":"Tau","CreatedDate":"2027-02-01T00:00:00Z"}`, "INVALID_FIELD_FOR_INSERT_UPDATE", "CreatedDate"},
		{"an id", "Contact", `{"LastName":"Tau","Id":"` + taken + `"}`, "INVALID_FIELD_FOR_INSERT_UPDATE", "Id"},
		{"a number for a text", "Contact", `{"LastName":7}`, "JSON_PARSER_ERROR", ""},
		{"a name twice in other letters", "Contact", `{"LastName":"Tau","lastname":"Tau"}`, "JSON_PARSER_ERROR", ""},
		{"an id that is none", "Contact", `{"LastName":"Tau","AccountId":"x"}`, "MALFORMED_ID", "AccountId"},
		{"an id of another object", "Contact", `{"LastName":"Tau","AccountId":"` + taken + `"}`, "MALFORMED_ID", "AccountId"},
		{"an id with another suffix", "Contact", `{"LastName":"Tau","AccountId":"` + account[:15] + `555"}`, "MALFORMED_ID", "AccountId"},
		{"an id of no record", "Contact", `{"LastName":"Tau","AccountId":"001000000000000AAA"}`, "INVALID_CROSS_REFERENCE_KEY", ""},
		{"an id of a deleted record", "Direct_Debit_Authority__c", `{"Contact__c":"` + gone + `"}`, "ENTITY_IS_DELETED", ""},
		{"a day that is none", "Opportunity", `{"Name":"x","StageName":"x","CloseDate":"2027-02-30"}`, "JSON_PARSER_ERROR", ""},
		{"a text for a number", "Opportunity", `{"Name":"x","StageName":"x","CloseDate":"2027-02-03","Amount":"much"}`, "JSON_PARSER_ERROR", ""},
		{"a number too large", "Opportunity", `{"Name":"x","StageName":"x","CloseDate":"2027-02-03","Amount":1e16}`, "NUMBER_OUTSIDE_VALID_RANGE", "Amount"},
		{"an endless number", "Opportunity", `{"Name":"x","StageName":"x","CloseDate":"2027-02-03","Amount":1e999999}`, "JSON_PARSER_ERROR", ""},
		{"a number of many digits", "Opportunity", `{"Name":"x","StageName":"x","CloseDate":"2027-02-03","Amount":0.` + strings.Repeat("0", 80) + `}`, "JSON_PARSER_ERROR", ""},
		{"an address with a name", "Contact", `{"LastName":"Tau","Email":"Mere <mere@example.nz>"}`, "INVALID_EMAIL_ADDRESS", "Email"},
		{"a text for a boolean", "Provider_Integration__c", `{"Name":"x","Provider_Code__c":"x","Active__c":"true"}`, "JSON_PARSER_ERROR", ""},
		{"a list", "Contact", `[]`, "JSON_PARSER_ERROR", ""},
	} {
		got := b.refused(400, tt.code, "POST", "sobjects/"+tt.object, tt.body)
		if field := got.Text("0.fields.0"); tt.field != "" && field != tt.field {
			t.Errorf("%s: field %q, want %q", tt.name, field, tt.field)
		}
	}
	if got := b.sim.Statistics().Records; got["Contact"] != 1 || got["Opportunity"] != 0 {
		t.Errorf("%v, want nothing made by a refused call", got)
	}
}

func TestNumbersAndTimesKeepTheirMeaning(t *testing.T) {
	b := newBench(t)
	id := b.create("Opportunity", `{"Name":"x","StageName":"x","CloseDate":"2027-02-01","Amount":"2990.505","Number_Of_Instalments__c":52,
		"Course_Price__c":9007199254740993.21}`)
	got := b.OK(200, "GET", "sobjects/Opportunity/"+id, "")
	for _, want := range []string{`"Amount":2990.51`, `"Number_Of_Instalments__c":52.0`, `"Course_Price__c":9007199254740993.21`, `"Upfront_Payment__c":null`} {
		if !strings.Contains(string(got.Raw), want) {
			t.Errorf("%s\nwant %s in it", got.Raw, want)
		}
	}
	for sent, want := range map[string]string{"2027-02-01T13:00:00+13:00": "2027-02-01T00:00:00.000+0000",
		"2027-02-01T00:00:00.1234Z": "2027-02-01T00:00:00.123+0000", "2027-02-01T00:00:00.000+0000": "2027-02-01T00:00:00.000+0000"} {
		id := b.create("Direct_Debit_Authority__c", `{"Authorised_At__c":"`+sent+`"}`)
		if got := b.OK(200, "GET", "sobjects/Direct_Debit_Authority__c/"+id, ""); got.Text("Authorised_At__c") != want {
			t.Errorf("%s is %s, want %s", sent, got.Text("Authorised_At__c"), want)
		}
	}
}

func TestTheStockDuplicateRule(t *testing.T) {
	b := newBench(t)
	first := b.create("Contact", contact("mere@example.nz"))
	got := b.refused(400, "DUPLICATES_DETECTED", "POST", "sobjects/Contact", contact("Mere@example.nz"))
	if match := "0.duplicateResult.matchResults.0.matchRecords.0.record."; got.Text(match+"Id") != first ||
		got.Text("0.duplicateResult.duplicateRule") == "" || got.At("0.duplicateResult.allowSave") != true {
		t.Errorf("%s, want the contact that is there", got.Raw)
	}
	b.refused(400, "DUPLICATES_DETECTED", "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/k2", contact("mere@example.nz"))
	b.refused(400, "DUPLICATES_DETECTED", "POST", "sobjects/Contact", contact("mere@example.nz"),
		with("Sforce-Duplicate-Rule-Header", "allowSave=false"))
	second := b.create("Contact", contact("mere@example.nz"), allowSave)
	b.OK(204, "PATCH", "sobjects/Contact/"+second, contact("mere@example.nz")) // what stays is no new duplicate
	b.create("Contact", contact("other@example.nz"))
}

func TestAnExternalIDThatSeveralRecordsHaveIsAmbiguous(t *testing.T) {
	b := newBench(t, func(o *options) { o.Schema = schemaWith("Contact.Phone", func(f *field) { f.ExternalID = true }) })
	one := b.create("Contact", `{"LastName":"Tau","Phone":"1"}`)
	two := b.create("Contact", `{"LastName":"Tau","Phone":"1"}`)
	for _, method := range []string{"GET", "PATCH"} {
		got := b.OK(300, method, "sobjects/Contact/Phone/1", `{"LastName":"Other"}`)
		if got.Text("0") != data+"sobjects/Contact/"+one || got.Text("1") != data+"sobjects/Contact/"+two {
			t.Errorf("%s = %s, want both addresses", method, got.Raw)
		}
	}
	if got := b.sim.Records("Contact"); len(got) != 2 || got[0]["LastName"] != "Tau" {
		t.Errorf("contacts = %v, want them as they were", got)
	}
}
