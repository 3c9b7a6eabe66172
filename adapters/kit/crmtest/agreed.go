package crmtest

import (
	"crypto/sha256"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func agreedOnRecord(t *testing.T, b Bench) {
	e, elsewhere := b.enrolment("a"), b.enrolment("b")
	b.wantNothingAgreed(t, e.EnrolmentKey)
	c := b.completion(e, b.open(t, e))
	c.Agreement.Plan.First = c.Agreement.Plan.First.AddDays(1) // the payer may agree on another day than was planned
	b.open(t, elsewhere)
	b.wantNothingAgreed(t, e.EnrolmentKey)
	b.complete(t, c)
	b.wantAgreed(t, c, true, true)
	b.wantNothingAgreed(t, elsewhere.EnrolmentKey)
	b.wantNothingAgreed(t, b.enrolment("c").EnrolmentKey)
	theirs := e.EnrolmentKey
	theirs.ProviderCode = "TUI"
	b.wantNothingAgreed(t, theirs)
}

func agreedThoughStopped(t *testing.T, b Bench) {
	for _, step := range []Step{StepAgreement, StepDocument} {
		_, c := b.opened(t, string(step))
		b.Stop(t, c, step)
		if got := b.Stored(t, c.Records.OpportunityID); got.Complete || got.Agreement == "" {
			t.Fatalf("stored %+v once a completion was stopped after its %s, want the agreement, and it not complete", got, step)
		}
		b.wantAgreed(t, c, false, step == StepDocument)
		b.complete(t, c)
		b.wantAgreed(t, c, true, true)
	}
}

// rendered is a document of these bytes.
func rendered(text string) *agreement.Document {
	return &agreement.Document{Bytes: []byte(text), SHA256: sha256.Sum256([]byte(text))}
}

// A store that was restored has lost what was rendered, and a later version of the program renders other bytes.
func agreementConcludedAgain(t *testing.T, b Bench) {
	for i, step := range []Step{StepAgreement, StepDocument} {
		_, c := b.opened(t, string(step))
		b.Stop(t, c, step)
		again := c
		again.Document = rendered("%PDF-1.7 again " + string(step))
		want := again.Document.Bytes
		if step == StepDocument {
			want = c.Document.Bytes
		}
		first := b.complete(t, again)
		if second := b.complete(t, c); second != first {
			t.Errorf("stopped after the %s: Complete = %+v and then %+v", step, first, second)
		}
		b.wantComplete(t, c, want, i+1)
	}
}

func concurrentDocuments(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	b.Stop(t, c, StepAgreement)
	completed := together(t, func(i int) (checkout.Completed, error) {
		one := c
		one.Document = rendered("%PDF-1.7 " + strconv.Itoa(i))
		return b.CRM.Complete(t.Context(), one)
	})
	if completed.DocumentID == "" {
		t.Errorf("Complete = %+v, want a document", completed)
	}
	b.wantComplete(t, c, nil, 1)
}

func documentKept(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	b.Stop(t, c, StepDocument)
	without := c
	without.Document = nil
	completed, err := b.CRM.Complete(t.Context(), without)
	if err != nil || completed.DocumentID == "" {
		t.Errorf("Complete = %+v, %v; want the document that is stored", completed, err)
	}
	b.wantComplete(t, c, c.Document.Bytes, 1)
}

// wantAgreed looks for the agreement of a completion.
func (b Bench) wantAgreed(t *testing.T, c checkout.Completion, complete, document bool) {
	t.Helper()
	got, err := b.CRM.Agreed(t.Context(), c.EnrolmentKey)
	if err != nil || got.Number != c.Agreement.Number || got.FirstPayment != c.Agreement.Plan.First ||
		!got.AcceptedAt.Truncate(time.Second).Equal(c.Agreement.AcceptedAt.Truncate(time.Second)) || got.AcceptedAt.Location() != time.UTC ||
		got.Complete != complete || got.Document != document {
		t.Errorf("Agreed = %+v, %v; want %s of %s with the first payment on %s, complete: %v, with a document: %v", got, err,
			c.Agreement.Number, c.Agreement.AcceptedAt, c.Agreement.Plan.First, complete, document)
	}
}

func (b Bench) wantNothingAgreed(t *testing.T, k checkout.EnrolmentKey) {
	t.Helper()
	if got, err := b.CRM.Agreed(t.Context(), k); !errors.Is(err, ports.ErrNotFound) || got != (checkout.Agreed{}) {
		t.Errorf("Agreed of order %q = %+v, %v; want ErrNotFound", k.OrderID, got, err)
	}
}
