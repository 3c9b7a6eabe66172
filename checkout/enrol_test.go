package checkout_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// reserved returns a checkout that the CRM has yet to open.
func reserved(t *testing.T) checkout.Checkout {
	t.Helper()
	create := parseCreate(t, legacyBody)
	return create.Reserve(intentOf(t, create), checkoutID, noon).Next
}

// completing returns a checkout of which a confirm was decided, and that confirm.
func completing(t *testing.T) (checkout.Checkout, checkout.Confirm) {
	t.Helper()
	stored, cmd := ready(t)
	change, err := cmd.Decide(stored, latest, prepared(stored, cmd))
	if err != nil {
		t.Fatal(err)
	}
	return change.Next, cmd
}

// A checkout that a CRM opened or completed between two commits is the one of a CRM that answers within the commit.
func TestTwoCommitsLeadWhereOneDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		create := parseCreate(t, legacyBody)
		create.IdempotencyKey = checkout.Some(rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "key"))
		intent, o := intentOf(t, create), opening(t)
		inOne := opened(create, intent, o)
		at := noon.Add(-time.Duration(rapid.Int64Range(0, int64(day)).Draw(t, "reserved before")))
		before := create.Reserve(intent, checkoutID, at)
		if before.Events != nil || before.Next.Status != checkout.Reserved || before.Next.Records != (checkout.Records{}) || len(before.Jobs) != 1 {
			t.Fatalf("reserved %+v with events %v and jobs %v", before.Next, before.Events, before.Jobs)
		}
		inTwo, err := before.Next.Opened(inOne.Next.Records, o)
		inTwo.Next.CreatedAt = inOne.Next.CreatedAt
		if err != nil || !reflect.DeepEqual(inTwo.Next, inOne.Next) || !reflect.DeepEqual(inTwo.Events, inOne.Events) {
			t.Fatalf("opened %+v, %v\nwant   %+v", inTwo, err, inOne)
		}

		stored, cmd := ready(t)
		done := prepared(stored, cmd)
		if rapid.Bool().Draw(t, "no document") {
			done.Document = nil
		}
		inOne, err = decided(cmd, stored, latest, done)
		if err != nil {
			t.Fatal(err)
		}
		concluded, err := cmd.Decide(stored, latest, done)
		if err != nil || concluded.Events != nil || !reflect.DeepEqual(concluded.Agreement, inOne.Agreement) || concluded.Document != inOne.Document {
			t.Fatalf("decided %+v, %v; want the agreement of %+v and no events", concluded, err, inOne)
		}
		want := inOne.Next.Confirmation
		inTwo, err = concluded.Next.Completed(*concluded.Agreement, want.AgreementID, want.DocumentID, catalogue.Sandbox, concluded.Agreement.AcceptedAt)
		if err != nil || !reflect.DeepEqual(inTwo.Next, inOne.Next) || !reflect.DeepEqual(inTwo.Events, inOne.Events) || !reflect.DeepEqual(inTwo.Jobs, inOne.Jobs) {
			t.Fatalf("completed %+v, %v\nwant      %+v", inTwo, err, inOne)
		}
	})
}

