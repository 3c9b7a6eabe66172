package full_test

import (
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// check checks what is on record, at Salesforce, and that nobody did there what was another's.
func (w *crmWorld) check(t *testing.T, all []*student, struck int, on resumption) {
	t.Helper()
	w.Check(t)
	w.checkOnce(t)
	w.checkSalesforce(t, all)
	came := 0 // late calls
	for _, s := range all {
		if !w.gate.holds(s.Enrolment) { // a call may have been on its way to the gate
			continue
		}
		w.checkAttempts(t, s, struck, on)
		if s.at.side == late {
			came++
		}
	}
	switch effective := w.gate.effective; {
	case on != amidOthers && len(effective) > 0:
		t.Errorf("calls that arrived when everything was done had an effect: %v", effective)
	case on == amidOthers && came > 0 && len(effective) == 0:
		t.Error("void: no call that arrived while others did the same had an effect")
	}
}

// checkOnce checks that every event was delivered once: no process was struck while it delivered one.
func (w *crmWorld) checkOnce(t *testing.T) {
	t.Helper()
	times := make(map[string]int)
	for _, d := range w.Receiver.Deliveries() {
		times[d.JSON.Text("event_id")]++
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("event %s was delivered %d times", id, n)
		}
	}
	if want := 3 * len(w.Enrolments.All); len(times) != want {
		t.Errorf("%d events were delivered, want %d", len(times), want)
	}
}

// crmObjects are the objects of an enrolment's records, by their kind.
var crmObjects = map[string]string{
	"contact": "Contact", "opportunity": "Opportunity", "contact role": "OpportunityContactRole", "dda": "Direct_Debit_Authority__c",
	"agreement": "Payment_Plan_Agreement__c", "document": "ContentVersion"}

// checkSalesforce checks that Salesforce has one set of records of each enrolment, with the ids that are on record, and that
// the enrolment was completed once and last.
func (w *crmWorld) checkSalesforce(t *testing.T, all []*student) {
	t.Helper()
	stored := make(map[string]*workload.Record)
	for _, on := range workload.ReadRecords(t, w.Run(t, "export", "--store", w.Store)) {
		stored[on.Text("provider_order_id")] = on
	}
	made := make(map[string]map[string]string) // fields by key
	for kind, object := range crmObjects {
		records := w.gate.sim.Records(object)
		for _, r := range records {
			made[r[keyField]] = r
		}
		if len(records) != len(all) {
			t.Errorf("there are %d records of %s, want %d", len(records), object, len(all))
		}
		for _, s := range all {
			if made[keyOf(s.Enrolment, kind)] == nil {
				t.Errorf("%s: there is no %s", s.at, kind)
			}
		}
	}
	if n := len(w.gate.sim.Records("ContentDocument")); n != len(all) {
		t.Errorf("there are %d documents, want %d", n, len(all))
	}
	if t.Failed() {
		return
	}
	journal := w.gate.sim.Journal()
	for _, s := range all {
		record := func(kind string) map[string]string { return made[keyOf(s.Enrolment, kind)] }
		on := stored[s.Order]
		for what, ids := range map[string][2]string{
			"contact":     {on.Text("contact_id"), record("contact")["Id"]},
			"opportunity": {on.Text("opportunity_id"), record("opportunity")["Id"]},
			"authority":   {on.Text("dda_id"), record("dda")["Id"]},
			"agreement":   {on.Related["agreement"][0].Text("agreement_id"), record("agreement")["Id"]},
			"number":      {on.Related["agreement"][0].Text("agreement_number"), record("agreement")["Agreement_Number__c"]},
			"document":    {on.Related["document"][0].Text("document_id"), record("document")["ContentDocumentId"]},
			"link":        {record("agreement")["PDF_Content_Document_Id__c"], record("document")["ContentDocumentId"]},
			"role":        {record("contact role")["OpportunityId"], record("opportunity")["Id"]},
		} {
			if ids[0] != ids[1] || ids[0] == "" {
				t.Errorf("%s: the %s is %q on one side and %q on the other", s.at, what, ids[0], ids[1])
			}
		}
		var own []string
		for kind := range crmObjects {
			own = append(own, record(kind)["Id"])
		}
		s.checkJournal(t, slices.DeleteFunc(slices.Clone(journal), func(e salesforcetest.Entry) bool { return !slices.Contains(own, e.ID) }))
	}
}

// checkJournal checks that the enrolment was completed once, and that nothing of it became another after that.
func (s *student) checkJournal(t *testing.T, own []salesforcetest.Entry) {
	t.Helper()
	completed, last := 0, -1
	for i, e := range own {
		if e.Action == salesforcetest.Updated && e.Type == "Opportunity" && slices.Contains(e.Changed, "StageName") {
			completed++
		}
		if len(e.Changed) > 0 {
			last = i
		}
	}
	if completed != 1 || own[last].Type != "Opportunity" || own[last].Fields["StageName"] != "Closed Won" {
		t.Errorf("%s: the enrolment was completed %d times, and the last change is %+v", s.at, completed, own[last])
	}
}

// checkAttempts checks who made the calls for an enrolment after the process was struck: one process at a time, which had
// begun with a look; the stopped process did not go on with what it was doing before.
func (w *crmWorld) checkAttempts(t *testing.T, s *student, struck int, on resumption) {
	t.Helper()
	var owner, previous crossing // the first call of the latest attempt; the latest call
	began := false               // the process that was stopped, something new since
	for _, c := range w.gate.crossings(s.Enrolment) {
		if !c.later {
			continue
		}
		began = began || c.door == struck && (c.first() || c.call == lookForAgreement)
		switch {
		case c.door != struck:
		case on == notAgain:
			t.Errorf("%s: %s comes from a process that was killed", s.at, c.call)
		case on == atLast:
			t.Errorf("%s: %s comes from the process that was stopped, though everything was done", s.at, c.call)
		case !began:
			t.Errorf("%s: the process that was stopped goes on with %s", s.at, c.call)
		}
		if c.call == lookForAgreement { // which needs no lease
			continue
		}
		if c.first() {
			if previous.freed.After(c.at) {
				t.Errorf("%s: %s comes from process %d while process %d waits for the answer to it", s.at, c.call, c.door, previous.door)
			}
			owner = c
		}
		if c.door != owner.door {
			t.Errorf("%s: %s comes from process %d while process %d has the step", s.at, c.call, c.door, owner.door)
		}
		previous = c
	}
}
