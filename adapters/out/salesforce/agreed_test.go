package salesforce_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// An agreement without a key, such as an agreement that was entered by hand, still makes Complete refuse.
func TestAnAgreementIsFoundThroughItsOpportunity(t *testing.T) {
	b := newBench(t)
	records := b.opened(t)
	byHand := func(number string) {
		t.Helper()
		b.insert(t, "Payment_Plan_Agreement__c", map[string]any{"Agreement_Number__c": number, "Opportunity__c": records.OpportunityID,
			"Accepted_At__c": "2027-01-15T16:12:05.000+1300", "First_Payment_Date__c": "2027-02-03"})
	}
	byHand("PPA-2027-000000001A5")
	before := b.sim.Statistics().Usage
	want := checkout.Agreed{Number: "PPA-2027-000000001A5", AcceptedAt: time.Date(2027, 1, 15, 3, 12, 5, 0, time.UTC),
		FirstPayment: money.Date{Year: 2027, Month: time.February, Day: 3}}
	if got, err := b.Agreed(t.Context(), key); err != nil || got != want {
		t.Errorf("Agreed = %+v, %v; want %+v", got, err, want)
	}
	if used := b.sim.Statistics().Usage - before; used != 1 {
		t.Errorf("Agreed took %d calls, want 1", used)
	}
	byHand("PPA-2027-000000002B9")
	_, err := b.Agreed(t.Context(), key)
	wantRefusal(t, err, "OTHER_AGREEMENT")
}

func TestAnAgreementIsFoundByItsKey(t *testing.T) {
	b := newBench(t)
	c := completion(b.opened(t))
	done := b.completed(t, c)
	b.change(t, "Payment_Plan_Agreement__c", done.AgreementID, `{"Opportunity__c":null}`)
	if got, err := b.Agreed(t.Context(), key); err != nil || got.Number != c.Agreement.Number {
		t.Errorf("Agreed = %+v, %v; want %s, though it was taken from its opportunity", got, err, c.Agreement.Number)
	}
}

// A number that was mistyped in the organisation must not become the number of a document.
func TestAnAgreementThatCannotBeReadIsAnError(t *testing.T) {
	for name, wrong := range map[string]map[string]any{
		"a mistyped number": {"Agreement_Number__c": "PPA-2027-000000001A6"},
		"a number of words": {"Agreement_Number__c": "see the file"},
		"no time":           {"Accepted_At__c": nil},
		"no date":           {"First_Payment_Date__c": nil},
	} {
		b := newBench(t)
		records := b.opened(t)
		values := map[string]any{"Agreement_Number__c": "PPA-2027-000000001A5", "Opportunity__c": records.OpportunityID,
			"Accepted_At__c": "2027-01-15T03:12:05.000Z", "First_Payment_Date__c": "2027-02-03"}
		maps.Copy(values, wrong)
		b.insert(t, "Payment_Plan_Agreement__c", values)
		if got, err := b.Agreed(t.Context(), key); err == nil || errors.Is(err, ports.ErrNotFound) {
			t.Errorf("%s: Agreed = %+v, %v; want an error that is not ErrNotFound", name, got, err)
		}
	}
}

// A proxy may answer with JSON of its own. It must not be taken for an organisation that has no agreement on record, or no
// calls left.
func TestAnAnswerWithoutItsFieldsSaysNothing(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultOtherBody, Path: "/services/data/*/*"})
	if on, err := b.Agreed(t.Context(), key); err == nil || errors.Is(err, ports.ErrNotFound) {
		t.Errorf("Agreed = %+v, %v; want that it is not known", on, err)
	}
	if err := b.Ready(t.Context()); err == nil || errors.Is(err, ports.ErrBusy) {
		t.Errorf("Ready = %v, want that it is not known", err)
	}
	b.sim.Disarm()
	if _, err := b.Open(t.Context(), enrolment()); err != nil {
		t.Errorf("Open: %v", err)
	}
}
