package full_test

import (
	"testing"

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

// recordKinds are the kinds of an enrolment's records, each of which has a natural key.
var recordKinds = []string{"contact", "opportunity", "contact role", "dda", "agreement", "document"}

// checkSalesforce checks that Salesforce has one set of records of each enrolment, with the ids that are on record, and that
// the enrolment was completed once and last.
func (w *crmWorld) checkSalesforce(t *testing.T, all []*student) {
	t.Helper()
	stored := make(map[string]*workload.Record)
	for _, on := range workload.ReadRecords(t, w.Run(t, "export", "--store", w.Store)) {
		stored[on.Text("provider_order_id")] = on
	}
	if t.Failed() { // not every enrolment is whole
		return
	}
	o := readOrg(t, w.gate.sim, len(all))
	for _, s := range all {
		on, c := stored[s.Order], new(comparison)
		agreed := on.Related["agreement"][0]
		c.linked(orgIDs{on.Text("contact_id"), on.Text("opportunity_id"), on.Text("dda_id"), agreed.Text("agreement_id"),
			agreed.Text("agreement_number"), on.Related["document"][0].Text("document_id")}, o)
		c.history(on.Text("opportunity_id"), o)
		for _, wrong := range c.wrong {
			t.Errorf("%s: %s", s.at, wrong)
		}
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
