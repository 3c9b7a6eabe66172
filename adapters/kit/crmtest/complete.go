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
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	b.complete(t, c)
	got := b.Stored(t, c.Records.OpportunityID)
	want := Stored{Student: e.Student, CheckoutID: e.CheckoutID, Intent: e.Intent, Agreement: c.Agreement.Number, Price: e.Intent.Pricing.Price,
		Document: c.Document.Bytes, MandateID: "MD1", AccountHolder: "M O'BRIEN", Complete: true, Completions: 1, Counts: full}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, want %+v", got, want)
	}
}

func completionRepeated(t *testing.T, b Bench) {
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	first := b.complete(t, c)
	before := b.Stored(t, c.Records.OpportunityID)
	redrawn := c
	redrawn.Document = rendered("%PDF-1.7 other")
	redrawn.Setup.MandateID = "MD2"
	for _, later := range []checkout.Completion{c, redrawn, c} {
		if again := b.complete(t, later); again != first {
			t.Errorf("Complete again = %+v, want %+v", again, first)
		}
	}
	if after := b.Stored(t, c.Records.OpportunityID); !reflect.DeepEqual(after, before) {
		t.Errorf("stored %+v, want %+v as the first completion left it", after, before)
	}
}

func concurrentCompletions(t *testing.T, b Bench) {
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	completed, errs := make([]checkout.Completed, many), make([]error, many)
	together(func(i int) { completed[i], errs[i] = b.CRM.Complete(t.Context(), c) })
	for i := range completed {
		if errs[i] != nil || completed[i] != completed[0] {
			t.Errorf("completion %d of %d at once: %+v, %v; want %+v as of the others", i, many, completed[i], errs[i], completed[0])
		}
	}
	got := b.Stored(t, c.Records.OpportunityID)
	if !got.Complete || got.Completions != 1 || got.ChangedAfter != 0 || got.Counts != full {
		t.Errorf("stored %+v; want it complete once and last, and %+v", got, full)
	}
}

func concurrentAgreements(t *testing.T, b Bench) {
	e := b.enrolment("a")
	records := b.open(t, e)
	completions, errs := make([]checkout.Completion, many), make([]error, many)
	for i := range completions {
		completions[i] = b.completion(e, records)
		completions[i].Agreement.Number = agreement.NewNumber(2027, [8]byte{7: byte(i)})
		completions[i].Document = rendered("%PDF-1.7 " + completions[i].Agreement.Number)
	}
	together(func(i int) { _, errs[i] = b.CRM.Complete(t.Context(), completions[i]) })
	got := b.Stored(t, records.OpportunityID)
	for i, c := range completions {
		var refused *checkout.CRMRefusal
		switch stored := c.Agreement.Number == got.Agreement; {
		case stored && (errs[i] != nil || !bytes.Equal(got.Document, c.Document.Bytes)):
			t.Errorf("the completion whose agreement is stored: %v, with the document %q", errs[i], got.Document)
		case !stored && !errors.As(errs[i], &refused):
			t.Errorf("completion %d of %d at once with other agreements: %v, want a refusal", i, many, errs[i])
		}
	}
	if got.Agreement == "" || !got.Complete || got.Completions != 1 || got.ChangedAfter != 0 || got.Counts != full {
		t.Errorf("stored %+v; want it complete once and last, and %+v", got, full)
	}
}

func completionWithoutDocument(t *testing.T, b Bench) {
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	withDocument := c
	c.Document = nil
	first := b.complete(t, c)
	if again, err := b.CRM.Complete(t.Context(), withDocument); err != nil || again != first {
		t.Errorf("Complete again = %+v, %v; want %+v: nothing is written any more", again, err, first)
	}
	got := b.Stored(t, c.Records.OpportunityID)
	if !got.Complete || got.Completions != 1 || len(got.Document) > 0 || got.Counts.Documents != 0 {
		t.Errorf("stored %+v, want it complete without a document", got)
	}
}

func openAfterCompletion(t *testing.T, b Bench) {
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	b.complete(t, c)
	before := b.Stored(t, c.Records.OpportunityID)
	if again := b.open(t, anew(e)); again != c.Records {
		t.Errorf("Open after the completion = %+v, want %+v", again, c.Records)
	}
	if after := b.Stored(t, c.Records.OpportunityID); !reflect.DeepEqual(after, before) {
		t.Errorf("stored %+v, want %+v as the completion left it", after, before)
	}
}

func completionOfNothing(t *testing.T, b Bench) {
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	c.EnrolmentKey = b.enrolment("b").EnrolmentKey
	b.wantRefusal(t, c)
}

func completionOfOtherRecords(t *testing.T, b Bench) {
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	c.Records = b.open(t, b.enrolment("b"))
	b.wantRefusal(t, c)
	c.Records.OpportunityID, c.Records.DDAID = "../Opportunity", "' OR Id != '"
	b.wantRefusal(t, c)
}

func secondAgreement(t *testing.T, b Bench) {
	e := b.enrolment("a")
	c := b.completion(e, b.open(t, e))
	elsewhere := b.enrolment("b")
	theirs := b.completion(elsewhere, b.open(t, elsewhere))
	theirs.Agreement.Number, theirs.Document = c.Agreement.Number, nil
	b.complete(t, c)
	b.wantRefusal(t, theirs) // the number is taken
	c.Agreement.Number = agreement.NewNumber(2027, [8]byte{1, 2, 3})
	b.wantRefusal(t, c)
	if got := b.Stored(t, c.Records.OpportunityID); got.Counts.Agreements != 1 || got.Agreement == c.Agreement.Number ||
		!bytes.Equal(got.Document, c.Document.Bytes) {
		t.Errorf("stored %+v, want one agreement, as it was", got)
	}
}

// wantRefusal completes an enrolment, which must be refused without a word of who it is.
func (b Bench) wantRefusal(t *testing.T, c checkout.Completion) {
	t.Helper()
	got, err := b.CRM.Complete(t.Context(), c)
	var refused *checkout.CRMRefusal
	if !errors.As(err, &refused) || refused.Code == "" {
		t.Errorf("Complete = %+v, %v; want a refusal", got, err)
		return
	}
	for _, personal := range []string{c.Agreement.Student.FirstName, c.Agreement.Student.LastName, c.Agreement.Student.Email, c.Setup.AccountHolder} {
		if strings.Contains(err.Error(), personal) {
			t.Errorf("the refusal repeats %q: %v", personal, err)
		}
	}
}
