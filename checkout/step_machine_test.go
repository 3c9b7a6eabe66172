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

// stepLease is how long these tests lease a step.
const stepLease = 20 * time.Second

// The moves of a checkout whose CRM is outside of the store, for the random walk over all decisions. l.held are the leases
// that processes believe to have, of which at most one is the latest.

// reserve begins the life of a checkout that the CRM has yet to open.
func (l *life) reserve(t rapid.TB) {
	create := parseCreate(t, legacyBody)
	l.Checkout = create.Reserve(intentOf(t, create), opening(t).ID, l.now, l.now.Add(stepLease)).Next
	l.held, l.events, l.agreed = []checkout.Step{l.Step}, nil, 0
}

// lease leases the step, as the completer of another process does.
func (l *life) lease(t *rapid.T) {
	due := l.Step.Due(l.now)
	change, err := l.Lease(l.now, l.now.Add(stepLease))
	switch {
	case !due && (!errors.Is(err, checkout.ErrNotDue) || change.Next.ID != ""):
		t.Fatalf("Lease = %+v, %v of step %+v at %s, want ErrNotDue", change, err, l.Step, l.now)
	case due && (err != nil || change.Next.Step.Epoch != l.Step.Epoch+1 || !change.Next.Step.Until.Equal(l.now.Add(stepLease))):
		t.Fatalf("Lease = %+v, %v of step %+v at %s", change.Next.Step, err, l.Step, l.now)
	case due:
		l.keep(t, change)
		l.held = append(l.held, l.Step)
	}
}

// settle is a process that comes back from the CRM with any outcome, under any lease that was ever given.
func (l *life) settle(t *rapid.T) {
	if len(l.held) == 0 {
		t.Skip("no step was ever leased")
	}
	lease := rapid.SampledFrom(l.held).Draw(t, "lease")
	holds := lease.Kind == l.Step.Kind && lease.Epoch == l.Step.Epoch
	decide, outcome := l.outcomes(t, lease)
	change, err := decide()
	fits := map[string]bool{"opened": lease.Kind == checkout.StepOpen, "released": lease.Kind == checkout.StepOpen,
		"completed": lease.Kind == checkout.StepComplete, "postponed": true}[outcome]
	switch {
	case !holds || !fits:
		if !errors.Is(err, checkout.ErrLeaseLost) || change.Next.ID != "" || change.Events != nil || change.Remove {
			t.Fatalf("%s under %+v, while the step is %+v: %+v, %v; want ErrLeaseLost", outcome, lease, l.Step, change, err)
		}
	case err != nil:
		t.Fatalf("%s under %+v: %v", outcome, lease, err)
	case change.Remove:
		if l.Status != checkout.Reserved || len(l.events) > 0 || l.Records != (checkout.Records{}) || len(l.Tokens) > 0 || outcome != "released" {
			t.Fatalf("%s: a checkout that may have been seen is removed: %+v with events %v", outcome, l.Checkout, l.events)
		}
		l.reserve(t) // the order is free for the next
	default:
		l.keep(t, change)
	}
}

// outcomes draws what a holder of a lease decides.
func (l *life) outcomes(t *rapid.T, lease checkout.Step) (decide func() (checkout.Change, error), outcome string) {
	outcome = rapid.SampledFrom([]string{"opened", "released", "completed", "postponed"}).Draw(t, "outcome")
	switch outcome {
	case "opened":
		return func() (checkout.Change, error) {
			o := opening(t)
			o.Now, o.Token = l.now, l.ring.Issue(1, l.now.Add(7*day))
			return l.Opened(lease, records, o)
		}, outcome
	case "released":
		return func() (checkout.Change, error) { return l.Release(lease) }, outcome
	case "completed":
		_, cmd := ready(t)
		documentID := rapid.SampledFrom([]string{"", "068-1"}).Draw(t, "document")
		return func() (checkout.Change, error) {
			return l.Completed(lease, prepared(l.Checkout, cmd).Agreement, "a0A-1", documentID, "sandbox", l.now)
		}, outcome
	}
	reason := rapid.SampledFrom([]checkout.StepOutcome{checkout.StepUnknown, checkout.StepRefused}).Draw(t, "reason")
	return func() (checkout.Change, error) { return l.Postpone(lease, reason, "it hangs", l.now) }, outcome
}

