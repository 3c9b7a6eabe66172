package salesforcetest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

// part is one subrequest.
func part(id, method, path, body string) string {
	if !strings.HasPrefix(path, "/") {
		path = data + path
	}
	if body != "" {
		body = `,"body":` + body
	}
	return fmt.Sprintf(`{"method":%q,"url":%q,"referenceId":%q%s}`, method, path, id, body)
}

// unit is a composite request of which all must succeed.
func unit(parts ...string) string {
	return `{"allOrNone":true,"compositeRequest":[` + strings.Join(parts, ",") + `]}`
}

// single is a composite request whose parts stand for themselves.
func single(parts ...string) string {
	return `{"compositeRequest":[` + strings.Join(parts, ",") + `]}`
}

// composite sends a composite request and returns the status, and the code of the error, of each part.
func (b *bench) composite(body string, edits ...simtest.Edit) (got simtest.Reply, results string) {
	b.Helper()
	got = b.OK(200, "POST", "composite", body, edits...)
	list, _ := got.At("compositeResponse").([]any)
	var all []string
	for _, p := range list {
		p := simtest.Reply{Body: p}
		all = append(all, strings.TrimSpace(fmt.Sprint(p.At("httpStatusCode"), " ", p.Text("body.0.errorCode"))))
	}
	return got, strings.Join(all, ", ")
}

// opening are the parts that open an enrolment.
func opening() []string {
	return []string{
		part("contact", "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/c1", contact("mere@example.nz")),
		part("enrolment", "PATCH", "sobjects/Opportunity/Provider_Checkout_Key__c/o1", opportunityBody),
		part("role", "PATCH", "sobjects/OpportunityContactRole/Provider_Checkout_Key__c/r1",
			`{"ContactId":"@{contact.id}","OpportunityId":"@{enrolment.id}"}`),
		part("authority", "PATCH", "sobjects/Direct_Debit_Authority__c/Provider_Checkout_Key__c/d1",
			`{"Contact__c":"@{contact.id}","Opportunity__c":"@{enrolment.id}","Status__c":"Customer In Progress"}`),
	}
}

// records returns the numbers of records of the objects that are opened.
func (b *bench) records() [4]int {
	r := b.sim.Statistics().Records
	return [4]int{r["Contact"], r["Opportunity"], r["OpportunityContactRole"], r["Direct_Debit_Authority__c"]}
}

func TestAUnitMakesItsRecordsOnce(t *testing.T) {
	b := newBench(t)
	roles := unit(opening()...)
	first, results := b.composite(roles)
	if results != "201, 201, 201, 201" || b.records() != [4]int{1, 1, 1, 1} {
		t.Errorf("%s, %v records:\n%s", results, b.records(), first.Raw)
	}
	location := data + "sobjects/Contact/" + first.Text("compositeResponse.0.body.id")
	if got := first.Text("compositeResponse.0.httpHeaders.Location"); got != location || first.Text("compositeResponse.0.referenceId") != "contact" {
		t.Errorf("first part = %s", first.Raw)
	}
	// A field that cannot be changed is refused even where its value stays, so a repeat leaves it out.
	again, results := b.composite(unit(opening()[0], opening()[1], opening()[3]))
	if results != "200, 200, 200" || b.records() != [4]int{1, 1, 1, 1} ||
		again.Text("compositeResponse.1.body.id") != first.Text("compositeResponse.1.body.id") {
		t.Errorf("again: %s, %v records", results, b.records())
	}
}

func TestAUnitThatFailsLeavesNothingBehind(t *testing.T) {
	b := newBench(t)
	b.create("Contact", contact("mere@example.nz"))
	parts := opening()
	_, results := b.composite(unit(parts...))
	if results != "400 DUPLICATES_DETECTED, 400 PROCESSING_HALTED, 400 PROCESSING_HALTED, 400 PROCESSING_HALTED" {
		t.Errorf("the first part fails: %s", results)
	}
	if _, results = b.composite(unit(parts...), allowSave); !strings.HasPrefix(results, "400 DUPLICATES_DETECTED") {
		t.Errorf("the header of the whole request counts for a part: %s", results)
	}
	parts[0] = strings.TrimSuffix(parts[0], "}") + `,"httpHeaders":{"Sforce-Duplicate-Rule-Header":"allowSave=true"}}`
	parts[3] = strings.Replace(parts[3], "Customer In Progress", "Unknown", 1)
	_, results = b.composite(unit(parts...))
	if results != "400 PROCESSING_HALTED, 400 PROCESSING_HALTED, 400 PROCESSING_HALTED, 400 INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST" {
		t.Errorf("the last part fails: %s", results)
	}
	if b.records() != [4]int{1, 0, 0, 0} || len(b.sim.Journal()) != 1 {
		t.Errorf("%v records, %d entries of the journal; want the first contact alone", b.records(), len(b.sim.Journal()))
	}
	parts[3] = opening()[3]
	if _, results = b.composite(unit(parts...)); results != "201, 201, 201, 201" {
		t.Errorf("the header of the part does not count: %s", results)
	}
}

