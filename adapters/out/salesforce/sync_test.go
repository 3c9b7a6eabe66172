package salesforce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/crmtest"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// life returns an enrolment from its create to its withdrawal, as a CRM is told of it.
func life(order string) []checkout.Enrolment {
	open := crmtest.Opened(order)
	ready := crmtest.Over(crmtest.Active(open), open)
	done := crmtest.Over(crmtest.Confirmed(ready), ready)
	active := crmtest.Over(crmtest.Active(done), done)
	return []checkout.Enrolment{open, ready, done, active, crmtest.Over(crmtest.Withdrawn(active), active)}
}

// dataCalls returns how many calls there were but for requests for a token.
func (b *bench) dataCalls() (n int) {
	for _, c := range b.org.Calls() {
		if strings.HasPrefix(c.Path, "/services/data/") {
			n++
		}
	}
	return n
}

// told tells the CRM of enrolments, or ends the test.
func (b *bench) told(t *testing.T, all ...checkout.Enrolment) {
	t.Helper()
	for _, e := range all {
		if err := b.Sync(t.Context(), e); err != nil {
			t.Fatalf("Sync of revision %d: %v", e.Checkout.Revision, err)
		}
	}
}

func TestACreateIsOneCallAndAConfirmThree(t *testing.T) {
	b := newBench(t)
	var got []int
	for _, e := range life("calls") {
		before := b.dataCalls()
		b.told(t, e)
		got = append(got, b.dataCalls()-before)
	}
	if want := []int{1, 1, 3, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("calls of a create, a setup, a confirm, a mandate and a withdrawal: %d, want %d", got, want)
	}
}

// The organisation moves the stage on after the enrolment is complete.
func TestTheStageIsTheOrganisationsOnceItIsWritten(t *testing.T) {
	b := newBench(t)
	all := life("stage")
	b.told(t, all[:3]...)
	enrolment := func() map[string]string { return b.org.Records("Opportunity")[0] }
	if err := b.org.Update(enrolment()["Id"], fields{"StageName": "Negotiation/Review"}); err != nil {
		t.Fatal(err)
	}
	b.told(t, all[3])
	if got := enrolment()["StageName"]; got != "Negotiation/Review" {
		t.Errorf("after the mandate has changed the stage is %s, want it as the organisation left it", got)
	}
	b.told(t, all[4])
	if got := enrolment(); got["StageName"] != "Closed Lost" || got["End__c"] != "withdrawn by operator: cooling-off" {
		t.Errorf("after the withdrawal the enrolment is %v", got)
	}
}

func TestARefusalNamesTheContractsFieldAndNothingOfTheStudent(t *testing.T) {
	for _, tt := range []struct {
		fault salesforcetest.Fault
		want  string
	}{
		{salesforcetest.Fault{Object: "Contact", Field: "LastName", Code: "STRING_TOO_LONG"}, checkout.FieldLastName},
		{salesforcetest.Fault{Object: "Contact", Field: "email"}, checkout.FieldEmail},
		{salesforcetest.Fault{Object: "Opportunity", Field: "Region__c"}, "Opportunity.Region__c"},
		{salesforcetest.Fault{Object: "Opportunity"}, "Opportunity"},
		{salesforcetest.Fault{Object: "Payment_Plan_Agreement__c", Field: "Course_Price__c"}, checkout.FieldPrice},
		{salesforcetest.Fault{Object: "ContentVersion"}, "ContentVersion"},
	} {
		b := newBench(t)
		tt.fault.Kind = salesforcetest.Refuse
		b.org.Faults(func(salesforcetest.Call) salesforcetest.Fault { return tt.fault })
		var err error
		for _, e := range life("refused") {
			if err = b.Sync(t.Context(), e); err != nil {
				break
			}
		}
		refusal, ok := errors.AsType[*checkout.CRMRefusal](err)
		if !ok || len(refusal.Faults) != 1 || refusal.Faults[0].Field != tt.want {
			t.Errorf("%+v: Sync = %v, want a refusal of %s", tt.fault, err, tt.want)
		}
		for _, personal := range []string{"Brien", "Māia", "maia@", "01-0902"} {
			if strings.Contains(fmt.Sprint(err), personal) {
				t.Errorf("%+v: Sync = %v, which has personal data", tt.fault, err)
			}
		}
	}
}

// judge checks that an organisation has one set of records of an enrolment, completed once.
func (b *bench) judge(t *testing.T, e checkout.Enrolment, what string) {
	t.Helper()
	got := b.stored(t, e.Checkout)
	stages := []string{"Prospecting", "Closed Won", "Closed Lost"}
	if got.Contacts != 1 || got.Enrolments != 1 || got.Authorities != 1 || got.Agreements != 1 || got.Documents != 1 ||
		!slices.Equal(got.Stages, stages) {
		t.Errorf("%s: the organisation has %+v, want one of each, through %q", what, got, stages)
	}
}