func TestTheCRMIsAskedMoreSeldomWithEveryAttempt(t *testing.T) {
	for n, want := range []time.Duration{250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000} {
		if pause := checkout.CRMPause(n+1, false); pause != want*time.Millisecond {
			t.Errorf("after attempt %d a pause of %s, want %s", n+1, pause, want*time.Millisecond)
		}
	}
	if pause := checkout.CRMPause(1<<60, false); pause != 15*time.Second {
		t.Errorf("after very many attempts a pause of %s", pause)
	}
	if pause := checkout.CRMPause(1, true); pause != 10*time.Minute {
		t.Errorf("after a refusal a pause of %s", pause)
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
	open := opened(cmd, intentOf(t, cmd), opening(t)).Next
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
		{"of an order that is open, whose key a reserved order has", underKey, checkout.Facts{ByOrder: &open, ByKey: &other}, &other},
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

// An answer of the CRM that nothing waits for changes nothing.
func TestAnAnswerIsOfOneState(t *testing.T) {
	concluded, _ := completing(t)
	open := concluded
	open.Confirmation = checkout.Confirmation{}
	done, err := concluded.Completed(agreement.Agreement{}, "agr", "", catalogue.Sandbox, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		decide func() (checkout.Change, error)
	}{
		{"an open checkout is opened", func() (checkout.Change, error) { return open.Opened(records, opening(t)) }},
		{"an open checkout is released", open.Released},
		{"an open checkout is completed", func() (checkout.Change, error) {
			return open.Completed(agreement.Agreement{}, "agr", "", catalogue.Sandbox, noon)
		}},
		{"a concluded checkout is released", concluded.Released},
		{"a reserved checkout is completed", func() (checkout.Change, error) {
			return reserved(t).Completed(agreement.Agreement{}, "agr", "", catalogue.Sandbox, noon)
		}},
		{"a confirmed checkout is completed", func() (checkout.Change, error) {
			return done.Next.Completed(agreement.Agreement{}, "agr", "", catalogue.Sandbox, noon)
		}},
	} {
		if change, err := tt.decide(); !errors.Is(err, checkout.ErrSettled) || change.Next.ID != "" || change.Remove {
			t.Errorf("%s: %+v, %v; want ErrSettled", tt.name, change, err)
		}
	}
}

// Each change of a life has its moments, in words that hold no personal data.
func TestChangesHaveTheirMoments(t *testing.T) {
	create := parseCreate(t, legacyBody)
	create.Actor = checkout.ProviderActor("key-1")
	created := opened(create, intentOf(t, create), opening(t))
	pressed := created.Next.Begun(1, "BR1", agreement.Consent{At: noon})
	_, complete := begun(t)
	died := complete
	died.Mandate, died.MandateReason = checkout.MandateCancelled, "DISHONOUR-AC05"
	submitted := complete
	submitted.Mandate = checkout.MandateSubmitted
	failed := pressed.Next.Observe(died, noon)
	set := pressed.Next.Observe(complete, noon)
	_, _, confirmed := confirmedNow(t)
	for _, tt := range []struct {
		name   string
		change checkout.Change
		want   []string
	}{
		{"a create", created, []string{"created provider:key-1 "}},
		{"the way to the processor", pressed, []string{"pressed payer try 1"}},
		{"the same way again", pressed.Next.Begun(1, "BR1", agreement.Consent{At: noon.Add(time.Hour)}), []string{"pressed payer try 1"}},
		{"a setup that is done", set, []string{"setup_done processor mandate pending_submission"}},
		{"a mandate that is submitted", set.Next.Observe(submitted, noon), []string{"mandate_changed processor mandate submitted"}},
		{"a setup that failed", failed, []string{"setup_failed processor mandate cancelled DISHONOUR-AC05"}},
		{"a mandate that ended", set.Next.Observe(died, noon), []string{"mandate_changed processor mandate cancelled DISHONOUR-AC05"}},
		{"a billing request that was cancelled", pressed.Next.Observe(observed(checkout.BillingCancelled, checkout.MandateNone), noon), []string{"setup_failed processor billing request cancelled"}},
		{"a payer who is not done", pressed.Next.Observe(observed(checkout.BillingReadyToFulfil, checkout.MandateNone), noon), nil},
		{"nothing new", set.Next.Observe(complete, noon), nil},
		{"a confirm", confirmed, []string{"confirmed  " + confirmed.Next.Confirmation.AgreementNumber}},
		{"a link that is renewed", created.Next.Renew(keyring(t), noon.Add(30*day), day, "provider:key-2", "req_2"), []string{"link_renewed provider:key-2 "}},
	} {
		var got []string
		for _, m := range tt.change.Moments {
			got = append(got, string(m.Kind)+" "+string(m.Actor)+" "+m.Detail)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s has the moments %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRefusalsOfOneHourAreOneMoment(t *testing.T) {
	refusal := checkout.CheckoutNotFound()
	at := func(d time.Duration) checkout.Moment {
		return checkout.RefusedMoment(refusal, "provider:key", "req_1", noon.Add(d))
	}
	if a, b := at(0), at(59*time.Minute); a.Once != b.Once || a.Once == "" {
		t.Errorf("refusals of one hour are %q and %q", a.Once, b.Once)
	}
	if a, b := at(0), at(time.Hour); a.Once == b.Once {
		t.Errorf("refusals of two hours are both %q", a.Once)
	}
}
