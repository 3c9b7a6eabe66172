package checkout_test

import (
	"slices"
	"testing"
	"time"

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

// told lists the jobs of a change: "event checkout.confirmed", "mandate_cancelled", "sync", "sync later".
func told(change checkout.Change) (list []string) {
	for _, j := range change.Jobs {
		word := string(j.Kind)
		switch {
		case j.Kind == checkout.JobDeliver:
			word = "event " + j.Name
		case j.Kind == checkout.JobNotify:
			word = j.Name
		case !j.Due.IsZero():
			word += " later"
		}
		list = append(list, word)
	}
	return list
}

func TestOfAMandateThatEndsAfterTheConfirmEverybodyIsTold(t *testing.T) {
	const active, cancelled, failed = checkout.MandateActive, checkout.MandateCancelled, checkout.MandateFailed
	_, _, change := confirmedNow(t)
	live := change.Next.Observe(since(change.Next, active, 1), noon).Next
	dead := live.Observe(since(live, cancelled, 2), noon).Next
	open, _ := ready(t)
	all := []string{"sync", "mandate_ended"}
	later := []string{"sync later"}
	for _, tt := range []struct {
		name string
		from checkout.Checkout
		to   checkout.MandateStatus
		want []string
	}{
		{"it becomes active", change.Next, active, later},
		{"an unknown word", live, "paused", later},
		{"it fails", live, failed, all},
		{"it is cancelled", live, cancelled, all},
		{"it expires", live, checkout.MandateExpired, all},
		{"it is blocked", live, checkout.MandateBlocked, all},
		{"another end follows", dead, failed, all},
		{"it is reinstated: the CRM alone is told", dead, active, []string{"sync"}},
		{"it ends before the confirm: the CRM alone is told", open, cancelled, later},
		{"it ends after a cancel", byProvider(t, open).Next, cancelled, later},
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

func TestEachEndOfAMandateIsToldOfApart(t *testing.T) {
	_, _, change := confirmedNow(t)
	c, ids := change.Next, map[string]bool{} // of the notices
	for i, m := range []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateActive, checkout.MandateFailed, checkout.MandateActive} {
		next := c.Observe(since(c, m, i+1), noon)
		for _, j := range next.Jobs {
			if j.Kind != checkout.JobNotify {
				continue
			}
			if ids[j.ID] = true; !next.Next.NoticeNeeded(j) {
				t.Errorf("notice %s is not needed", j.Name)
			}
			if later := next.Next.Observe(since(c, checkout.MandateActive, i+2), noon).Next; later.NoticeNeeded(j) {
				t.Errorf("notice %s is needed though the mandate is %s by then", j.Name, later.Setup.Mandate)
			}
			if next.Next.Erase(noon, checkout.ActorService, nil).Next.NoticeNeeded(j) {
				t.Errorf("notice %s is needed though the personal data was erased", j.Name)
			}
		}
		c = next.Next
	}
	if len(ids) != 2 {
		t.Errorf("notices of two ends: %v, want two", ids)
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
		if pause, again := c.NextLook(tt.notifies, tt.now); again != tt.want || pause > day {
			t.Errorf("%s: looked at again after %s (%v), want %v", tt.name, pause, again, tt.want)
		}
	}
}