// records are those that the CRM of these tests makes.
var records = checkout.Records{ContactID: "003-1", OpportunityID: "006-1", DDAID: "a01-1"}

// hasten is an operator who wants the step to be attempted now.
func (l *life) hasten(t *rapid.T) {
	change, err := l.Hasten(l.now)
	if (err == nil) != (l.Step.Kind != checkout.StepNone) || err != nil && !errors.Is(err, checkout.ErrNotDue) {
		t.Fatalf("Hasten = %v of step %+v", err, l.Step)
	}
	if err == nil {
		if !change.Next.Step.Due(l.now) || change.Next.Step.Epoch != l.Step.Epoch {
			t.Fatalf("hastened to %+v from %+v", change.Next.Step, l.Step)
		}
		l.keep(t, change)
	}
}

// keepStep checks what a change makes of the step and of what depends on it.
func (l *life) keepStep(t *rapid.T, change checkout.Change) {
	was, next := l.Checkout, change.Next
	decided := was.Confirmation.AgreementNumber != ""
	order := []checkout.Status{checkout.Reserved, checkout.SetupRequired, checkout.Confirmed}
	var names []events.Name
	switch {
	case was.Status == checkout.Reserved && next.Status == checkout.SetupRequired:
		names = []events.Name{events.CheckoutCreated}
	case was.Status != checkout.Confirmed && next.Status == checkout.Confirmed && next.Confirmation.DocumentID != "":
		names = []events.Name{events.CheckoutConfirmed, events.AgreementGenerated}
	case was.Status != checkout.Confirmed && next.Status == checkout.Confirmed:
		names = []events.Name{events.CheckoutConfirmed}
	}
	step := map[checkout.Status][]checkout.StepKind{
		checkout.Reserved:      {checkout.StepOpen},
		checkout.SetupRequired: {checkout.StepNone, checkout.StepComplete},
		checkout.Confirmed:     {checkout.StepNone},
	}[next.Status]
	switch {
	case slices.Index(order, next.Status) < slices.Index(order, was.Status):
		t.Fatalf("%q follows %q", next.Status, was.Status)
	case !slices.Contains(step, next.Step.Kind):
		t.Fatalf("step %+v of a checkout that is %q", next.Step, next.Status)
	case next.Step.Kind == was.Step.Kind && next.Step.Epoch < was.Step.Epoch:
		t.Fatalf("epoch %d follows %d", next.Step.Epoch, was.Step.Epoch)
	case next.Step.Kind == was.Step.Kind && !next.Step.Since.Equal(was.Step.Since):
		t.Fatalf("a step that began at %s began at %s", was.Step.Since, next.Step.Since)
	case was.Status != checkout.Reserved && next.Records != was.Records, next.Status == checkout.Reserved && next.Records != was.Records:
		t.Fatalf("records %+v follow %+v", next.Records, was.Records)
	case decided && (next.Confirmation.AgreementNumber != was.Confirmation.AgreementNumber || !next.SetupComplete() ||
		next.Confirmation.FirstPayment != was.Confirmation.FirstPayment || change.Agreement != nil):
		t.Fatalf("a decided confirm becomes %+v with %+v", next.Confirmation, change.Agreement)
	case decided && next.Status != checkout.Confirmed && next.Step.Kind != checkout.StepComplete:
		t.Fatalf("a decided confirm has step %+v", next.Step)
	case !slices.Equal(eventNames(change.Events), names):
		t.Fatalf("from %q to %q with events %q, want %q", was.Status, next.Status, eventNames(change.Events), names)
	}
}

// Whatever happens to a checkout whose CRM is outside of the store, in whatever order, and whoever comes back late.
func TestALifeWithACRMOutsideOfTheStoreKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{ring: keyring(t), now: noon, outside: true}
		l.reserve(t)
		l.walk(t)
	})
}
