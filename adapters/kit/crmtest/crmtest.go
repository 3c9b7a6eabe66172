// Package crmtest tests every CRM outside of the store against what ports.CRM promises. The names of its cases are those
// promises. A failure that only one CRM shows is added here, not to that CRM's own tests.
//
//	func TestCRM(t *testing.T) {
//		crmtest.CRM(t, func(t *testing.T) crmtest.Bench {
//			c := …
//			return crmtest.Bench{CRM: c, Stored: …, Stop: …}
//		})
//	}
package crmtest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Bench is a CRM under test, with what only its implementer can do: look at what it has stored.
type Bench struct {
	CRM ports.CRM
	// Stored returns what the CRM has of the enrolment whose opportunity has this id, and how many records in all.
	Stored func(t *testing.T, opportunityID string) Stored
	// Stop makes a completion that fails once it has done a step, and nothing after it.
	Stop func(t *testing.T, c checkout.Completion, after Step)

	salt string // new in every case, for a CRM that remembers the runs before
}

// Step is one of the steps of a completion.
type Step string

// The steps after which a completion can be stopped.
const (
	StepAgreement Step = "agreement" // the agreement is stored, its document is not
	StepDocument  Step = "document"  // the document is stored too, and the agreement does not name it yet
)

// Stored is the record of one enrolment in a CRM.
type Stored struct {
	Student       checkout.Student
	CheckoutID    string
	Intent        checkout.Intent
	Agreement     string // its number; "" without an agreement
	Price         money.Cents
	Document      []byte
	MandateID     string
	AccountHolder string
	Mandate       checkout.MandateStatus
	MandateReason string
	MandateSince  time.Time // zero where it is not known
	Authorisation checkout.AuthorisationStatus
	Complete      bool
	EndedAt       time.Time // zero unless it has ended
	Withdrawn     bool      // it was withdrawn; else cancelled
	Completions   int       // how often it became complete
	ChangedAfter  int       // writes that changed a record of the enrolment after it became complete
	Counts        Counts    // of all enrolments together
}

// Counts are the numbers of records in a CRM.
type Counts struct{ Contacts, Opportunities, Authorities, Agreements, Documents int }

// Open returns a bench, which is closed by t.Cleanup. Each case has one of its own, and counts what it adds.
type Open = func(t *testing.T) Bench

// CRM runs the whole suite.
func CRM(t *testing.T, open Open) {
	for _, p := range []struct {
		name  string
		check func(t *testing.T, b Bench)
	}{
		{"it is ready for an enrolment, and its description is complete and never changes", infoIsConstant},
		{"an open makes one record of each kind", openMakesOneOfEach},
		{"a later open finds the records that there are, and changes nothing: repeated, with other data, or of another checkout", openRepeated},
		{"a later open with another intent is refused, and changes nothing", openWithOtherIntent},
		{"many opens at once make one set of records", concurrentOpens},
		{"two orders of one student, and the orders of two providers, have records of their own", keysApart},
		{"it takes whatever a checkout may hold, or names what does not fit", anyText},
		{"what goes in is not changed", inputUnchanged},
		{"a completion stores the agreement, the document and the direct debit", completionStores},
		{"a completion that is repeated finds its records and changes nothing", completionRepeated},
		{"many completions at once make one set of records and complete once", concurrentCompletions},
		{"of many agreements of an enrolment at once one is stored", concurrentAgreements},
		{"an enrolment completes without a document", completionWithoutDocument},
		{"an open after the completion changes nothing", openAfterCompletion},
		{"an enrolment that was not opened, other records than on record and a second agreement are refused", completionRefused},
		{"an agreement keeps its document when it is concluded again with another", agreementConcludedAgain},
		{"of many documents of an agreement at once one is stored", concurrentDocuments},
		{"a document that is stored is kept by a completion without one", documentKept},
		{"an update records what became of the direct debit of a complete enrolment, and the latest stays", authorityUpdated},
		{"an update that comes late changes nothing", updateLate},
		{"an update of what was not opened or is not complete, or with other records, is refused", updateRefused},
		{"an end is recorded once and changes nothing else, and neither does anything after it", endRecorded},
		{"an end of what was not opened, of the wrong kind or with other records is refused", endRefused},
		{"an agreement is on record once it is stored", agreedOnRecord},
		{"an agreement is on record though its completion was stopped", agreedThoughStopped},
		{"an enrolment of the other environment is an error", otherEnvironment},
		{"a call whose context has ended is an error that says so", endedContext},
	} {
		t.Run(p.name, func(t *testing.T) {
			b := open(t)
			b.salt = rand.Text()
			if b.CRM == nil || b.Stored == nil || b.Stop == nil {
				t.Fatalf("bench %+v lacks its CRM, Stored or Stop", b)
			}
			p.check(t, b)
		})
	}
}

// enrolment returns an enrolment of its own for a case.
func (b Bench) enrolment(order string) checkout.Enrolment {
	return checkout.Enrolment{
		EnrolmentKey: checkout.EnrolmentKey{Environment: b.CRM.Info().Environment, ProviderCode: "KOWHAI", OrderID: order + " " + b.salt},
		CheckoutID:   "KOWHAI-1800000000000-abcdefgh234567ab",
		Student:      checkout.Student{FirstName: "Māia", LastName: "O'Brien", Email: "maia@students.example.ac.nz"},
		CourseCode:   "NZDIP",
		Intent: checkout.Intent{CourseName: "Diploma in Business",
			Pricing: money.Pricing{Price: 2990_02, Upfront: 200_00, Principal: 2790_02},
			Plan: money.Plan{Frequency: money.Monthly, Instalments: money.Instalments{Number: 4, Regular: 697_50, Final: 697_52},
				First: money.Date{Year: 2027, Month: time.January, Day: 31}}},
	}
}

