package checkout_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// begun returns a checkout whose payer has gone on to the bank setup, and what the processor says when that is complete.
func begun(t *testing.T) (checkout.Checkout, checkout.Observation) {
	t.Helper()
	c, _ := ready(t)
	complete := c.Setup.Observation
	c.Setup = checkout.Setup{}
	return c.Begun(1, "BR1", agreement.Consent{}).Next, complete
}

func TestASetupIsNoticedWhenItIsFirstSeenComplete(t *testing.T) {
	c, complete := begun(t)
	if early := c.Observe(observed(checkout.BillingFulfilling, ""), noon); len(early.Notices) != 0 {
		t.Errorf("a setup that is not complete yet: notices %+v", early.Notices)
	}
	noMandate := complete
	noMandate.Mandate = checkout.MandateFailed
	if dead := c.Observe(noMandate, noon); len(dead.Notices) != 0 {
		t.Errorf("a setup whose mandate is dead: notices %+v", dead.Notices)
	}
	done := c.Observe(complete, noon)
	if len(done.Notices) != 1 {
		t.Fatalf("notices %+v, want one", done.Notices)
	}
	n := done.Notices[0]
	if want := (checkout.Notice{ID: n.ID, Kind: checkout.NoticeOfSetup, CheckoutID: c.ID, Try: 1, CreatedAt: noon}); n != want || len(n.ID) != 36 {
		t.Errorf("notice %+v, want %+v", n, want)
	}
	active := complete
	active.Mandate = checkout.MandateActive
	for _, seen := range []checkout.Observation{complete, active} {
		if again := done.Next.Observe(seen, noon.Add(time.Hour)); len(again.Notices) != 0 {
			t.Errorf("seen complete before, now %s: notices %+v", seen.Mandate, again.Notices)
		}
	}
}

// A mandate that was cancelled and reinstated is the one of which the payer knows; another try has another.
func TestANoticeIsOfOneSetup(t *testing.T) {
	c, complete := begun(t)
	at := func(m checkout.MandateStatus, hours int) checkout.Observation {
		seen := complete
		seen.Mandate, seen.MandateSince = m, noon.Add(time.Duration(hours)*time.Hour)
		return seen
	}
	first := c.Observe(at(checkout.MandateActive, 0), noon)
	dead := first.Next.Observe(at(checkout.MandateCancelled, 1), noon).Next
	back := dead.Observe(at(checkout.MandateActive, 2), noon.Add(time.Hour))
	if len(back.Notices) != 1 || back.Notices[0].ID != first.Notices[0].ID {
		t.Errorf("reinstated: notices %+v, want that of %+v", back.Notices, first.Notices)
	}
	second := dead.Begun(2, "BR2", agreement.Consent{}).Next.Observe(complete, noon)
	if len(second.Notices) != 1 || second.Notices[0].ID == first.Notices[0].ID {
		t.Errorf("the second try: notices %+v, want another than %+v", second.Notices, first.Notices)
	}
}

func TestAnAgreementIsNoticedOnceTheEnrolmentIsConfirmed(t *testing.T) {
	stored, cmd := ready(t)
	inOne, err := cmd.Decide(stored, latest, prepared(stored, cmd))
	if err != nil || len(inOne.Notices) != 1 || inOne.Notices[0].Kind != checkout.NoticeOfAgreement {
		t.Fatalf("confirmed with notices %+v, %v; want that of the agreement", inOne.Notices, err)
	}
	outside := prepared(stored, cmd)
	outside.Now, outside.Until = noon, noon.Add(stepLease)
	decided, err := cmd.Decide(stored, latest, outside)
	if err != nil || len(decided.Notices) != 0 {
		t.Fatalf("decided with notices %+v, %v; want none while the CRM has to complete the enrolment", decided.Notices, err)
	}
	done, err := decided.Next.Completed(decided.Next.Step, *decided.Agreement, "agr", "doc", catalogue.Sandbox, noon)
	if err != nil || !reflect.DeepEqual(done.Notices[0].ID, inOne.Notices[0].ID) {
		t.Errorf("completed with notices %+v, %v; want %+v", done.Notices, err, inOne.Notices)
	}
}

func TestANoticeIsNeededWhileItSaysWhatIsSo(t *testing.T) {
	c, complete := begun(t)
	done := c.Observe(complete, noon)
	ofSetup := done.Notices[0]
	stored, cmd := ready(t)
	change, err := cmd.Decide(stored, latest, prepared(stored, cmd))
	if err != nil {
		t.Fatal(err)
	}
	confirmed, ofAgreement := change.Next, change.Notices[0]
	died := complete
	died.Mandate = checkout.MandateCancelled
	dead := done.Next.Observe(died, noon).Next
	for _, tt := range []struct {
		name   string
		notice checkout.Notice
		state  checkout.Checkout
		want   bool
	}{
		{"a setup that is complete", ofSetup, done.Next, true},
		{"a setup of a checkout that was confirmed since", ofSetup, confirmed, true},
		{"a setup whose mandate died", ofSetup, dead, false},
		{"a setup that another try replaced", ofSetup, dead.Begun(2, "BR2", agreement.Consent{}).Next.Observe(complete, noon).Next, false},
		{"a setup of which the personal data was erased", ofSetup, done.Next.Erase(noon), false},
		{"an agreement", ofAgreement, confirmed, true},
		{"an agreement whose mandate died", ofAgreement, confirmed.Observe(died, noon).Next, true},
		{"an agreement of which the personal data was erased", ofAgreement, confirmed.Erase(noon), false},
	} {
		if got := tt.notice.Needed(tt.state); got != tt.want {
			t.Errorf("%s: needed %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestANoticeIsAttemptedNineTimesInTwoDays(t *testing.T) {
	now, attempts := noon, 1
	for {
		next, more := checkout.NextAttempt(attempts, now)
		if !more {
			break
		}
		if pause := next.Sub(now); pause < time.Minute || pause > 24*time.Hour {
			t.Errorf("after attempt %d a pause of %s", attempts, pause)
		}
		now = next
		attempts++
	}
	if took := now.Sub(noon); attempts != 9 || took < 46*time.Hour || took > 48*time.Hour {
		t.Errorf("%d attempts in %s, want 9 in two days", attempts, took)
	}
	if _, more := checkout.NextAttempt(0, noon); more {
		t.Error("an attempt that was not made is followed by one")
	}
}
