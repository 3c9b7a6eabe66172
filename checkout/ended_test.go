package checkout_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// since returns what the processor says of a setup whose mandate reached a status some hours after noon.
func since(c checkout.Checkout, m checkout.MandateStatus, hours int) checkout.Observation {
	seen := c.Setup.Observation
	seen.Mandate, seen.MandateSince, seen.MandateReason = m, noon.Add(time.Duration(hours)*time.Hour), ""
	if m.Dead() {
		seen.MandateReason = "DISHONOUR-AC04"
	}
	return seen
}

// told lists the events and jobs of a change: "event checkout.confirmed", "authority", "mandate_cancelled".
func told(change checkout.Change) (list []string) {
	for _, e := range change.Events {
		list = append(list, "event "+string(e.Name))
	}
	for _, j := range change.Jobs {
		if list = append(list, string(j.Kind)); j.Kind == checkout.JobNotify {
			list[len(list)-1] = j.Name
		}
	}
	return list
}

func TestOfAMandateThatEndsAfterTheConfirmEverybodyIsTold(t *testing.T) {
	const active, cancelled, failed = checkout.MandateActive, checkout.MandateCancelled, checkout.MandateFailed
	_, _, change := confirmedNow(t)
	live := change.Next.Observe(since(change.Next, active, 1), noon).Next
	dead := live.Observe(since(live, cancelled, 2), noon).Next
	open, _ := ready(t)
	concluded, _ := completing(t)
	all := func(notice string) []string { return []string{"authority", notice} }
	for _, tt := range []struct {
		name string
		from checkout.Checkout
		to   checkout.MandateStatus
		want []string
	}{
		{"it becomes active", change.Next, active, nil},
		{"an unknown word", live, "paused", nil},
		{"it fails", live, failed, all("mandate_failed")},
		{"it is cancelled", live, cancelled, all("mandate_cancelled")},
		{"it expires", live, checkout.MandateExpired, all("mandate_expired")},
		{"it is blocked", live, checkout.MandateBlocked, all("mandate_blocked")},
		{"another end follows", dead, failed, all("mandate_failed")},
		{"it is reinstated", dead, active, all("mandate_reinstated")},
		{"it is reinstated, and to be submitted again", dead, checkout.MandatePendingSubmission, all("mandate_reinstated")},
		{"it lives again and takes no payment: no notice says so", dead, "paused", []string{"authority"}},
		{"it ends before the confirm", open, cancelled, nil},
		{"it ends while the CRM has yet to complete the enrolment", concluded, cancelled, nil},
	} {
		got := tt.from.Observe(since(tt.from, tt.to, 3), noon.Add(4*time.Hour))
		if !slices.Equal(told(got), tt.want) {
			t.Errorf("%s: told by %q, want %q", tt.name, told(got), tt.want)
		}
		if again := got.Next.Observe(since(tt.from, tt.to, 3), noon.Add(5*time.Hour)); len(told(again)) > 0 {
			t.Errorf("%s, and the processor says it again: told by %q", tt.name, told(again))
		}
	}
}

// An end that was seen while the CRM had yet to complete the enrolment is told of when it has.
func TestAMandateThatEndedMeanwhileIsToldOfAfterTheCompletion(t *testing.T) {
	concluded, _ := completing(t)
	dead := concluded.Observe(since(concluded, checkout.MandateFailed, 1), noon).Next
	done, err := dead.Completed(agreement.Agreement{}, "agr", "", catalogue.Sandbox, noon)
	want := []string{"event checkout.confirmed", "agreement", "authority", "mandate_failed"}
	if err != nil || !slices.Equal(told(done), want) {
		t.Errorf("told by %q, %v; want %q", told(done), err, want)
	}
}

func TestEachChangeOfAMandateIsToldOfApart(t *testing.T) {
	_, _, change := confirmedNow(t)
	c, ids := change.Next, map[string]bool{}
	for i, m := range []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateActive, checkout.MandateFailed, checkout.MandateActive} {
		next := c.Observe(since(c, m, i+1), noon)
		for _, j := range next.Jobs {
			ids[j.ID] = true
			if needed := next.Next.NoticeNeeded(j); j.Kind == checkout.JobNotify && !needed {
				t.Errorf("notice %s is not needed", j.Name)
			}
			if later := next.Next.Observe(since(c, map[bool]checkout.MandateStatus{true: checkout.MandateActive, false: checkout.MandateExpired}[m.Dead()], i+2),
				noon).Next; later.NoticeNeeded(j) && j.Kind == checkout.JobNotify {
				t.Errorf("notice %s is needed though the mandate is %s by then", j.Name, later.Setup.Mandate)
			}
			if j.Kind == checkout.JobNotify && next.Next.Erase(noon).NoticeNeeded(j) {
				t.Errorf("notice %s is needed though the personal data was erased", j.Name)
			}
		}
		c = next.Next
	}
	if len(ids) != 4*2 {
		t.Errorf("%d jobs of four changes: %v, want 8", len(ids), ids)
	}
}

func TestAReportOfAnAuthorityThatChangedMeanwhileIsMadeAgain(t *testing.T) {
	_, _, change := confirmedNow(t)
	c := change.Next
	dead := c.Observe(since(c, checkout.MandateFailed, 1), noon).Next
	if done, err := dead.Reported(dead.Setup); err != nil || done.Next.Setup != dead.Setup || len(told(done)) > 0 {
		t.Errorf("reported as it is: %q, %v", told(done), err)
	}
	for name, later := range map[string]checkout.Observation{
		"reinstated": since(dead, checkout.MandateActive, 2), "another end": since(dead, checkout.MandateExpired, 2),
		"ended again": since(dead, checkout.MandateFailed, 2),
	} {
		if _, err := dead.Observe(later, noon).Next.Reported(dead.Setup); !errors.Is(err, checkout.ErrOutdated) {
			t.Errorf("%s: %v, want ErrOutdated", name, err)
		}
	}
}

func TestAnActiveMandateIsLookedAtUntilThePlanIsOver(t *testing.T) {
	_, _, change := confirmedNow(t)
	c := change.Next
	c.Setup.Mandate, c.Setup.Consent.At = checkout.MandateActive, noon
	charges := c.Schedule()
	last := charges[len(charges)-1].Due
	ends := time.Date(last.Year, last.Month, last.Day+30, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		notifies bool
		now      time.Time
		want     bool
	}{
		{"after the confirm", false, noon.Add(time.Hour), true},
		{"after the confirm, by a processor that notifies", true, noon.Add(time.Hour), false},
		{"thirty days after the last payment", false, ends, true},
		{"and a day", false, ends.Add(day), false},
	} {
		if pause, again := c.NextLook(c.Setup.Try, tt.notifies, tt.now); again != tt.want || pause > day {
			t.Errorf("%s: looked at again after %s (%v), want %v", tt.name, pause, again, tt.want)
		}
	}
}
