package checkout_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// reserved returns a checkout that the CRM has yet to open.
func reserved(t *testing.T) checkout.Checkout {
	t.Helper()
	create := parseCreate(t, legacyBody)
	return create.Reserve(intentOf(t, create), opening(t).ID, noon, noon.Add(stepLease)).Next
}

// completing returns a checkout of which a confirm was decided, and that confirm.
func completing(t *testing.T) (checkout.Checkout, checkout.Confirm) {
	t.Helper()
	stored, cmd := ready(t)
	done := prepared(stored, cmd)
	done.Now, done.Until = noon.Add(time.Minute), noon.Add(time.Minute+stepLease)
	change, err := cmd.Decide(stored, latest, done)
	if err != nil {
		t.Fatal(err)
	}
	return change.Next, cmd
}

// A checkout that a CRM outside of the store opened, or confirmed, is the one that a store which is the CRM has, but for
// the ids that the CRM gave.
func TestStepsLeadWhereOneTransactionDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		create := parseCreate(t, legacyBody)
		create.IdempotencyKey = checkout.Some(rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "key"))
		intent := intentOf(t, create)
		o := opening(t)
		at := noon.Add(-time.Duration(rapid.Int64Range(0, int64(day)).Draw(t, "reserved before")))
		inOne := create.Open(intent, o)
		before := create.Reserve(intent, o.ID, at, at.Add(stepLease))
		if before.Events != nil || before.Next.Status != checkout.Reserved || before.Next.Records != (checkout.Records{}) {
			t.Fatalf("reserved %+v with events %v", before.Next, before.Events)
		}
		inTwo, err := before.Next.Opened(before.Next.Step, inOne.Next.Records, o)
		inTwo.Next.CreatedAt = inOne.Next.CreatedAt
		if err != nil || !reflect.DeepEqual(inTwo, inOne) {
			t.Fatalf("opened %+v, %v\nwant   %+v", inTwo, err, inOne)
		}

		stored, cmd := ready(t)
		done := prepared(stored, cmd)
		if rapid.Bool().Draw(t, "no document") {
			done.Document = nil
		}
		inOne, err = cmd.Decide(stored, latest, done)
		if err != nil {
			t.Fatal(err)
		}
		done.Now, done.Until = noon, noon.Add(stepLease)
		decided, err := cmd.Decide(stored, latest, done)
		if err != nil || decided.Events != nil || !reflect.DeepEqual(decided.Agreement, inOne.Agreement) || decided.Document != inOne.Document {
			t.Fatalf("decided %+v, %v; want the agreement of %+v and no events", decided, err, inOne)
		}
		want := inOne.Next.Confirmation
		inTwo, err = decided.Next.Completed(decided.Next.Step, *decided.Agreement, want.AgreementID, want.DocumentID,
			catalogue.Sandbox, decided.Agreement.AcceptedAt)
		if err != nil || !reflect.DeepEqual(inTwo.Next, inOne.Next) || !reflect.DeepEqual(inTwo.Events, inOne.Events) {
			t.Fatalf("completed %+v, %v\nwant      %+v", inTwo, err, inOne)
		}
	})
}

