package checkout_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// The moves of the CRM in the random walk over all decisions.

// reserve begins the life of a checkout that the CRM has yet to open.
func (l *life) reserve(t rapid.TB) {
	create := parseCreate(t, legacyBody)
	l.Checkout = create.Reserve(intentOf(t, create), checkoutID, l.now).Next
	l.events, l.agreed, l.latest = nil, 0, time.Time{}
}

// answer is a process that comes back from the CRM with any answer, whatever the checkout waits for by then.
func (l *life) answer(t *rapid.T) {
	decide, outcome := l.answers(t)
	change, err := decide()
	concluded := l.Confirmation.AgreementNumber != "" && l.Status != checkout.Confirmed
	fits := map[string]bool{"opened": l.Status == checkout.Reserved, "released": l.Status == checkout.Reserved, "completed": concluded}[outcome]
	switch {
	case !fits:
		if !errors.Is(err, checkout.ErrSettled) || change.Next.ID != "" || change.Events != nil || change.Remove {
			t.Fatalf("%s while the checkout is %q: %+v, %v; want ErrSettled", outcome, l.Status, change, err)
		}
	case err != nil:
		t.Fatalf("%s: %v", outcome, err)
	case change.Remove:
		if l.Status != checkout.Reserved || len(l.events) > 0 || l.Records != (checkout.Records{}) || len(l.Tokens) > 0 || outcome != "released" {
			t.Fatalf("%s: a checkout that may have been seen is removed: %+v with events %v", outcome, l.Checkout, l.events)
		}
		l.reserve(t) // the order is free for the next
	default:
		l.keep(t, change)
	}
}

// answers draws an answer of the CRM.
func (l *life) answers(t *rapid.T) (decide func() (checkout.Change, error), outcome string) {
	outcome = rapid.SampledFrom([]string{"opened", "released", "completed"}).Draw(t, "outcome")
	switch outcome {
	case "opened":
		return func() (checkout.Change, error) {
			o := opening(t)
			o.Now, o.Token = l.now, l.ring.Issue(1, l.now.Add(7*day))
			return l.Opened(records, o)
		}, outcome
	case "released":
		return l.Released, outcome
	}
	_, cmd := ready(t)
	documentID := rapid.SampledFrom([]string{"", "068-1"}).Draw(t, "document")
	return func() (checkout.Change, error) {
		return l.Completed(prepared(l.Checkout, cmd).Agreement, "a0A-1", documentID, "sandbox", l.now)
	}, outcome
}

// records are the records that the CRM of these tests makes.
var records = checkout.Records{ContactID: "003-1", OpportunityID: "006-1", DDAID: "a01-1"}

// keepEnrolment checks what a change makes of the state of the enrolment.
func (l *life) keepEnrolment(t *rapid.T, change checkout.Change) {
	was, next := l.Checkout, change.Next
	concluded := was.Confirmation.AgreementNumber != ""
	order := []checkout.Status{checkout.Reserved, checkout.SetupRequired, checkout.Cancelled, checkout.Confirmed}
	var names []events.Name
	switch {
	case was.Status == checkout.Reserved && next.Status == checkout.SetupRequired:
		names = []events.Name{events.CheckoutCreated}
	case was.Status != checkout.Confirmed && next.Status == checkout.Confirmed && next.Confirmation.DocumentID != "":
		names = []events.Name{events.CheckoutConfirmed, events.AgreementGenerated}
	case was.Status != checkout.Confirmed && next.Status == checkout.Confirmed:
		names = []events.Name{events.CheckoutConfirmed}
	case was.Status == checkout.Cancelled && next.Status != checkout.Cancelled:
		t.Fatalf("%q follows %q", next.Status, was.Status)
	}
	before := was.Setup.Mandate
	if was.Status != checkout.Confirmed {
		before = checkout.MandateNone // of which nobody was told
	}
	tells := next.Status == checkout.Confirmed && next.Setup.Mandate != before && (next.Setup.Mandate.Dead() || before.Dead())
	reports := slices.ContainsFunc(change.Jobs, func(j checkout.Job) bool { return j.Kind == checkout.JobAuthority })
	waits := slices.ContainsFunc(change.Jobs, func(j checkout.Job) bool { return j.Kind == checkout.JobComplete })
	switch {
	case slices.Index(order, next.Status) < slices.Index(order, was.Status):
		t.Fatalf("%q follows %q", next.Status, was.Status)
	case was.Status != checkout.Reserved && next.Records != was.Records, next.Status == checkout.Reserved && next.Records != was.Records:
		t.Fatalf("records %+v follow %+v", next.Records, was.Records)
	case concluded && (next.Confirmation.AgreementNumber != was.Confirmation.AgreementNumber || !next.SetupComplete() ||
		next.Confirmation.FirstPayment != was.Confirmation.FirstPayment || change.Agreement != nil):
		t.Fatalf("a decided confirm becomes %+v with %+v", next.Confirmation, change.Agreement)
	case waits != (!concluded && next.Confirmation.AgreementNumber != "" && next.Status != checkout.Confirmed):
		t.Fatalf("from %+v to %+v with the jobs %+v", was.Confirmation, next.Confirmation, change.Jobs)
	case reports != tells:
		t.Fatalf("from mandate %q to %q with the jobs %+v", before, next.Setup.Mandate, change.Jobs)
	case !slices.Equal(eventNames(change.Events), names):
		t.Fatalf("from %q to %q with events %q, want %q", was.Status, next.Status, eventNames(change.Events), names)
	}
}

// Whatever happens to a checkout, in whatever order, and however late an answer of the CRM comes. For a CRM that answers within
// the commit see TestTwoCommitsLeadWhereOneDoes.
func TestALifeKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{ring: keyring(t), now: noon, ending: map[int]bool{}}
		l.reserve(t)
		l.walk(t)
	})
}