// Each call of a life of an enrolment meets a fault, one at a time, and is repeated.
func TestOneSetOfRecordsWhateverACallMeets(t *testing.T) {
	for _, fault := range []salesforcetest.Fault{
		{Kind: salesforcetest.TornBody},
		{Kind: salesforcetest.OtherBody, Body: `{}`, After: true},
		{Kind: salesforcetest.OtherBody, Body: `[]`},
		{Kind: salesforcetest.OtherBody, Body: `{"compositeResponse": [{"httpStatusCode": 200, "body": null}]}`, After: true},
		{Kind: salesforcetest.OtherBody, Body: "<html>"},
		{Kind: salesforcetest.OtherBody, Body: strings.Repeat(" ", 5<<20), After: true},
		{Kind: salesforcetest.ServerError, After: true},
		{Kind: salesforcetest.HTML},
		{Kind: salesforcetest.HTML, After: true},
		{Kind: salesforcetest.ExpiredToken},
		{Kind: salesforcetest.ExpiredToken, After: true},
		{Kind: salesforcetest.Refuse, Code: "UNABLE_TO_LOCK_ROW"},
	} {
		for at, met := 1, true; met; at++ {
			b := newBench(t)
			b.org.Faults(func(c salesforcetest.Call) salesforcetest.Fault {
				if c.Number == at {
					return fault
				}
				return salesforcetest.Fault{}
			})
			all := life("met")
			for _, e := range all {
				err := b.Sync(t.Context(), e)
				if errors.As(err, new(*checkout.CRMRefusal)) {
					t.Errorf("%s at call %d: %v, want no refusal", fault.Kind, at, err)
				}
				if err != nil {
					b.told(t, e)
				}
			}
			b.judge(t, all[len(all)-1], fmt.Sprintf("%s %.20q at call %d", fault.Kind, fault.Body, at))
			met = len(b.org.Calls()) > at
		}
	}
}

// delaying is a network that keeps one request back: its sender has no answer, and goes on.
type delaying struct {
	at   int // requests that were sent before
	sent int
	late *http.Request
}

// RoundTrip implements http.RoundTripper.
func (d *delaying) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.sent++; d.sent != d.at+1 {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	d.late = r.Clone(context.WithoutCancel(r.Context()))
	d.late.Body = io.NopCloser(bytes.NewReader(body))
	return nil, errors.New("the connection was reset")
}

// A request may arrive long after its sender gave it up and made another.
func TestARequestThatComesLateChangesNothing(t *testing.T) {
	for at := 0; ; at++ {
		network := &delaying{at: at}
		b := newBench(t, func(_ *salesforcetest.Options, o *salesforce.Options) { o.Transport = network })
		all := life("late")
		for _, e := range all {
			if err := b.Sync(t.Context(), e); err != nil {
				b.told(t, e)
			}
		}
		if network.late == nil {
			if at == 0 {
				t.Fatal("no request was sent")
			}
			return
		}
		before := len(b.org.Journal())
		answer, err := http.DefaultTransport.RoundTrip(network.late)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if now := b.org.Journal(); len(now) != before {
			t.Errorf("%s %s, request %d, came late and wrote %+v", network.late.Method, network.late.URL.Path, at+1, now[before:])
		}
		b.judge(t, all[len(all)-1], fmt.Sprintf("request %d came late", at+1))
	}
}

// Somebody at the organisation deletes what belongs to an enrolment.
func TestADeletedContactOrEnrolmentIsARefusal(t *testing.T) {
	for _, object := range []string{"Contact", "Opportunity"} {
		b := newBench(t)
		all := life("deleted")
		b.told(t, all[:2]...)
		b.org.Delete(b.org.Records(object)[0]["Id"])
		err := b.Sync(t.Context(), all[2])
		if refusal, ok := errors.AsType[*checkout.CRMRefusal](err); !ok || refusal.Code != checkout.CRMMissing {
			t.Errorf("Sync after the %s was deleted = %v, want the refusal %s", object, err, checkout.CRMMissing)
		}
	}
}

func TestAnEnrolmentOfAnotherEnvironmentIsNotSent(t *testing.T) {
	b := newBench(t)
	e := crmtest.Opened("other")
	e.Environment = catalogue.Production
	if err := b.Sync(t.Context(), e); err == nil || len(b.org.Calls()) > 0 {
		t.Errorf("Sync of a production enrolment in the sandbox = %v after %d calls", err, len(b.org.Calls()))
	}
}

func TestTheSameStudentMayEnrolTwice(t *testing.T) {
	b := newBench(t)
	b.told(t, crmtest.Opened("one"), crmtest.Opened("two"))
	if n := len(b.org.Records("Contact")); n != 2 {
		t.Errorf("there are %d contacts, want one for each enrolment", n)
	}
}

func TestTheNamesOfTheMappingAreWritten(t *testing.T) {
	const mapping = `{"Direct_Debit_Authority__c": "Debit__c", "Direct_Debit_Authority__c.Enrolment_Stage__c": "step__c",
		"Contact.Email": "Mail__c", "Payment_Plan_Agreement__c.Direct_Debit_Authority__c": "Debit__c"}`
	b := newBench(t, mapped(t, mapping), func(sim *salesforcetest.Options, _ *salesforce.Options) {
		sim.Schema = salesforcetest.DefaultSchema()
		sim.Schema.Field("Contact.Email").Name = "Mail__c"
		sim.Schema.Field("Direct_Debit_Authority__c.Enrolment_Stage__c").Name = "Step__c"
		to := sim.Schema.Field("Payment_Plan_Agreement__c.Direct_Debit_Authority__c")
		to.Name, to.To = "Debit__c", "Debit__c"
		for _, o := range sim.Schema {
			if o.Name == "Direct_Debit_Authority__c" {
				o.Name = "Debit__c"
			}
		}
	})
	all := life("mapped")
	b.told(t, all[:3]...)
	b.told(t, crmtest.Over(all[2], checkout.Enrolment{})) // of a store that was restored, which looks
	debit, agreed := b.org.Records("Debit__c"), b.org.Records("Payment_Plan_Agreement__c")
	if len(debit) != 1 || debit[0]["Step__c"] != "complete" || len(agreed) != 1 || agreed[0]["Debit__c"] != debit[0]["Id"] {
		t.Errorf("there are the authorities %v and agreements %v, want one complete", debit, agreed)
	}
	at := all[2].Checkout.Setup.Consent.At
	if got := debit[0]["Consent_Given_At__c"]; got != at.Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("the consent was given at %s, want %s", got, at)
	}
}