func TestAStepIsPutOffLongerWithEveryAttempt(t *testing.T) {
	c := reserved(t)
	now := noon
	for n, want := range []time.Duration{250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000, 15_000, 15_000, 15_000} {
		put, err := c.Postpone(c.Step, checkout.StepUnknown, "it hangs", now)
		if err != nil {
			t.Fatal(err)
		}
		c = put.Next
		if pause := c.Step.Until.Sub(now); pause != want*time.Millisecond || c.Step.Failure != "it hangs" {
			t.Errorf("after attempt %d it is put off by %s with failure %q, want %s", n+1, pause, c.Step.Failure, want*time.Millisecond)
		}
		if _, err := c.Lease(c.Step.Until.Add(-1), noon); !errors.Is(err, checkout.ErrNotDue) {
			t.Errorf("leased before its time: %v", err)
		}
		now = c.Step.Until
		leased, err := c.Lease(now, now.Add(stepLease))
		if err != nil {
			t.Fatal(err)
		}
		c = leased.Next
	}
	c.Step.Epoch = 1 << 62
	if put, err := c.Postpone(c.Step, checkout.StepUnknown, "", now); err != nil || put.Next.Step.Until.Sub(now) != 15*time.Second {
		t.Errorf("after very many attempts it is put off until %s, %v", put.Next.Step.Until, err)
	}
	if put, err := c.Postpone(c.Step, checkout.StepRefused, "", now); err != nil || put.Next.Step.Until.Sub(now) != 10*time.Minute {
		t.Errorf("one that is refused is put off until %s, %v", put.Next.Step.Until, err)
	}
}

func TestACreateWaitsForWhatIsReserved(t *testing.T) {
	mine := reserved(t)
	cmd := parseCreate(t, legacyBody)
	dearer := cmd
	dearer.Price.Value++
	dearer.Upfront.Value++
	underKey := cmd
	underKey.IdempotencyKey = checkout.Some("key-1")
	other := mine
	other.OrderID, other.IdempotencyKey = "ORDER-2", "key-1"
	opened := cmd.Open(intentOf(t, cmd), opening(t)).Next
	for _, tt := range []struct {
		name     string
		cmd      checkout.Create
		facts    checkout.Facts
		awaiting *checkout.Checkout
	}{
		{"of the same intent", cmd, checkout.Facts{ByOrder: &mine}, &mine},
		{"of another intent, to which a 409 would be final", dearer, checkout.Facts{ByOrder: &mine}, &mine},
		{"under another key", underKey, checkout.Facts{ByOrder: &mine}, &mine},
		{"whose key a reserved order has", underKey, checkout.Facts{ByKey: &other}, &other},
		{"of an order that is open, whose key a reserved order has", underKey, checkout.Facts{ByOrder: &opened, ByKey: &other}, &other},
		{"of a reserved order, whose key a reserved order has", underKey, checkout.Facts{ByOrder: &mine, ByKey: &other}, &mine},
	} {
		tt.facts.Mode, tt.facts.Keyring, tt.facts.Now = catalogue.Legacy, keyring(t), noon
		got, err := tt.cmd.Decide(tt.facts)
		if want := (checkout.Decision{Action: checkout.Wait, Awaiting: tt.awaiting}); got != want || err != nil {
			t.Errorf("a create %s: %+v, %v; want it to wait for %s", tt.name, got, err, tt.awaiting.OrderID)
		}
	}
	course := weekly // which a legacy provider does not have
	if got, err := course.Decide(checkout.Facts{Mode: catalogue.Legacy, ByOrder: &mine, Now: noon}); err == nil {
		t.Errorf("a create that its provider's mode excludes: %+v, want a refusal at once", got)
	}
}

func TestWhatIsReservedHasNoPayerAndNoConfirm(t *testing.T) {
	c := reserved(t)
	if c.Latest().Epoch != 0 || keyring(t).LatestText(c) != "" || c.SetupComplete() {
		t.Errorf("latest token %+v, setup complete %v", c.Latest(), c.SetupComplete())
	}
	_, cmd := ready(t)
	cmd = confirmFor(cmd, c)
	cmd.Token = checkout.Some("")
	if code, _ := refusalOf(cmd.Match(c, "")); code != checkout.CodeConflict {
		t.Errorf("a confirm = %v, want %s", cmd.Match(c, ""), checkout.CodeConflict)
	}
}

