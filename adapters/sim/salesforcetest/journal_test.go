package salesforcetest_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// lines writes the journal in a short form.
func lines(entries []salesforcetest.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%d %s %s %s %v", e.Call, e.Action, e.Type, e.Key, e.Changed))
	}
	return all
}

func TestTheJournalHasEveryEffect(t *testing.T) {
	b := newBench(t)
	b.composite(unit(opening()[0], part("again", "PATCH", "sobjects/Contact/@{contact.id}", `{"LastName":"Tau","Phone":"1"}`)))
	b.OK(200, "GET", "limits", "")
	b.refused(400, "REQUIRED_FIELD_MISSING", "POST", "sobjects/Contact", `{}`)
	b.sim.Advance(time.Minute)
	b.OK(200, "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/c1", `{"LastName":"Tau"}`)
	b.create("ContentVersion", file("%PDF", `,"PDF_SHA256__c":"ab"`))
	b.OK(204, "DELETE", "sobjects/Contact/"+b.sim.Records("Contact")[0]["Id"], "")
	entries := b.sim.Journal()
	want := []string{
		"1 created Contact c1 [Email FirstName LastName Provider_Checkout_Key__c]",
		"1 updated Contact c1 [Phone]",
		"4 updated Contact c1 []",
		"5 created ContentDocument  [ContentSize FileExtension FileType LatestPublishedVersionId Title]",
		"5 created ContentVersion ab [PDF_SHA256__c PathOnClient Title VersionData]",
		"6 deleted Contact c1 []",
	}
	if got := lines(entries); !reflect.DeepEqual(got, want) {
		t.Errorf("journal:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	first, second, shown := entries[0], entries[1], b.Control(200, "GET", "journal", "").Text("entries.1.id")
	if first.Method != "PATCH" || first.Path != data+"sobjects/Contact/Provider_Checkout_Key__c/c1" ||
		first.Fields["Email"] != "mere@example.nz" || first.ID != shown || !first.Time.Equal(started) || second.Fields["Phone"] != "1" {
		t.Errorf("%+v\n%+v", first, second)
	}
	if got := entries[4].Fields["VersionData"]; got != "4 bytes" || !entries[2].Time.Equal(started.Add(time.Minute)) {
		t.Errorf("content is written as %q, and the time of the third entry is %v", got, entries[2].Time)
	}
	entries[0].Fields["Email"] = "changed"
	if b.sim.Journal()[0].Fields["Email"] == "changed" {
		t.Error("who changes what Journal returned changes the journal")
	}
}

func TestControlMovesTheSimulator(t *testing.T) {
	b := newBench(t)
	b.Control(200, "POST", "clock", `{"advance":"1h"}`)
	if got := b.sim.Now(); got != started.Add(time.Hour) {
		t.Errorf("it is %v", got)
	}
	b.Control(200, "POST", "faults", `{"kind":"locked_row","method":"POST","path":"/services/data/*/sobjects/*","object":"Contact",
		"times":1,"probability":1,"hang":"1s"}`)
	b.refused(400, "UNABLE_TO_LOCK_ROW", "POST", "sobjects/Contact", contact("a@example.nz"))
	b.create("Contact", contact("a@example.nz"))
	b.Control(200, "POST", "faults", `{"kind":"error"}`)
	b.Control(200, "DELETE", "faults", "")
	b.OK(200, "GET", "limits", "")
	got := b.Control(200, "GET", "statistics", "")
	for path, want := range map[string]any{"calls.POST /sobjects/Contact": 2.0, "tokens": 1.0, "usage": 3.0,
		"records.Contact": 1.0, "faults.locked_row": 1.0} {
		if at := got.At(path); at != want {
			t.Errorf("%s = %v, want %v", path, at, want)
		}
	}
	got = b.Control(200, "GET", "journal", "")
	if got.Text("entries.0.type") != "Contact" || got.Text("entries.0.fields.Email") != "a@example.nz" ||
		got.Text("entries.0.time") != "2027-02-01T01:00:00Z" {
		t.Errorf("journal = %s", got.Raw)
	}
	b.Control(200, "DELETE", "tokens", "")
	b.refused(401, "INVALID_SESSION_ID", "GET", "limits", "")
	for body, want := range map[string]string{`{"kind":"rain"}`: "kind must be one of", `{"kind":"error","path":"["}`: "path",
		`{"kind":"error","hang":"x"}`: "hang", `{"conflict":"1"}`: "unknown field"} {
		if got := b.Control(400, "POST", "faults", body).Text("error"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", body, got, want)
		}
	}
}

func TestControlIsOffUnlessItIsAskedFor(t *testing.T) {
	b := newBench(t, func(o *options) { o.Control = false })
	if got := b.Call("POST", "/simulator/clock", `{"advance":"1h"}`); got.Status != 404 || b.sim.Now() != started {
		t.Errorf("%d, and it is %v; want 404 and nothing moved", got.Status, b.sim.Now())
	}
}

// An administrator's records are there without a call.
func TestInsert(t *testing.T) {
	b := newBench(t)
	id, err := b.sim.Insert("Account", map[string]any{"Name": "Kowhai"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.sim.Insert("Contact", map[string]any{"LastName": "Tau", "AccountId": id}); err != nil {
		t.Error(err)
	}
	if got := b.column("LastName", "SELECT LastName FROM Contact WHERE Account.Name = 'Kowhai'"); len(got) != 1 || got[0] != "Tau" {
		t.Errorf("contacts of the account = %v", got)
	}
	for object, fields := range map[string]map[string]any{"Nothing__c": nil, "Contact": {"FirstName": "x"}, "Account": {"Nothing": 1}} {
		if _, err := b.sim.Insert(object, fields); err == nil {
			t.Errorf("Insert(%s, %v): no error", object, fields)
		}
	}
	if len(b.sim.Journal()) != 0 || b.sim.Statistics().Usage != 1 || b.sim.Records("Nothing__c") != nil {
		t.Errorf("%v, %+v; want nothing of it counted", b.sim.Journal(), b.sim.Statistics())
	}
}

// Many clients at once: for the race detector, and for one record of each key.
func TestManyClientsAtOnce(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultErrorAfter, Probability: 0.2, Method: "POST"})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			key := fmt.Sprint("k", i%10)
			body := unit(
				part("contact", "PATCH", "sobjects/Contact/Provider_Checkout_Key__c/"+key, `{"LastName":"Tau"}`),
				part("authority", "PATCH", "sobjects/Direct_Debit_Authority__c/Provider_Checkout_Key__c/"+key, `{"Contact__c":"@{contact.id}"}`))
			for b.Call("POST", "composite", body).Status != 200 {
			}
			b.rows("SELECT Id FROM Contact WHERE Provider_Checkout_Key__c = '" + key + "'")
			b.sim.Advance(time.Second)
			b.sim.Journal()
			b.sim.Records("Contact")
			b.Control(200, "GET", "statistics", "")
		})
	}
	all.Wait()
	created := map[string]int{}
	for _, e := range b.sim.Journal() {
		if e.Action == salesforcetest.Created {
			created[e.Type+" "+e.Key]++
		}
	}
	for key, n := range created {
		if n != 1 {
			t.Errorf("%s was created %d times", key, n)
		}
	}
	if got := b.records(); got != [4]int{10, 0, 0, 10} || len(created) != 20 {
		t.Errorf("%v records, %d created; want 10 contacts and 10 authorities", got, len(created))
	}
}
