package salesforce_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

var key = checkout.EnrolmentKey{Environment: catalogue.Sandbox, ProviderCode: "KOWHAI", OrderID: "ENR-1"}

func enrolment() checkout.Enrolment {
	return checkout.Enrolment{EnrolmentKey: key, CheckoutID: "KOWHAI-1-a",
		Student: checkout.Student{FirstName: "Māia", LastName: "O'Brien", Email: "maia@example.nz"},
		Intent: checkout.Intent{CourseName: "Diploma in Business", Pricing: money.Pricing{Price: 100_00, Principal: 100_00},
			Plan: money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 3, Regular: 33_33, Final: 33_34},
				First: money.Date{Year: 2027, Month: time.February, Day: 1}}}}
}

func completion(records checkout.Records) checkout.Completion {
	e, pdf := enrolment(), []byte("%PDF-1.7")
	return checkout.Completion{EnrolmentKey: key, Records: records,
		Agreement: agreement.Agreement{Number: "PPA-2027-000000001A5", Version: agreement.Version, CheckoutID: e.CheckoutID,
			AcceptedAt: time.Date(2027, 1, 15, 3, 12, 5, 0, time.UTC), Student: agreement.Student(e.Student),
			Course: agreement.Course{Name: e.Intent.CourseName}, Pricing: e.Intent.Pricing, Plan: e.Intent.Plan},
		Document: &agreement.Document{SHA256: sha256.Sum256(pdf), Bytes: pdf},
		Setup: checkout.Setup{BillingRequestID: "BRQ1", Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilled,
			Mandate: checkout.MandateActive, MandateID: "MD1", Authorisation: checkout.Authorised, AccountHolder: "M O'BRIEN", AccountMask: "01-0902-•••••23-00"}}}
}

// calls are the calls of the adapter, as a fault names them.
var calls = []salesforcetest.Fault{
	{Path: "/services/oauth2/token"},
	{Path: "/services/data/*/composite"},
	{Path: "/services/data/*/composite", Object: "Contact"},
	{Path: "/services/data/*/composite", Object: "Payment_Plan_Agreement__c"},
	{Path: "/services/data/*/composite", Object: "Direct_Debit_Authority__c"},
	{Path: "/services/data/*/composite", Object: "Opportunity"},
	{Path: "/services/data/*/query"},
	{Method: "POST", Path: "/services/data/*/sobjects/ContentVersion"},
}

// complain fails the test for an error that says more than what went wrong.
func complain(t *testing.T, err error, more ...string) {
	t.Helper()
	for _, secret := range append(more, clientSecret, "Māia", "O'Brien", "O'BRIEN", "maia@", "Diploma", "<html", "00D", "MD1") {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error repeats %q: %v", secret, err)
		}
	}
}

// until repeats a call as its caller does after an outcome that is unknown.
func until[T any](t *testing.T, on salesforcetest.Fault, f func(context.Context) (T, error)) T {
	t.Helper()
	for range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		result, err := f(ctx)
		cancel()
		if err == nil {
			return result
		}
		complain(t, err)
		var refused *checkout.CRMRefusal
		if errors.As(err, &refused) != (on.Kind == salesforcetest.FaultValidation) {
			t.Errorf("%+v: %v; only a rule of the organisation is a refusal", on, err)
		}
	}
	t.Error("the call never succeeds")
	var none T
	return none
}

// Whatever happens to any call there is one set of records in the end, and the write that completes the enrolment is made
// once and last. A call that fails more often than the adapter tries again is repeated by its caller.
func TestOneSetOfRecordsUnderEveryFaultOfEveryCall(t *testing.T) {
	lasting := []salesforcetest.FaultKind{salesforcetest.FaultResetAfter, salesforcetest.FaultLockedRow, salesforcetest.FaultDuplicateValue}
	for _, kind := range salesforcetest.FaultKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			times := []int{1}
			if slices.Contains(lasting, kind) {
				times = []int{1, 5}
			}
			var all sync.WaitGroup
			for _, on := range calls {
				for _, on.Times = range times {
					on.Kind, on.Hang = kind, 20*time.Millisecond
					fault := on
					all.Go(func() { oneSetUnder(t, newBench(t), fault) })
				}
			}
			all.Wait()
		})
	}
}

// oneSetUnder opens and completes an enrolment under a fault, each twice, and looks for its agreement.
func oneSetUnder(t *testing.T, b *bench, on salesforcetest.Fault) {
	t.Helper()
	open := func(ctx context.Context) (checkout.Records, error) { return b.Open(ctx, enrolment()) }
	b.sim.Arm(on)
	records := until(t, on, open)
	complete := func(ctx context.Context) (checkout.Completed, error) { return b.Complete(ctx, completion(records)) }
	b.sim.Arm(on)
	first := until(t, on, complete)
	b.sim.Arm(on)
	look := func(ctx context.Context) (checkout.Agreed, error) { return b.Agreed(ctx, key) }
	if got, want := until(t, on, look), completion(records).Agreement; got.Number != want.Number || !got.AcceptedAt.Equal(want.AcceptedAt) {
		t.Errorf("%+v: Agreed = %+v, want %s of %s", on, got, want.Number, want.AcceptedAt)
	}
	b.sim.Disarm()
	b.wantOneSet(t, on)
	written := len(b.sim.Journal())
	if again, reopened := until(t, on, complete), until(t, on, open); again != first || reopened != records {
		t.Errorf("%+v: again %+v and %+v, want %+v and %+v", on, reopened, again, records, first)
	}
	if now := len(b.sim.Journal()); now != written {
		t.Errorf("%+v: a repeat wrote %d records", on, now-written)
	}
}