// Once a confirm was decided nothing about the direct debit takes it back, and others wait for the CRM.
func TestADecidedConfirmStands(t *testing.T) {
	c, cmd := completing(t)
	agreed := cmd.FirstPayment.Value
	if c.Schedule()[0].Due != agreed {
		t.Errorf("the schedule starts on %v, want what was agreed, %v", c.Schedule()[0].Due, agreed)
	}
	dead := c.Observe(observed(checkout.BillingFulfilled, checkout.MandateCancelled), noon).Next
	if !dead.SetupComplete() || dead.Begun(dead.NextTry(), "BR2", dead.Setup.Consent).Next.Setup != dead.Setup {
		t.Errorf("a payer may begin again: %+v", dead.Setup)
	}
	lostToken := cmd
	lostToken.Token = checkout.Some("other")
	otherDate := cmd
	otherDate.FirstPayment = checkout.Some(money.Date{Year: 2028, Month: 1, Day: 1})
	for name, repeat := range map[string]checkout.Confirm{"the same": cmd, "with a lost token": lostToken, "with another date": otherDate} {
		for _, stored := range []checkout.Checkout{c, dead} {
			if _, err := repeat.Decide(stored, latest, prepared(stored, repeat)); !errors.Is(err, checkout.ErrCompleting) {
				t.Errorf("a confirm that is %s = %v, want ErrCompleting", name, err)
			}
		}
	}
	otherOrder := cmd
	otherOrder.OrderID = checkout.Some("ORDER-2")
	if code, _ := refusalOf(otherOrder.Match(c, latest)); code != checkout.CodeConflict {
		t.Errorf("a confirm of another order = %v, want %s", otherOrder.Match(c, latest), checkout.CodeConflict)
	}
}

// A refusal of the CRM is the caller's to mend only where the caller gave everything that is refused.
func TestRefusedByCRM(t *testing.T) {
	cmd := parseCreate(t, legacyBody)
	fault := func(fields ...string) (faults []checkout.Fault) {
		for _, f := range fields {
			faults = append(faults, checkout.Fault{Field: f, Message: "is too long"})
		}
		return faults
	}
	for _, tt := range []struct {
		name   string
		cmd    checkout.Create
		faults []checkout.Fault
		want   bool
	}{
		{"no field", cmd, nil, false},
		{"a field of the create", cmd, fault("student.last_name"), true},
		{"two of its fields", cmd, fault("student.last_name", "pricing.course_price"), true},
		{"a field of the CRM's own", cmd, fault("Stage__c"), false},
		{"one of either", cmd, fault("student.last_name", "Stage__c"), false},
		{"a field that the create left to the catalogue", weekly, fault("pricing.course_price"), false},
	} {
		err := tt.cmd.RefusedByCRM(tt.faults)
		if code, _ := refusalOf(err); (code == checkout.CodeValidation) != tt.want || (err != nil) != tt.want {
			t.Errorf("%s: %v, want a refusal: %v", tt.name, err, tt.want)
		}
	}
}

// The epochs of each step begin at 1: who opens a checkout has not its confirm.
func TestALeaseIsOfOneStep(t *testing.T) {
	c, _ := completing(t)
	opening, o := reserved(t).Step, opening(t)
	if opening.Epoch != c.Step.Epoch {
		t.Fatalf("epochs %d and %d, want the same", opening.Epoch, c.Step.Epoch)
	}
	for name, decide := range map[string]func() (checkout.Change, error){
		"opened":                               func() (checkout.Change, error) { return c.Opened(opening, records, o) },
		"released":                             func() (checkout.Change, error) { return c.Release(opening) },
		"postponed":                            func() (checkout.Change, error) { return c.Postpone(opening, checkout.StepUnknown, "", noon) },
		"opened under the lease to complete":   func() (checkout.Change, error) { return c.Opened(c.Step, records, o) },
		"released under the lease to complete": func() (checkout.Change, error) { return c.Release(c.Step) },
	} {
		if change, err := decide(); !errors.Is(err, checkout.ErrLeaseLost) || change.Next.ID != "" || change.Remove {
			t.Errorf("%s: %+v, %v; want ErrLeaseLost", name, change, err)
		}
	}
}
