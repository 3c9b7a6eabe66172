package crmtest

import (
	"errors"
	"testing"
	"time"

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
	b.wantAgreed(t, c)
	b.wantNothingAgreed(t, elsewhere.EnrolmentKey)
	b.wantNothingAgreed(t, b.enrolment("c").EnrolmentKey)
	theirs := e.EnrolmentKey
	theirs.ProviderCode = "TUI"
	b.wantNothingAgreed(t, theirs)
}

func agreedThoughStopped(t *testing.T, b Bench) {
	for _, step := range []Step{StepAgreement, StepDocument} {
		e := b.enrolment(string(step))
		c := b.completion(e, b.open(t, e))
		b.Stop(t, c, step)
		if got := b.Stored(t, c.Records.OpportunityID); got.Complete || got.Agreement == "" {
			t.Fatalf("stored %+v once a completion was stopped after its %s, want the agreement, and it not complete", got, step)
		}
		b.wantAgreed(t, c)
		b.complete(t, c)
		b.wantAgreed(t, c)
	}
}

// wantAgreed looks for the agreement of a completion.
func (b Bench) wantAgreed(t *testing.T, c ports.Completion) {
	t.Helper()
	got, err := b.CRM.Agreed(t.Context(), c.EnrolmentKey)
	if err != nil || got.Number != c.Agreement.Number || got.FirstPayment != c.Agreement.Plan.First ||
		!got.AcceptedAt.Truncate(time.Second).Equal(c.Agreement.AcceptedAt.Truncate(time.Second)) || got.AcceptedAt.Location() != time.UTC {
		t.Errorf("Agreed = %+v, %v; want %s of %s with the first payment on %s", got, err, c.Agreement.Number, c.Agreement.AcceptedAt,
			c.Agreement.Plan.First)
	}
}

func (b Bench) wantNothingAgreed(t *testing.T, k ports.EnrolmentKey) {
	t.Helper()
	if got, err := b.CRM.Agreed(t.Context(), k); !errors.Is(err, ports.ErrNotFound) || got != (ports.Agreed{}) {
		t.Errorf("Agreed of order %q = %+v, %v; want ErrNotFound", k.OrderID, got, err)
	}
}
