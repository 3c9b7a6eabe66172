package salesforce_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/crmtest"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

const (
	clientID     = "3MVGclient"
	clientSecret = "sandbox_client_secret"
)

// bench is the CRM over a simulator.
type bench struct {
	*salesforce.CRM
	sim    *salesforcetest.Simulator
	client *simtest.Client
}

// newBench returns a bench on which time passes by Advance alone: the calls of a day are counted anew at its end.
func newBench(t testing.TB, change ...func(*salesforcetest.Options, *salesforce.Options)) *bench {
	t.Helper()
	simulated := salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret, Sandbox: true, Now: simtest.Started}
	o := salesforce.Options{Environment: catalogue.Sandbox, ClientID: clientID, ClientSecret: clientSecret}
	for _, f := range change {
		f(&simulated, &o)
	}
	sim := salesforcetest.New(simulated)
	client := simtest.Serve(t, sim)
	o.URL = client.URL
	if o.Now == nil {
		o.Now = sim.Now
	}
	c, err := salesforce.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.PassPauses(sim.Advance)
	return &bench{c, sim, client}
}

// opened opens the enrolment.
func (b *bench) opened(t *testing.T) checkout.Records {
	t.Helper()
	records, err := b.Open(t.Context(), enrolment())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// wantRefusal checks that an error is the refusal of an enrolment.
func wantRefusal(t *testing.T, err error, code string) *checkout.CRMRefusal {
	t.Helper()
	refused, ok := errors.AsType[*checkout.CRMRefusal](err)
	if !ok || refused.Code != code {
		t.Fatalf("the error is %v, want the refusal %s", err, code)
	}
	return refused
}

// completed completes the enrolment that has these records.
func (b *bench) completed(t *testing.T, c checkout.Completion) checkout.Completed {
	t.Helper()
	done, err := b.Complete(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// insert adds a record to the organisation as it is.
func (b *bench) insert(t *testing.T, object string, values map[string]any) {
	t.Helper()
	if _, err := b.sim.Insert(object, values); err != nil {
		t.Fatal(err)
	}
}

// administrator returns a client of the organisation's API that is signed in.
func (b *bench) administrator(t *testing.T) *simtest.Client {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID}, "client_secret": {clientSecret}}
	token := b.client.OK(http.StatusOK, http.MethodPost, "/services/oauth2/token", form.Encode(),
		simtest.With("Content-Type", "application/x-www-form-urlencoded")).Text("access_token")
	return &simtest.Client{TB: t, URL: b.client.URL, Below: "/services/data/v61.0/sobjects/",
		Edits: []simtest.Edit{simtest.With("Authorization", "Bearer "+token)}}
}

func TestCRM(t *testing.T) {
	crmtest.CRM(t, func(t *testing.T) crmtest.Bench {
		b := newBench(t)
		return crmtest.Bench{CRM: b.CRM, Stored: b.stored, Stop: b.stop}
	})
}

// The calls count for the organisation's daily limit, which its other clients need too.
func TestAnEnrolmentTakesSevenCalls(t *testing.T) {
	b := newBench(t)
	calls := func(what string, want int, do func() error) {
		t.Helper()
		before := b.sim.Statistics().Usage
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n := b.sim.Statistics().Usage - before; n != want {
			t.Errorf("%s takes %d calls, want %d", what, n, want)
		}
	}
	var records checkout.Records
	open := func() (err error) { records, err = b.Open(t.Context(), enrolment()); return err }
	complete := func() error { _, err := b.Complete(t.Context(), completion(records)); return err }
	calls("the first open", 2, open)
	calls("an open that is repeated", 1, open)
	calls("the first completion", 5, complete)
	calls("a completion that is repeated", 1, complete)
	if n := b.sim.Statistics().Tokens; n != 1 {
		t.Errorf("%d tokens, want 1", n)
	}
}

// stop has a rule of the organisation refuse the step that follows.
func (b *bench) stop(t *testing.T, c checkout.Completion, after crmtest.Step) {
	t.Helper()
	refused := map[crmtest.Step]string{crmtest.StepAgreement: "ContentVersion", crmtest.StepDocument: "Direct_Debit_Authority__c"}
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultValidation, Object: refused[after]})
	defer b.sim.Disarm()
	if got, err := b.Complete(t.Context(), c); err == nil {
		t.Fatalf("Complete = %+v, though it was to be stopped after the %s", got, after)
	}
}

