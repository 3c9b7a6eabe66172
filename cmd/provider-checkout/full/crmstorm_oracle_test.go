package full_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// The objects of the organisation, and what completes an enrolment there.
const (
	contactObject     = "Contact"
	opportunityObject = "Opportunity"
	roleObject        = "OpportunityContactRole"
	authorityObject   = "Direct_Debit_Authority__c"
	agreementObject   = "Payment_Plan_Agreement__c"
	contentVersion    = "ContentVersion"
	documentObject    = "ContentDocument"
	stageComplete     = "Closed Won"
)

// orgObjects are the objects of which an enrolment that is complete has one record.
var orgObjects = []string{contactObject, opportunityObject, roleObject, authorityObject, agreementObject, contentVersion, documentObject}

// stored returns everything on record here, by provider and order.
func (w *stormWorld) stored(t *testing.T) map[string]checkout.CheckoutRecord {
	t.Helper()
	all := make(map[string]checkout.CheckoutRecord)
	err := w.store.Export(context.WithoutCancel(t.Context()), checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout: func(r checkout.CheckoutRecord) error {
			name := r.Checkout.ProviderCode + " " + r.Checkout.OrderID
			if _, twice := all[name]; twice {
				t.Errorf("%s has two checkouts", name)
			}
			all[name] = r
			return nil
		},
		Unreadable: func(id string, err error) error { return fmt.Errorf("checkout %s: %w", id, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkWhole checks that every checkout has the records of its state in the organisation, and that there are no others:
// nothing is half done.
func (w *stormWorld) checkWhole(t *testing.T) {
	t.Helper()
	opened, confirmed := 0, 0
	for name, r := range w.stored(t) {
		opened++
		switch r.Checkout.Status {
		case checkout.Confirmed:
			confirmed++
		case checkout.SetupRequired:
		default:
			t.Errorf("%s is %s", name, r.Checkout.Status)
		}
	}
	records := w.org.Statistics().Records
	for _, object := range orgObjects {
		want := opened
		if slices.Contains([]string{agreementObject, contentVersion, documentObject}, object) {
			want = confirmed
		}
		if records[object] != want {
			t.Errorf("%d records of %s for %d checkouts of which %d are confirmed", records[object], object, opened, confirmed)
		}
	}
}

// orgRecords are the records of enrolments in the organisation.
type orgRecords struct {
	records map[string]map[string]string   // by their ids
	of      map[string][]map[string]string // agreements by their opportunity, contact roles likewise, versions by their agreement
	entries map[string][]int               // of the journal, by the id of an opportunity
	journal []journalEntry
}

// journalEntry is the effect of one call on a record.
type journalEntry struct {
	object  string
	created bool
	changes bool // any value
	stage   bool // is written as that of a complete enrolment
}

// readOrg reads the organisation, which must have a number of complete enrolments.
func readOrg(t *testing.T, org *salesforcetest.Simulator, complete int) *orgRecords {
	t.Helper()
	o := &orgRecords{records: map[string]map[string]string{}, of: map[string][]map[string]string{}, entries: map[string][]int{}}
	parents := make(map[string]string) // of records, by their ids
	for object, parent := range map[string]string{contactObject: "", opportunityObject: "Id", roleObject: "OpportunityId", authorityObject: "Opportunity__c",
		agreementObject: "Opportunity__c", contentVersion: "FirstPublishLocationId", documentObject: ""} {
		for _, r := range org.Records(object) {
			o.records[r["Id"]] = r
			if parent == "" {
				continue
			}
			parents[r["Id"]] = r[parent]
			o.of[object+r[parent]] = append(o.of[object+r[parent]], r)
		}
	}
	numbers := org.Statistics().Records
	for _, object := range orgObjects {
		if numbers[object] != complete {
			t.Errorf("%d records of %s for %d enrolments", numbers[object], object, complete)
		}
	}
	for _, r := range org.Records(roleObject) {
		parents[r["ContactId"]] = r["OpportunityId"]
	}
	for i, e := range org.Journal() {
		o.journal = append(o.journal, journalEntry{object: e.Type, created: e.Action == "created", changes: len(e.Changed) > 0,
			stage: e.Type == opportunityObject && e.Fields["StageName"] == stageComplete})
		at := parents[e.ID]
		if e.Type == contentVersion {
			at = parents[at]
		}
		switch {
		case e.Action == "deleted" || at == "" && e.Type != documentObject && e.Type != "ContentDocumentLink":
			t.Errorf("the journal has %s of %s %s, which belongs to no enrolment", e.Action, e.Type, e.ID)
		default:
			o.entries[at] = append(o.entries[at], i)
		}
	}
	return o
}

// check compares everything: the organisation's records and journal, the store, the events and the answers. A store that
// was restored may have what the organisation knows of an earlier checkout of the same enrolment.
func (w *stormWorld) check(t *testing.T, all []*enrolment, restored bool) {
	t.Helper()
	o, stored := readOrg(t, w.org, len(all)), w.stored(t)
	if len(stored) != len(all) {
		t.Errorf("%d checkouts on record for %d enrolments", len(stored), len(all))
	}
	seen := make(map[string]string) // ids and numbers, with the orders that have them
	faulty, repeats := 0, 0
	for _, e := range all {
		c := &comparison{name: e.Provider + " " + e.Order, restored: restored}
		r := stored[c.name]
		c.answers(e, r)
		c.records(e, r, o)
		c.history(r.Checkout.Records.OpportunityID, o)
		c.events(r, w.events)
		repeats += c.repeats
		for _, id := range append(append(e.IDs[:], e.Agreement[:]...), r.Checkout.Confirmation.DocumentID) {
			c.want(seen[id] == "", "%s is that of %s too", id, seen[id])
			seen[id] = e.Order
		}
		if len(c.wrong) == 0 {
			continue
		}
		if faulty++; faulty <= 5 {
			t.Errorf("%s:\n  %s", c.name, strings.Join(c.wrong, "\n  "))
		}
	}
	if faulty > 0 {
		t.Errorf("%d of %d enrolments are wrong", faulty, len(all))
	}
	if repeats > len(all)/1000+1 {
		t.Errorf("%d enrolments were completed again, without a change", repeats)
	}
	w.events.mu.Lock()
	defer w.events.mu.Unlock()
	if len(w.events.wrong) > 0 || !restored && len(w.events.bodies) != 3*len(all) {
		t.Errorf("%d events arrived for %d enrolments, and of %d there are two versions: %q", len(w.events.bodies), len(all),
			len(w.events.wrong), w.events.wrong[:min(3, len(w.events.wrong))])
	}
}

// comparison is that of one enrolment, with what is wrong.
type comparison struct {
	name     string
	restored bool
	repeats  int // of the write that completes the enrolment
	wrong    []string
}

func (c *comparison) want(ok bool, format string, args ...any) {
	if !ok {
		c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	}
}

func (c *comparison) equal(what string, got, want any) {
	c.want(got == want, "%s is %q, want %q", what, got, want)
}

// answers compares the store with what the provider was answered.
func (c *comparison) answers(e *enrolment, r checkout.CheckoutRecord) {
	on := r.Checkout
	c.equal("status", on.Status, checkout.Confirmed)
	for _, j := range r.Jobs {
		waits := j.Job.Kind == checkout.JobLook && j.State == checkout.JobPending // until the mandate is active
		c.want(waits || j.State == checkout.JobDone, "job %s of kind %s is %s", j.Job.ID, j.Job.Kind, j.State)
	}
	c.equal("ids", [4]string{on.ID, on.Records.ContactID, on.Records.OpportunityID, on.Records.DDAID}, e.IDs)
	c.equal("agreement", [2]string{on.Confirmation.AgreementID, on.Confirmation.AgreementNumber}, e.Agreement)
	c.equal("student", on.Student, checkout.Student{FirstName: e.first, LastName: e.last, Email: e.email})
	c.equal("holder", on.Setup.AccountHolder, e.holder)
	c.want(r.Agreement != nil && r.Agreement.Number == e.Agreement[1], "the agreement %q is not on record", e.Agreement[1])
	c.want(r.Document != nil, "no document is on record")
}

// records compares the organisation's records with the store.
func (c *comparison) records(e *enrolment, r checkout.CheckoutRecord, o *orgRecords) {
	on := r.Checkout
	person, deal, debit := o.records[on.Records.ContactID], o.records[on.Records.OpportunityID], o.records[on.Records.DDAID]
	c.equal("FirstName", person["FirstName"], on.Student.FirstName)
	c.equal("LastName", person["LastName"], on.Student.LastName)
	c.equal("Email", person["Email"], on.Student.Email)
	c.equal("Provider_Order_Id__c", deal["Provider_Order_Id__c"], on.OrderID)
	c.equal("Amount", deal["Amount"], on.Intent.Pricing.Price.String())
	c.figures(deal, on.Intent)
	c.equal("Account_Holder__c", debit["Account_Holder__c"], e.holder)
	if !c.restored {
		c.equal("Checkout_Id__c", deal["Checkout_Id__c"], on.ID)
		c.equal("Mandate_Id__c", debit["Mandate_Id__c"], on.Setup.MandateID)
	}
	plan := c.linked(orgIDs{on.Records.ContactID, on.Records.OpportunityID, on.Records.DDAID, on.Confirmation.AgreementID,
		on.Confirmation.AgreementNumber, on.Confirmation.DocumentID}, o)
	intent := on.Intent
	intent.Plan.First = on.Confirmation.FirstPayment
	c.figures(plan, intent)
	if !c.restored && r.Document != nil {
		c.equal("PDF_SHA256__c", plan["PDF_SHA256__c"], hex.EncodeToString(r.Document.SHA256[:]))
	}
}

// orgIDs are the ids of an enrolment's records in the organisation, as a store has them.
type orgIDs struct{ contact, opportunity, authority, agreement, number, document string }

// linked checks that the organisation has one set of records of a complete enrolment, each of which leads to the others. It returns
// the agreement.
func (c *comparison) linked(on orgIDs, o *orgRecords) (plan map[string]string) {
	deal, debit := o.records[on.opportunity], o.records[on.authority]
	c.equal("StageName", deal["StageName"], stageComplete)
	c.equal("Id of the contact", o.records[on.contact]["Id"], on.contact)
	c.equal("Contact__c of the authority", debit["Contact__c"], on.contact)
	c.equal("Opportunity__c of the authority", debit["Opportunity__c"], on.opportunity)
	roles, plans := o.of[roleObject+deal["Id"]], o.of[agreementObject+deal["Id"]]
	c.want(len(roles) == 1 && roles[0]["ContactId"] == on.contact, "the contact roles are %v", roles)
	if c.want(len(plans) == 1, "there are %d agreements", len(plans)); len(plans) != 1 {
		return nil
	}
	plan = plans[0]
	c.equal("Id of the agreement", plan["Id"], on.agreement)
	c.equal("Agreement_Number__c", plan["Agreement_Number__c"], on.number)
	c.equal("PDF_Content_Document_Id__c", plan["PDF_Content_Document_Id__c"], on.document)
	files := o.of[contentVersion+plan["Id"]]
	if c.want(len(files) == 1, "there are %d documents", len(files)); len(files) == 1 {
		sum := sha256.Sum256([]byte(files[0]["VersionData"]))
		c.equal("digest of the file", hex.EncodeToString(sum[:]), plan["PDF_SHA256__c"])
		c.equal("ContentDocumentId", files[0]["ContentDocumentId"], on.document)
	}
	return plan
}

// figures compares the figures of a plan.
func (c *comparison) figures(r map[string]string, want checkout.Intent) {
	c.equal("Course_Name__c", r["Course_Name__c"], want.CourseName)
	for name, amount := range map[string]money.Cents{"Course_Price__c": want.Pricing.Price, "Upfront_Payment__c": want.Pricing.Upfront,
		"Amount_To_Finance__c": want.Pricing.Principal, "Instalment_Amount__c": want.Plan.Regular, "Final_Instalment_Amount__c": want.Plan.Final} {
		c.equal(name, r[name], amount.String())
	}
	c.equal("Payment_Frequency__c", r["Payment_Frequency__c"], string(want.Plan.Frequency))
	c.equal("Number_Of_Instalments__c", r["Number_Of_Instalments__c"], fmt.Sprint(want.Plan.Number))
	c.equal("First_Payment_Date__c", r["First_Payment_Date__c"], want.Plan.First.String())
}

// history checks the journal: each record was made once, and the enrolment completed once, by the last write that changed
// anything. A call that was given up may take effect after the next look, which is then followed by the same write again.
func (c *comparison) history(opportunity string, o *orgRecords) {
	made := make(map[string]int)
	completed, last := 0, false
	for _, at := range o.entries[opportunity] {
		e := o.journal[at]
		switch {
		case e.stage && !e.changes:
			c.repeats++
		case e.changes:
			last = e.stage
		}
		if e.stage && e.changes {
			completed++
		}
		if e.created {
			made[e.object]++
		}
	}
	c.want(completed == 1 && last, "the enrolment was completed %d times, by the last change: %v", completed, last)
	for _, object := range orgObjects[:len(orgObjects)-1] { // a document is made with its version
		c.want(made[object] == 1, "%d records of %s were made", made[object], object)
	}
}

// events checks that each event is on record once, and arrived as it is there.
func (c *comparison) events(r checkout.CheckoutRecord, arrived *eventDigests) {
	on := r.Checkout
	var names []events.Name
	for _, e := range r.Events() {
		names = append(names, e.Event.Name)
		c.equal("status of "+string(e.Event.Name), e.Status, events.Delivered)
		var envelope struct {
			Data map[string]string `json:"data"`
		}
		if err := json.Unmarshal(e.Event.Body, &envelope); err != nil {
			c.want(false, "the event %s: %v", e.Event.Body, err)
		}
		for field, want := range map[string]string{"checkout_id": on.ID, "contact_id": on.Records.ContactID,
			"opportunity_id": on.Records.OpportunityID, "dda_id": on.Records.DDAID, "payment_plan_agreement_id": on.Confirmation.AgreementID,
			"payment_plan_agreement_number": on.Confirmation.AgreementNumber, "pdf_content_document_id": on.Confirmation.DocumentID} {
			if got, has := envelope.Data[field]; has {
				c.equal(field+" of "+string(e.Event.Name), got, want)
			}
		}
		arrived.mu.Lock()
		digest, known := arrived.bodies[e.Event.ID]
		arrived.mu.Unlock()
		c.want(known && digest == sha256.Sum256(e.Event.Body), "the event %s did not arrive as it is on record", e.Event.Name)
	}
	want := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated}
	c.want(slices.Equal(names, want), "the events are %q", names)
}
