package checkout_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
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
	if early := c.Observe(observed(checkout.BillingFulfilling, ""), noon); len(notices(early)) != 0 {
		t.Errorf("a setup that is not complete yet: notices %+v", notices(early))
	}
	noMandate := complete
	noMandate.Mandate = checkout.MandateFailed
	if dead := c.Observe(noMandate, noon); len(notices(dead)) != 0 {
		t.Errorf("a setup whose mandate is dead: notices %+v", notices(dead))
	}
	done := c.Observe(complete, noon)
	if len(notices(done)) != 1 {
		t.Fatalf("notices %+v, want one", notices(done))
	}
	n := notices(done)[0]
	if want := (checkout.Job{ID: n.ID, Kind: checkout.JobNotify, ProviderCode: c.ProviderCode, CheckoutID: c.ID,
		Name: string(checkout.NoticeOfSetup), Try: 1, CreatedAt: noon}); !reflect.DeepEqual(n, want) || len(n.ID) != 36 {
		t.Errorf("notice %+v, want %+v", n, want)
	}
	active := complete
	active.Mandate = checkout.MandateActive
	for _, seen := range []checkout.Observation{complete, active} {
		if again := done.Next.Observe(seen, noon.Add(time.Hour)); len(notices(again)) != 0 {
			t.Errorf("seen complete before, now %s: notices %+v", seen.Mandate, notices(again))
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
	if len(notices(back)) != 1 || notices(back)[0].ID != notices(first)[0].ID {
		t.Errorf("reinstated: notices %+v, want that of %+v", notices(back), notices(first))
	}
	second := dead.Begun(2, "BR2", agreement.Consent{}).Next.Observe(complete, noon)
	if len(notices(second)) != 1 || notices(second)[0].ID == notices(first)[0].ID {
		t.Errorf("the second try: notices %+v, want another than %+v", notices(second), notices(first))
	}
}

func TestANoticeIsNeededWhileItSaysWhatIsSo(t *testing.T) {
	c, complete := begun(t)
	done := c.Observe(complete, noon)
	ofSetup := notices(done)[0]
	_, _, change := confirmedNow(t)
	confirmed, ofAgreement := change.Next, notices(change)[0]
	ofLink := checkout.Job{Kind: checkout.JobNotify, Name: string(checkout.NoticeOfLink)}
	died := complete
	died.Mandate = checkout.MandateCancelled
	dead := done.Next.Observe(died, noon).Next
	for _, tt := range []struct {
		name   string
		notice checkout.Job
		state  checkout.Checkout
		want   bool
	}{
		{"a setup that is complete", ofSetup, done.Next, true},
		{"a setup of a checkout that was confirmed since", ofSetup, confirmed, false},
		{"a setup whose mandate died", ofSetup, dead, false},
		{"a setup that another try replaced", ofSetup, dead.Begun(2, "BR2", agreement.Consent{}).Next.Observe(complete, noon).Next, false},
		{"a setup of which the personal data was erased", ofSetup, done.Next.Erase(noon, checkout.ActorService, nil).Next, false},
		{"a link", ofLink, c, true},
		{"a link to a setup that is complete", ofLink, done.Next, false},
		{"a link to a setup whose mandate died", ofLink, dead, true},
		{"a link to what was confirmed", ofLink, confirmed, false},
		{"a link of a checkout whose personal data was erased", ofLink, c.Erase(noon, checkout.ActorService, nil).Next, false},
		{"an agreement", ofAgreement, confirmed, true},
		{"an agreement whose mandate died", ofAgreement, confirmed.Observe(died, noon).Next, true},
		{"an agreement of which the personal data was erased", ofAgreement, confirmed.Erase(noon, checkout.ActorService, nil).Next, false},
	} {
		if got := tt.state.NoticeNeeded(tt.notice); got != tt.want {
			t.Errorf("%s: needed %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestANoticeIsAttemptedNineTimesInADay(t *testing.T) {
	took, attempts := time.Duration(0), 1
	for {
		pause, more := checkout.NoticePause(attempts)
		if !more {
			break
		}
		if pause < time.Minute || pause > 12*time.Hour {
			t.Errorf("after attempt %d a pause of %s", attempts, pause)
		}
		took += pause
		attempts++
	}
	if attempts != 9 || took != 24*time.Hour {
		t.Errorf("%d attempts in %s, want 9 in 24 hours", attempts, took)
	}
	if _, more := checkout.NoticePause(0); more {
		t.Error("an attempt that was not made is followed by one")
	}
}

// notices returns the jobs of a change that notify the payer.
func notices(c checkout.Change) (list []checkout.Job) {
	for _, j := range c.Jobs {
		if j.Kind == checkout.JobNotify {
			list = append(list, j)
		}
	}
	return list
}
