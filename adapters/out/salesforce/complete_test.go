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
	b, records := opened(t)
	first := b.complete(t, completion(records))
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
		b, records := opened(t)
		b.change(t, "Opportunity", records.OpportunityID, `{"StageName":"`+stage+`"}`)
		if _, err := b.Complete(t.Context(), completion(records)); err != nil {
			t.Errorf("Complete from %s: %v", stage, err)
		}
		if got := b.sim.Records("Opportunity")[0]["StageName"]; got != "Closed Won" || len(b.sim.Records("Payment_Plan_Agreement__c")) != 1 {
			t.Errorf("from %s: stage %s, want it complete with an agreement", stage, got)
		}
	}
}

func TestTheConsentsWordsAreStoredOnlyWhereTheyAreKnown(t *testing.T) {
	terms := agreement.DebitTerms{NoticeDays: 2, Provider: "Kōwhai Institute"}
	for name, known := range map[string]bool{terms.Name(): true, "2026-11-20/2/0123456789abcdef": false,
		"2099-12-31/2/0123456789abcdef": false, "": false} {
		b, records := opened(t)
		c := completion(records)
		c.Agreement.Provider.Name = terms.Provider
		c.Setup.Consent = agreement.Consent{At: c.Agreement.AcceptedAt, Terms: name, NoticeDays: 2}
		b.complete(t, c)
		got := b.sim.Records("Direct_Debit_Authority__c")[0]
		if words := got["Consent_Text__c"]; strings.Contains(words, terms.Rows()[0].Value) != known || got["Consent_Version__c"] != name {
			t.Errorf("consent %q is stored as %q with the words %q", name, got["Consent_Version__c"], words)
		}
	}
}

func TestTheDeclarationsAreStoredWithTheirTime(t *testing.T) {
	b, records := opened(t)
	b.complete(t, completion(records))
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
	b, records := opened(t)
	c := completion(records)
	c.Setup.MandateID = ""
	refused(t, "NO_MANDATE")(b.Complete(t.Context(), c))
}

// An organisation whose key is not unique may have a key on two records, and nothing says which one is meant.
func TestAKeyOnSeveralRecordsIsRefused(t *testing.T) {
	b := newBench(t, organisation(func(schema *salesforcetest.Schema) {
		schema.Field("Contact.Provider_Checkout_Key__c").Unique = false
	}))
	if _, err := b.Open(t.Context(), enrolment()); err != nil {
		t.Fatal(err)
	}
	key := b.sim.Records("Contact")[0]["Provider_Checkout_Key__c"]
	if _, err := b.sim.Insert("Contact", map[string]any{"LastName": "Tau", "Provider_Checkout_Key__c": key}); err != nil {
		t.Fatal(err)
	}
	refused(t, "DUPLICATE_EXTERNAL_ID")(b.Open(t.Context(), enrolment()))
}

func TestADocumentOfAnotherRecordIsNotTaken(t *testing.T) {
	c := completion(checkout.Records{})
	for _, field := range []struct{ name, value string }{{"PDF_SHA256__c", hex.EncodeToString(c.Document.SHA256[:])},
		{"Provider_Checkout_Key__c", checkout.NaturalKey(key.Environment, key.ProviderCode, key.OrderID, "document")}} {
		b := newBench(t)
		var err error
		if c.Records, err = b.Open(t.Context(), enrolment()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.sim.Insert("ContentVersion", map[string]any{"PathOnClient": "a.pdf", "VersionData": "AAAA",
			"FirstPublishLocationId": c.Records.ContactID, field.name: field.value}); err != nil {
			t.Fatal(err)
		}
		refused(t, "OTHER_AGREEMENT")(b.Complete(t.Context(), c))
	}
}
