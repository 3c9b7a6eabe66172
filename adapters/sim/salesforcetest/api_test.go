package salesforcetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

func TestWhatTheAPIDoesNotHave(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"nothing", "sobjects/Contact/003000000000000AAA", "sobjects/Nothing__c/describe",
		"sobjects/Contact/Nothing__c/x", "/services/data/v60.0/limits", "/services/data/vx/limits", "/services/data/v61.0/sobjects//describe",
		"/", "/services", "/simulator"} {
		if got := b.refused(404, "NOT_FOUND", "GET", path, ""); got.Header.Get("Content-Type") != "application/json;charset=UTF-8" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
	b.refused(400, "MALFORMED_ID", "GET", "sobjects/Contact/x", "")
	b.refused(404, "NOT_FOUND", "GET", "sobjects/Account/"+b.create("Contact", contact("a@example.nz")), "")
	got := b.refused(405, "METHOD_NOT_ALLOWED", "PUT", "sobjects/Contact", `{}`)
	if message := got.Text("0.message"); message != "HTTP Method 'PUT' not allowed. Allowed are POST" {
		t.Errorf("message = %q", message)
	}
	b.refused(405, "METHOD_NOT_ALLOWED", "POST", "sobjects/Organization", `{}`)
	b.refused(405, "METHOD_NOT_ALLOWED", "POST", "sobjects/ContentDocument", `{}`)
	if calls := b.sim.Statistics().Calls; calls["other"] != 8 {
		t.Errorf("calls = %v, want 8 of none that there is", calls)
	}
}

func TestBodiesAreReadStrictly(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name, body, media string
		status            int
		code              string
	}{
		{"no body", "", "application/json", 400, "JSON_PARSER_ERROR"},
		{"no media type", contact("a@example.nz"), "", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"another media type", contact("a@example.nz"), "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"torn JSON", contact("a@example.nz")[:20], "application/json", 400, "JSON_PARSER_ERROR"},
		{"something after the JSON", contact("a@example.nz") + "x", "application/json", 400, "JSON_PARSER_ERROR"},
		{"a name given twice", `{"LastName":"a","LastName":"b"}`, "application/json", 400, "JSON_PARSER_ERROR"},
		{"deep nesting", strings.Repeat("[", 50) + strings.Repeat("]", 50), "application/json", 400, "JSON_PARSER_ERROR"},
	} {
		b.refused(tt.status, tt.code, "POST", "sobjects/Contact", tt.body, with("Content-Type", tt.media))
	}
	tooMuch := file("", `,"Title":"`+strings.Repeat("x", 51<<20)+`"`)
	if w := ask(b.sim, b.token, "POST", data+"sobjects/ContentVersion", "application/json", tooMuch); w.Code != 413 {
		t.Errorf("too much: %d %.200s", w.Code, w.Body)
	}
	b.create("Contact", contact("a@example.nz"), with("Content-Type", "application/json; charset=utf-8"))
	if got := b.sim.Statistics().Records["Contact"]; got != 1 {
		t.Errorf("%d contacts, want the last one alone", got)
	}
}

func TestVersionsAndObjects(t *testing.T) {
	b := newBench(t)
	got := b.OK(200, "GET", "/services/data", "", with("Authorization", ""))
	if got.Text("0.version") != "61.0" || got.Text("4.url") != "/services/data/v65.0" {
		t.Errorf("versions = %s", got.Raw)
	}
	if got := b.OK(200, "GET", "sobjects", ""); !strings.Contains(string(got.Raw), `"name":"Payment_Plan_Agreement__c"`) {
		t.Errorf("objects = %s", got.Raw)
	}
}

func TestADescribeSaysWhatTheAPIChecks(t *testing.T) {
	b := newBench(t)
	fields := map[string]simtest.Reply{}
	all, _ := b.OK(200, "GET", "sobjects/Opportunity/describe", "").At("fields").([]any)
	role, _ := b.OK(200, "GET", "sobjects/OpportunityContactRole/describe", "").At("fields").([]any)
	for _, f := range append(all, role...) {
		fields[simtest.Reply{Body: f}.Text("name")] = simtest.Reply{Body: f}
	}
	for _, tt := range []struct {
		field, about string
		want         any
	}{
		{"Name", "nillable", false}, {"Name", "length", 120.0}, {"Amount", "type", "currency"}, {"Amount", "scale", 2.0},
		{"AccountId", "relationshipName", "Account"}, {"AccountId", "referenceTo.0", "Account"}, {"Course__c", "relationshipName", "Course__r"},
		{"CreatedDate", "createable", false}, {"OpportunityId", "updateable", false}, {"OpportunityId", "createable", true},
		{"Provider_Checkout_Key__c", "externalId", true}, {"Provider_Checkout_Key__c", "unique", true}, {"Provider_Checkout_Key__c", "custom", true},
		{"Environment__c", "restrictedPicklist", true}, {"Environment__c", "picklistValues.1.value", "production"},
		{"StageName", "restrictedPicklist", false}, {"Name", "relationshipName", nil},
	} {
		if got := fields[tt.field].At(tt.about); got != tt.want {
			t.Errorf("%s of %s = %v, want %v", tt.about, tt.field, got, tt.want)
		}
	}
}