// with returns the record of an object whose field has a value.
func (b *bench) with(object, field, value string) map[string]string {
	for _, r := range b.sim.Records(object) {
		if r[field] == value {
			return r
		}
	}
	return map[string]string{}
}

// stored reads the simulator as crmtest wants it.
func (b *bench) stored(t *testing.T, id string) crmtest.Stored {
	t.Helper()
	o := b.with("Opportunity", "Id", id)
	person := b.with("Contact", "Id", b.with("OpportunityContactRole", "OpportunityId", id)["ContactId"])
	authority := b.with("Direct_Debit_Authority__c", "Opportunity__c", id)
	agreed := b.with("Payment_Plan_Agreement__c", "Opportunity__c", id)
	number, _ := strconv.Atoi(o["Number_Of_Instalments__c"])
	records := b.sim.Statistics().Records
	s := crmtest.Stored{
		Student:    checkout.Student{FirstName: person["FirstName"], LastName: person["LastName"], Email: person["Email"]},
		CheckoutID: o["Checkout_Id__c"],
		Intent: checkout.Intent{CourseName: o["Course_Name__c"],
			Pricing: money.Pricing{Price: cents(t, o["Course_Price__c"]), Upfront: cents(t, o["Upfront_Payment__c"]),
				Principal: cents(t, o["Amount_To_Finance__c"])},
			Plan: money.Plan{Frequency: money.Frequency(o["Payment_Frequency__c"]), First: date(t, o["First_Payment_Date__c"]),
				Instalments: money.Instalments{Number: number, Regular: cents(t, o["Instalment_Amount__c"]),
					Final: cents(t, o["Final_Instalment_Amount__c"])}}},
		Agreement: agreed["Agreement_Number__c"], MandateID: authority["Mandate_Id__c"], AccountHolder: authority["Account_Holder__c"],
		Mandate: checkout.MandateStatus(authority["Mandate_Status__c"]), MandateReason: authority["Mandate_Reason__c"],
		Authorisation: checkout.AuthorisationStatus(authority["Status__c"]),
		Complete:      o["StageName"] == "Closed Won",
		Counts: crmtest.Counts{Contacts: records["Contact"], Opportunities: records["Opportunity"], Authorities: records["Direct_Debit_Authority__c"],
			Agreements: records["Payment_Plan_Agreement__c"], Documents: records["ContentDocument"]},
	}
	if at := o["Ended_At__c"]; at != "" {
		s.EndedAt, _ = time.Parse(time.RFC3339Nano, at)
		s.Withdrawn = strings.HasPrefix(o["End__c"], "withdrawn")
	}
	if since := authority["Mandate_Changed_At__c"]; since != "" {
		s.MandateSince, _ = time.Parse(time.RFC3339Nano, since)
	}
	if agreed["Course_Price__c"] != "" {
		s.Price = cents(t, agreed["Course_Price__c"])
	}
	if pdf := agreed["PDF_Content_Document_Id__c"]; pdf != "" {
		version := b.with("ContentVersion", "ContentDocumentId", pdf)
		if version["FirstPublishLocationId"] != agreed["Id"] || version["PDF_SHA256__c"] != agreed["PDF_SHA256__c"] {
			t.Errorf("the document %v is not that of the agreement %v", version, agreed)
		}
		s.Document = []byte(version["VersionData"])
	}
	ours := []string{o["Id"], person["Id"], authority["Id"], agreed["Id"]}
	for _, e := range b.sim.Journal() {
		switch {
		case !slices.Contains(ours, e.ID) && e.Type != "ContentVersion" && e.Type != "ContentDocument", len(e.Changed) == 0:
		case e.ID == id && slices.Contains(e.Changed, "StageName") && e.Fields["StageName"] == "Closed Won":
			s.Completions++
		case s.Completions > 0 && slices.Contains(ours, e.ID):
			s.ChangedAfter++
		}
	}
	return s
}

func cents(t *testing.T, text string) money.Cents {
	t.Helper()
	c, err := money.Parse(strings.TrimSpace(text))
	if err != nil {
		t.Errorf("amount %q: %v", text, err)
	}
	return c
}

func date(t *testing.T, text string) money.Date {
	t.Helper()
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Errorf("date %q: %v", text, err)
	}
	return money.DateOf(d)
}