// A unit may be written only while a record is as it was: what refers to the first record of a query that finds no record fails.
func TestAUnitRefersToWhatAQueryFinds(t *testing.T) {
	b := newBench(t)
	id := b.create("Contact", contact("mere@example.nz"))
	guarded := unit(
		part("lock", "PATCH", "sobjects/Contact/"+id, `{"FirstName":"Mere"}`),
		part("found", "GET", "query?q="+url.QueryEscape("SELECT Id FROM Contact WHERE Id = '"+id+"' AND Phone = null"), ""),
		part("change", "PATCH", "sobjects/Contact/@{found.records[0].Id}", `{"Phone":"1"}`))
	if _, results := b.composite(guarded); results != "204, 200, 204" || b.sim.Records("Contact")[0]["Phone"] != "1" {
		t.Errorf("%s, %v", results, b.sim.Records("Contact"))
	}
	written := len(b.sim.Journal())
	if got, results := b.composite(guarded); results != "400 PROCESSING_HALTED, 400 PROCESSING_HALTED, 400 PROCESSING_HALTED" ||
		!strings.Contains(got.Text("compositeResponse.2.body.0.message"), "No value for found.records[0].Id") || len(b.sim.Journal()) != written {
		t.Errorf("again: %s, %s", results, got.Raw)
	}
}

func TestARolledBackUpdateIsUndone(t *testing.T) {
	b := newBench(t)
	b.OK(201, "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/c1", `{"LastName":"Before","Email":"before@example.nz"}`)
	b.composite(unit(
		part("a", "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/c1", `{"LastName":"After","Email":"after@example.nz"}`),
		part("b", "DELETE", "sobjects/Contact/@{a.id}", ""),
		part("c", "POST", "sobjects/Contact", `{}`)))
	got := b.OK(200, "GET", "sobjects/Contact/Provider_Checkout_Key__c/c1", "")
	got = b.OK(200, "GET", "sobjects/Contact/"+got.Text("Id"), "")
	if got.Text("LastName") != "Before" {
		t.Errorf("%s, want it as it was", got.Raw)
	}
	b.refused(400, "DUPLICATES_DETECTED", "POST", "sobjects/Contact", contact("before@example.nz"))
	b.create("Contact", contact("after@example.nz"))
}

func TestPartsThatStandForThemselves(t *testing.T) {
	b := newBench(t)
	got, results := b.composite(single(
		part("good", "POST", "sobjects/Contact", contact("a@example.nz")),
		part("bad", "POST", "sobjects/Contact", `{}`),
		part("after", "PATCH", "sobjects/Contact/@{good.id}", `{"Phone":"1"}`),
		part("lost", "POST", "sobjects/OpportunityContactRole", `{"ContactId":"@{bad.id}"}`),
		part("found", "GET", "query?q=SELECT+Id+FROM+Contact+WHERE+Id='@{good.id}'", ""),
		part("seen", "GET", "sobjects/Contact/@{good.Id}?fields=Phone", ""),
		part("unseen", "GET", "sobjects/Contact/@{good.success}", ""),
		part("nothing", "GET", "nothing", ""),
		part("inner", "POST", "composite", `{}`),
		part("named", "POST", "sobjects/Account", `{"Name":"@{good.id}"}`)))
	if want := "201, 400 REQUIRED_FIELD_MISSING, 204, 400 PROCESSING_HALTED, 200, 200, 400 PROCESSING_HALTED, 404 NOT_FOUND, 400 INVALID_INPUT, 201"; results != want {
		t.Errorf("%s\nwant %s\n%s", results, want, got.Raw)
	}
	if message := got.Text("compositeResponse.3.body.0.message"); message != "Invalid reference specified. No value for bad.id found in lost" {
		t.Errorf("message = %q", message)
	}
	if got.Text("compositeResponse.5.body.Phone") != "1" || b.sim.Records("Account")[0]["Name"] != got.Text("compositeResponse.0.body.id") {
		t.Errorf("%s, want what the references lead to", got.Raw)
	}
}

func TestCompositeRequestsAreReadStrictly(t *testing.T) {
	b := newBench(t)
	ok := part("a", "GET", "limits", "")
	many := func(n int, p func(i int) string) (all []string) {
		for i := range n {
			all = append(all, p(i))
		}
		return all
	}
	for name, body := range map[string]string{
		"no parts":              `{"compositeRequest":[]}`,
		"an unknown name":       `{"compositeRequest":[` + ok + `],"allOrNothing":true}`,
		"an unknown name of it": single(strings.TrimSuffix(ok, "}") + `,"x":1}`),
		"an id twice":           single(ok, ok),
		"no id":                 single(`{"method":"GET","url":"` + data + `limits"}`),
		"an id with a dash":     single(part("a-b", "GET", "limits", "")),
		"its own authority":     single(strings.TrimSuffix(ok, "}") + `,"httpHeaders":{"authorization":"x"}}`),
		"headers that are none": single(strings.TrimSuffix(ok, "}") + `,"httpHeaders":[]}`),
	} {
		if got := b.refused(400, "JSON_PARSER_ERROR", "POST", "composite", body); got.Status != 400 {
			t.Errorf("%s: %s", name, got.Raw)
		}
	}
	b.refused(400, "LIMIT_EXCEEDED", "POST", "composite", single(many(26, func(i int) string {
		return part(fmt.Sprint("p", i), "GET", "limits", "")
	})...))
	b.refused(400, "LIMIT_EXCEEDED", "POST", "composite", single(many(6, func(i int) string {
		return part(fmt.Sprint("p", i), "GET", "query?q=x", "")
	})...))
	_, results := b.composite(single(many(25, func(i int) string { return part(fmt.Sprint("p", i), "GET", "limits", "") })...))
	if strings.Count(results, "200") != 25 {
		t.Errorf("25 parts: %s", results)
	}
	_, results = b.composite(single(part("a", "POST", "sobjects/Contact", ""), part("b", "GET", "//other.example/services/data/v61.0/limits", "")))
	if results != "400 JSON_PARSER_ERROR, 404 NOT_FOUND" {
		t.Errorf("no body, and another host: %s", results)
	}
}
