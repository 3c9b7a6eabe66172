package salesforce_test

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// change changes a record as a user of the organisation does.
func (b *bench) change(t *testing.T, object, id, body string) {
	t.Helper()
	b.administrator(t).OK(http.StatusNoContent, http.MethodPatch, object+"/"+id, body)
}

// An organisation goes on from the stage in which an enrolment is complete. Going back there would begin to move money
// again.
func TestACompletionIsNotRepeatedWhenTheStageHasMovedOn(t *testing.T) {
	b := newBench(t)
	records := b.opened(t)
	first := b.completed(t, completion(records))
	b.change(t, "Opportunity", records.OpportunityID, `{"StageName":"Negotiation/Review"}`)
	written := len(b.sim.Journal())
	if again, err := b.Complete(t.Context(), completion(records)); err != nil || again != first {
		t.Errorf("Complete again = %+v, %v; want %+v", again, err, first)
	}
	if now := len(b.sim.Journal()); now != written {
		t.Errorf("Complete wrote %+v after the stage had moved on", b.sim.Journal()[written:])
	}
}

// People in the organisation work on an opportunity before the payer confirms.
func TestAnEnrolmentCompletesFromAnyStage(t *testing.T) {
	for _, stage := range []string{"Qualification", "Closed Won"} {
		b := newBench(t)
		records := b.opened(t)
		b.change(t, "Opportunity", records.OpportunityID, `{"StageName":"`+stage+`"}`)
		b.completed(t, completion(records))
		if got := b.sim.Records("Opportunity")[0]["StageName"]; got != "Closed Won" || len(b.sim.Records("Payment_Plan_Agreement__c")) != 1 {
			t.Errorf("from %s: stage %s, want it complete with an agreement", stage, got)
		}
	}
}

func TestTheConsentsWordsAreStoredOnlyWhereTheyAreKnown(t *testing.T) {
	terms := agreement.DebitTerms{NoticeDays: 2, Provider: "Kōwhai Institute"}
	for name, known := range map[string]bool{terms.Name(): true, "2026-11-20/2/0123456789abcdef": false,
		"2099-12-31/2/0123456789abcdef": false, "": false} {
		b := newBench(t)
		c := completion(b.opened(t))
		c.Agreement.Provider.Name = terms.Provider
		c.Setup.Consent = agreement.Consent{At: c.Agreement.AcceptedAt, Terms: name, NoticeDays: 2}
		b.completed(t, c)
		got := b.sim.Records("Direct_Debit_Authority__c")[0]
		if words := got["Consent_Text__c"]; strings.Contains(words, terms.Rows()[0].Value) != known || got["Consent_Version__c"] != name {
			t.Errorf("consent %q is stored as %q with the words %q", name, got["Consent_Version__c"], words)
		}
	}
}

func TestTheDeclarationsAreStoredWithTheirTime(t *testing.T) {
	b := newBench(t)
	b.completed(t, completion(b.opened(t)))
	const want = `declarations.payment_plan_accepted: true
declarations.information_confirmed: true
declarations.privacy_consent_accepted: true
payment.deposit_confirmed: true
accepted at 2027-01-15T03:12:05.000Z`
	if got := b.sim.Records("Payment_Plan_Agreement__c")[0]["Declarations__c"]; got != want {
		t.Errorf("declarations %q, want %q", got, want)
	}
}

func TestAnEnrolmentWithoutAMandateIsRefused(t *testing.T) {
	b := newBench(t)
	c := completion(b.opened(t))
	c.Setup.MandateID = ""
	_, err := b.Complete(t.Context(), c)
	wantRefusal(t, err, "NO_MANDATE")
}

// An organisation whose key is not unique may have a key on two records, and nothing says which one is meant.
func TestAKeyOnSeveralRecordsIsRefused(t *testing.T) {
	b := newBench(t, inOrganisation(func(s *salesforcetest.Schema) { s.Field("Contact.Provider_Checkout_Key__c").Unique = false }))
	b.opened(t)
	key := b.sim.Records("Contact")[0]["Provider_Checkout_Key__c"]
	b.insert(t, "Contact", map[string]any{"LastName": "Tau", "Provider_Checkout_Key__c": key})
	_, err := b.Open(t.Context(), enrolment())
	if !wantRefusal(t, err, "DUPLICATE_EXTERNAL_ID").Made {
		t.Error("the refusal says that no record exists")
	}
}

func TestADocumentOfAnotherRecordIsNotTaken(t *testing.T) {
	c := completion(checkout.Records{})
	for _, field := range []struct{ name, value string }{{"PDF_SHA256__c", hex.EncodeToString(c.Document.SHA256[:])},
		{"Provider_Checkout_Key__c", checkout.NaturalKey(key.Environment, key.ProviderCode, key.OrderID, "document")}} {
		b := newBench(t)
		c.Records = b.opened(t)
		b.insert(t, "ContentVersion", map[string]any{"PathOnClient": "a.pdf", "VersionData": "AAAA",
			"FirstPublishLocationId": c.Records.ContactID, field.name: field.value})
		_, err := b.Complete(t.Context(), c)
		wantRefusal(t, err, "OTHER_AGREEMENT")
	}
}