// completion returns the completion of an enrolment that was opened.
func (b Bench) completion(e checkout.Enrolment, records checkout.Records) checkout.Completion {
	sum := sha256.Sum256([]byte(e.OrderID))
	number := agreement.NewNumber(2027, [8]byte(sum[:8]))
	at := time.Date(2027, time.January, 15, 3, 2, 1, 0, time.UTC)
	consent := agreement.Consent{At: at, From: "203.0.113.7", Terms: agreement.DebitTerms{NoticeDays: 2, Provider: "Kōwhai Institute"}.Name(),
		NoticeDays: 2}
	pdf := []byte("%PDF-1.7 " + number)
	return checkout.Completion{
		EnrolmentKey: e.EnrolmentKey,
		Records:      records,
		Agreement: agreement.Agreement{ID: "agreement " + e.OrderID, Number: number, Version: agreement.Version, CheckoutID: e.CheckoutID,
			OrderID: e.OrderID, AcceptedAt: at.Add(time.Hour),
			Provider: agreement.Party{Code: e.ProviderCode, Name: "Kōwhai Institute"},
			Student:  agreement.Student(e.Student), Course: agreement.Course{Code: e.CourseCode, Name: e.Intent.CourseName},
			Pricing: e.Intent.Pricing, Plan: e.Intent.Plan, Schedule: money.Schedule(e.Intent.Pricing.Upfront, e.Intent.Plan),
			DirectDebit: agreement.DirectDebit{AuthorityID: records.DDAID, AccountHolder: "M O'BRIEN", AccountMask: "01-0902-•••••23-00", AuthorisedAt: at,
				Consent: consent},
			Notice: agreement.Notice{Days: 2, NotBefore: money.Date{Year: 2027, Month: time.January, Day: 17}}},
		Document: &agreement.Document{ID: "document " + e.OrderID, SHA256: sha256.Sum256(pdf), Bytes: pdf},
		Setup: checkout.Setup{Try: 1, BillingRequestID: "BRQ1", Consent: consent, Observation: checkout.Observation{
			BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission, MandateID: "MD1",
			Authorisation: checkout.CustomerInProgress, AccountHolder: "M O'BRIEN", AccountMask: "01-0902-•••••23-00", CompletedAt: at}},
	}
}

// open opens an enrolment, or ends the test.
func (b Bench) open(t *testing.T, e checkout.Enrolment) checkout.Records {
	t.Helper()
	records, err := b.CRM.Open(t.Context(), e)
	if err != nil {
		t.Fatalf("Open of order %q: %v", e.OrderID, err)
	}
	if records.ContactID == "" || records.OpportunityID == "" || records.DDAID == "" {
		t.Fatalf("Open of order %q = %+v, want three ids", e.OrderID, records)
	}
	return records
}

// complete completes an enrolment, or ends the test.
func (b Bench) complete(t *testing.T, c checkout.Completion) checkout.Completed {
	t.Helper()
	completed, err := b.CRM.Complete(t.Context(), c)
	if err != nil {
		t.Fatalf("Complete of order %q: %v", c.OrderID, err)
	}
	if completed.AgreementID == "" || (completed.DocumentID == "") != (c.Document == nil) {
		t.Fatalf("Complete of order %q = %+v, with a document: %v", c.OrderID, completed, c.Document != nil)
	}
	return completed
}

// opened opens an enrolment of its own, and returns it with its completion.
func (b Bench) opened(t *testing.T, order string) (checkout.Enrolment, checkout.Completion) {
	t.Helper()
	e := b.enrolment(order)
	return e, b.completion(e, b.open(t, e))
}

// many is the number of concurrent calls.
const many = 16

// together makes calls at once, which must all have the result of the first.
func together[T comparable](t *testing.T, call func(i int) (T, error)) T {
	t.Helper()
	results, errs := attempts(call)
	for i := range results {
		if errs[i] != nil || results[i] != results[0] {
			t.Errorf("call %d of %d at once: %+v, %v; want %+v as of the others", i, many, results[i], errs[i], results[0])
		}
	}
	return results[0]
}

// attempts makes calls at once.
func attempts[T any](call func(i int) (T, error)) (results []T, errs []error) {
	results, errs = make([]T, many), make([]error, many)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			<-begin
			results[i], errs[i] = call(i)
		})
	}
	close(begin)
	all.Wait()
	return results, errs
}

// unchanged reports if f changes what is stored of an enrolment.
func (b Bench) unchanged(t *testing.T, opportunityID string, f func()) {
	t.Helper()
	before := b.Stored(t, opportunityID)
	f()
	if after := b.Stored(t, opportunityID); !reflect.DeepEqual(after, before) {
		t.Errorf("stored %+v, want %+v as it was", after, before)
	}
}

// wantComplete reports unless an enrolment is complete, once and last, with a document, and there are n complete enrolments.
func (b Bench) wantComplete(t *testing.T, c checkout.Completion, document []byte, n int) Stored {
	t.Helper()
	got := b.Stored(t, c.Records.OpportunityID)
	want := Counts{Contacts: n, Opportunities: n, Authorities: n, Agreements: n, Documents: n}
	otherDocument := document != nil && !bytes.Equal(got.Document, document)
	if !got.Complete || got.Completions != 1 || got.ChangedAfter != 0 || got.Counts != want || otherDocument {
		t.Errorf("stored %+v; want it complete once and last with the document %q, and %+v", got, document, want)
	}
	return got
}