func TestAnOrganisationMayDiffer(t *testing.T) {
	schema := salesforcetest.DefaultSchema()
	schema.Rename("Direct_Debit_Authority__c", "Mandate__c")
	schema.Rename("Contact.Provider_Checkout_Key__c", "Student_Key__c")
	schema.Remove("Course__c")
	schema.Remove("Contact.Phone")
	schema.Add("Contact", field{Name: "Iwi__c", Type: salesforcetest.TypeString, Length: 5, Required: true})
	schema.Field("Contact.FirstName").Length = 3
	b := newBench(t, func(o *options) { o.Schema = schema })
	b.OK(201, "PATCH", "sobjects/Contact/Student_Key__c/k", `{"LastName":"Tau","FirstName":"Ana","Iwi__c":"Ngāti"}`)
	b.refused(404, "NOT_FOUND", "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/k", `{"LastName":"Tau"}`)
	b.refused(400, "STRING_TOO_LONG", "POST", "sobjects/Contact", `{"LastName":"Tau","FirstName":"Mere","Iwi__c":"x"}`)
	b.refused(400, "REQUIRED_FIELD_MISSING", "POST", "sobjects/Contact", `{"LastName":"Tau"}`)
	b.refused(400, "INVALID_FIELD", "POST", "sobjects/Contact", `{"LastName":"Tau","Phone":"1","Iwi__c":"x"}`)
	b.refused(404, "NOT_FOUND", "POST", "sobjects/Course__c", `{"Name":"x"}`)
	b.refused(400, "INVALID_FIELD", "POST", "sobjects/Opportunity", `{"Name":"x","Course__c":null}`)
	authority := b.create("Mandate__c", `{"Status__c":"Authorised"}`)
	b.create("Payment_Plan_Agreement__c", `{"Agreement_Number__c":"1","Direct_Debit_Authority__c":"`+authority+`"}`)
	if fresh := salesforcetest.DefaultSchema(); fresh.Field("Contact.FirstName").Length != 40 {
		t.Error("a change of one schema has changed the default")
	}
}

func TestASchemaThatNoOrganisationHasPanics(t *testing.T) {
	panics := func(name string, do func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		do()
	}
	schema := salesforcetest.DefaultSchema()
	panics("an unknown object", func() { schema.Remove("Nothing__c") })
	panics("an unknown field", func() { schema.Rename("Contact.Nothing__c", "x") })
	twice := func(change func(*salesforcetest.Schema)) func() {
		return func() {
			s := salesforcetest.DefaultSchema()
			change(&s)
			salesforcetest.New(options{ClientID: clientID, ClientSecret: clientSecret, Schema: s}).Close()
		}
	}
	panics("a field twice", twice(func(s *salesforcetest.Schema) { s.Rename("Contact.Phone", "email") }))
	panics("an object twice", twice(func(s *salesforcetest.Schema) { s.Rename("Course__c", "contact") }))
	panics("no prefix", twice(func(s *salesforcetest.Schema) { s.Objects[0].Prefix = "" }))
	panics("no client", func() { salesforcetest.New(options{ClientSecret: clientSecret}) })
	panics("no secret and no key", func() { salesforcetest.New(options{ClientID: clientID}) })
}

func TestTheLimitOfADay(t *testing.T) {
	b := newBench(t, func(o *options) { o.DailyLimit = 3 })
	for _, used := range []string{"1/3", "2/3", "3/3"} {
		if got := b.OK(200, "GET", "sobjects", "").Header.Get("Sforce-Limit-Info"); got != "api-usage="+used {
			t.Errorf("Sforce-Limit-Info = %q, want %s", got, used)
		}
	}
	got := b.refused(403, "REQUEST_LIMIT_EXCEEDED", "POST", "sobjects/Contact", contact("a@example.nz"))
	if got.Header.Get("Sforce-Limit-Info") != "api-usage=3/3" || b.sim.Statistics().Records["Contact"] != 0 {
		t.Errorf("%v, want nothing done", got.Header)
	}
	b.sim.Advance(24 * time.Hour)
	b.signIn()
	if got := b.OK(200, "GET", "limits", ""); got.At("DailyApiRequests.Max") != 3.0 || got.At("DailyApiRequests.Remaining") != 2.0 {
		t.Errorf("limits = %s, want 2 of 3 left on the next day", got.Raw)
	}
}

func TestIDsAreSalesforces(t *testing.T) {
	b := newBench(t)
	seen := map[string]bool{}
	for range 70 { // more than digits
		id := b.create("Contact", `{"LastName":"Tau"}`)
		if seen[strings.ToLower(id)] || len(id) != 18 {
			t.Errorf("id %s is there twice whatever the letter case, or has another length", id)
		}
		seen[strings.ToLower(id)] = true
		b.OK(200, "GET", "sobjects/Contact/"+id[:15], "")
		b.OK(200, "GET", "sobjects/Contact/"+id[:15]+strings.ToLower(id[15:]), "")
	}
}
