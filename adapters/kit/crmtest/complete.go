package crmtest

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// full has the numbers of records of one complete enrolment.
var full = Counts{Contacts: 1, Opportunities: 1, Authorities: 1, Agreements: 1, Documents: 1}

func completionStores(t *testing.T, b Bench) {
	e, c := b.opened(t, "a")
	b.complete(t, c)
	got := b.Stored(t, c.Records.OpportunityID)
	want := Stored{Student: e.Student, CheckoutID: e.CheckoutID, Intent: e.Intent, Agreement: c.Agreement.Number, Price: e.Intent.Pricing.Price,
		Document: c.Document.Bytes, MandateID: "MD1", AccountHolder: "M O'BRIEN",
		Mandate: checkout.MandatePendingSubmission, Authorisation: checkout.CustomerInProgress, Complete: true, Completions: 1, Counts: full}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, want %+v", got, want)
	}
}

func completionRepeated(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	first := b.complete(t, c)
	redrawn := c
	redrawn.Document = rendered("%PDF-1.7 other")
	redrawn.Setup.MandateID = "MD2"
	b.unchanged(t, c.Records.OpportunityID, func() {
		for _, later := range []checkout.Completion{c, redrawn, c} {
			if again := b.complete(t, later); again != first {
				t.Errorf("Complete again = %+v, want %+v", again, first)
			}
		}
	})
}

func concurrentCompletions(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	together(t, func(int) (checkout.Completed, error) { return b.CRM.Complete(t.Context(), c) })
	b.wantComplete(t, c, c.Document.Bytes, 1)
}

func concurrentAgreements(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	completions := make([]checkout.Completion, many)
	for i := range completions {
		completions[i] = c
		completions[i].Agreement.Number = agreement.NewNumber(2027, [8]byte{7: byte(i)})
		completions[i].Document = rendered("%PDF-1.7 " + completions[i].Agreement.Number)
	}
	_, errs := attempts(func(i int) (checkout.Completed, error) { return b.CRM.Complete(t.Context(), completions[i]) })
	got := b.wantComplete(t, c, nil, 1)
	for i, c := range completions {
		var refused *checkout.CRMRefusal
		switch stored := c.Agreement.Number == got.Agreement; {
		case stored && (errs[i] != nil || !bytes.Equal(got.Document, c.Document.Bytes)):
			t.Errorf("the completion whose agreement is stored: %v, with the document %q", errs[i], got.Document)
		case !stored && !errors.As(errs[i], &refused):
			t.Errorf("completion %d of %d at once with other agreements: %v, want a refusal", i, many, errs[i])
		}
	}
	if got.Agreement == "" {
		t.Errorf("stored %+v, want one of the agreements", got)
	}
}

func completionWithoutDocument(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	withDocument := c
	c.Document = nil
	first := b.complete(t, c)
	if again, err := b.CRM.Complete(t.Context(), withDocument); err != nil || again != first {
		t.Errorf("Complete again = %+v, %v; want %+v: nothing is written any more", again, err, first)
	}
	b.wantAgreed(t, c, true, false)
	got := b.Stored(t, c.Records.OpportunityID)
	if !got.Complete || got.Completions != 1 || len(got.Document) > 0 || got.Counts.Documents != 0 {
		t.Errorf("stored %+v, want it complete without a document", got)
	}
}

func openAfterCompletion(t *testing.T, b Bench) {
	e, c := b.opened(t, "a")
	b.complete(t, c)
	b.unchanged(t, c.Records.OpportunityID, func() {
		if again := b.open(t, anew(e)); again != c.Records {
			t.Errorf("Open after the completion = %+v, want %+v", again, c.Records)
		}
	})
}

func completionRefused(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	_, theirs := b.opened(t, "b")
	for range 2 { // before it is complete, and after
		notOpened, others, unknown := c, c, c
		notOpened.EnrolmentKey = b.enrolment("c").EnrolmentKey
		others.Records = theirs.Records
		unknown.Records.OpportunityID, unknown.Records.DDAID = "../Opportunity", "' OR Id != '"
		b.unchanged(t, c.Records.OpportunityID, func() { b.wantRefusals(t, notOpened, others, unknown) })
		b.complete(t, c)
	}
	second := c
	second.Agreement.Number = agreement.NewNumber(2027, [8]byte{1, 2, 3})
	theirs.Agreement.Number, theirs.Document = c.Agreement.Number, nil // the number is taken
	b.unchanged(t, c.Records.OpportunityID, func() { b.wantRefusals(t, second, theirs) })
}

// wantRefusals completes enrolments, which must be refused without a word of their students.
func (b Bench) wantRefusals(t *testing.T, completions ...checkout.Completion) {
	t.Helper()
	for i, c := range completions {
		got, err := b.CRM.Complete(t.Context(), c)
		var refused *checkout.CRMRefusal
		if !errors.As(err, &refused) || refused.Code == "" {
			t.Errorf("completion %d: Complete = %+v, %v; want a refusal", i, got, err)
			continue
		}
		student := c.Agreement.Student
		for _, personal := range []string{student.FirstName, student.LastName, student.Email, c.Setup.AccountHolder} {
			if strings.Contains(err.Error(), personal) {
				t.Errorf("the refusal repeats %q: %v", personal, err)
			}
		}
	}
}