func (b *bench) wantOneSet(t *testing.T, on salesforcetest.Fault) {
	t.Helper()
	records := b.sim.Statistics().Records
	for _, object := range []string{"Contact", "Opportunity", "OpportunityContactRole", "Direct_Debit_Authority__c", "Payment_Plan_Agreement__c",
		"ContentVersion", "ContentDocument"} {
		if records[object] != 1 {
			t.Errorf("%+v: %d records of %s, want 1", on, records[object], object)
		}
	}
	journal := b.sim.Journal()
	completing := func(e salesforcetest.Entry) bool {
		return e.Type == "Opportunity" && e.Fields["StageName"] == "Closed Won"
	}
	if at := slices.IndexFunc(journal, completing); at != len(journal)-1 {
		t.Errorf("%+v: the write that completes is %d of %d, want it once and last: %+v", on, at+1, len(journal), journal)
	}
}

func TestARuleOfTheOrganisationIsADefiniteRefusal(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultValidation, Object: "Opportunity"})
	_, err := b.Open(t.Context(), enrolment())
	wantRefusal(t, err, "FIELD_CUSTOM_VALIDATION_EXCEPTION")
	if n := b.sim.Statistics().Calls["POST /composite"]; n != 2 {
		t.Errorf("%d composite requests, want a look and one try", n)
	}
	if len(b.sim.Journal()) != 0 {
		t.Errorf("a refused open wrote %+v", b.sim.Journal())
	}
}

func TestALongNameIsRefusedByTheContractsName(t *testing.T) {
	b := newBench(t)
	e := enrolment()
	e.Student.FirstName, e.Student.LastName = strings.Repeat("ā", 41), strings.Repeat("b", 81)
	_, err := b.Open(t.Context(), e)
	want := []checkout.Fault{{Field: "student.first_name", Message: "must have at most 40 characters"},
		{Field: "student.last_name", Message: "must have at most 80 characters"}}
	refused := wantRefusal(t, err, "STRING_TOO_LONG")
	slices.SortFunc(refused.Faults, func(a, b checkout.Fault) int { return strings.Compare(a.Field, b.Field) })
	if !slices.Equal(refused.Faults, want) {
		t.Errorf("faults %+v, want %+v", refused.Faults, want)
	}
	complain(t, err, e.Student.FirstName, e.Student.LastName)
}

// A call that hangs ends, however long its caller would wait.
func TestACallThatHangsEnds(t *testing.T) {
	testlevel.Full(t) // it waits for a time-out
	t.Parallel()
	b := newBench(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultTimeout, Times: 1})
	began := time.Now()
	if _, err := b.Open(t.Context(), enrolment()); err != nil || testlevel.Elapsed(began) > 20*time.Second {
		t.Errorf("Open = %v after %s, want it made good after one time-out", err, time.Since(began))
	}
}

// What the organisation refuses is not released if some of it is there.
func TestARefusedOpenSaysWhetherRecordsAreThere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first string // of the student
		kept  bool
	}{
		{"in one request", "Māia", false},
		{"in a request each, for a text that Salesforce would take for a reference", "@{Māia", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultValidation, Object: "Opportunity", Probability: 1})
			e := enrolment()
			e.Student.FirstName = tt.first
			_, err := b.Open(t.Context(), e)
			refused := wantRefusal(t, err, "FIELD_CUSTOM_VALIDATION_EXCEPTION")
			if refused.Made != tt.kept || len(refused.Faults) != 1 || refused.Faults[0].Field != "Opportunity" {
				t.Errorf("Open = %v (%+v); want a refusal of the opportunity that says that records are there: %v", err, refused, tt.kept)
			}
			if n := len(b.sim.Records("Contact")); (n > 0) != tt.kept {
				t.Errorf("%d contacts are there", n)
			}
		})
	}
}

// A user who may not look says nothing of an enrolment.
func TestARefusedLookIsNoRefusalOfTheEnrolment(t *testing.T) {
	var parts []string
	for _, name := range []string{"contact", "opportunity", "contact_role", "authority"} {
		parts = append(parts, `{"body":[{"errorCode":"INSUFFICIENT_ACCESS","message":"no"}],"httpStatusCode":403,"referenceId":"`+name+`"}`)
	}
	c := newTransported(t, func(*http.Request) (int, string) {
		return http.StatusOK, `{"compositeResponse":[` + strings.Join(parts, ",") + `]}`
	})
	_, err := c.Open(t.Context(), enrolment())
	if err == nil || errors.As(err, new(*checkout.CRMRefusal)) || !strings.Contains(err.Error(), "INSUFFICIENT_ACCESS") {
		t.Errorf("Open = %v, want an unknown outcome", err)
	}
}

func TestTheAgreementSaysFromWhenItMayBeCollected(t *testing.T) {
	b := newBench(t)
	c := completion(b.opened(t))
	c.Agreement.Plan.First = money.Date{Year: 2027, Month: time.January, Day: 16}
	c.Agreement.Schedule = money.Schedule(0, c.Agreement.Plan)
	c.Agreement.Notice = agreement.Notice{Days: 10, NotBefore: money.Date{Year: 2027, Month: time.January, Day: 25}}
	b.completed(t, c)
	stored := b.sim.Records("Payment_Plan_Agreement__c")[0]
	if fmt.Sprint(stored["First_Payment_Date__c"], " ", stored["Collect_From__c"], " ", stored["Notice_Days__c"]) != "2027-01-16 2027-01-25 10" {
		t.Errorf("stored %v", stored)
	}
}
