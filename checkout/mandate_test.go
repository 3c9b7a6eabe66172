package checkout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A processor may put another mandate in the place of a living mandate. An answer from before that says no time, or an earlier one.
func TestAnotherMandateCountsSinceALaterTime(t *testing.T) {
	at := func(id string, m checkout.MandateStatus, since int64) checkout.Observation {
		o := checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: m, MandateID: id}
		if since > 0 {
			o.MandateSince = time.UnixMilli(since).UTC()
		}
		return o
	}
	former, other := at("MD1", checkout.MandateActive, 0), at("MD2", checkout.MandatePendingSubmission, 2)
	for _, tt := range []struct {
		name        string
		known, seen checkout.Observation
		taken       bool
	}{
		{"a replacement", former, other, true},
		{"the former, late", other, former, false},
		{"the end of the former, late", other, at("MD1", checkout.MandateCancelled, 1), false},
		{"another without a time", former, at("MD2", checkout.MandateActive, 0), false},
	} {
		c := checkout.Checkout{Setup: checkout.Setup{Try: 1, BillingRequestID: "BR1", Observation: tt.known}}
		if got := c.Observe(tt.seen, time.UnixMilli(3)); got.Changes() != tt.taken {
			t.Errorf("%s: %+v after %+v is taken: %v", tt.name, tt.seen, tt.known, got.Changes())
		}
	}
}

func TestTheConfirmFixesTheFirstDayOfCollection(t *testing.T) {
	day := func(n int) money.Date { return money.Date{Year: 2027, Month: time.February, Day: n} }
	for _, tt := range []struct {
		name              string
		status            checkout.Status
		known, seen, want money.Date
	}{
		{"the first answer", checkout.SetupRequired, money.Date{}, day(8), day(8)},
		{"a later answer before the confirm", checkout.SetupRequired, day(8), day(9), day(9)},
		{"an answer without a day", checkout.SetupRequired, day(8), money.Date{}, day(8)},
		{"a later answer after the confirm", checkout.Confirmed, day(8), day(9), day(8)},
		{"a day that was not known at the confirm", checkout.Confirmed, money.Date{}, day(9), money.Date{}},
	} {
		of := func(first money.Date) checkout.Observation {
			return checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission, MandateID: "MD1",
				AccountHolder: "Ana Tau", AccountMask: "••••8389", CompletedAt: time.Unix(1_800_000_000, 0).UTC(), FirstCharge: first}
		}
		c := checkout.Checkout{Status: tt.status, Setup: checkout.Setup{Try: 1, BillingRequestID: "BR1", Observation: of(tt.known)}}
		change := c.Observe(of(tt.seen), time.Unix(1_800_000_060, 0))
		if got := change.Next.Setup.FirstCharge; got != tt.want || change.Changes() != (tt.known != tt.want) {
			t.Errorf("%s: FirstCharge = %v, changes %v; want %v", tt.name, got, change.Changes(), tt.want)
		}
	}
}

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

func TestLastTrySaysWhatBecameOfIt(t *testing.T) {
	const pending, fulfilled, cancelled = checkout.BillingPending, checkout.BillingFulfilled, checkout.BillingCancelled
	set := observed(fulfilled, checkout.MandateSubmitted)
	set.AccountHolder, set.AccountMask, set.CompletedAt = "A NGATA", "01-0902-•••••89-00", time.Unix(1, 0)
	for _, tt := range []struct {
		name string
		seen checkout.Observation
		want checkout.LastTry
	}{
		{"not done at the processor", observed(pending, ""), checkout.TryUnfinished},
		{"cancelled", observed(cancelled, ""), checkout.TryCancelled},
		{"finished by the payer", observed(checkout.BillingReadyToFulfil, ""), checkout.TryNone},
		{"being made", observed(checkout.BillingFulfilling, ""), checkout.TryNone},
		{"without an account", observed(fulfilled, checkout.MandatePendingSubmission), checkout.TryNone},
		{"set up", set, checkout.TryNone},
		{"a failed mandate", observed(fulfilled, checkout.MandateFailed), checkout.TryMandateFailed},
		{"a cancelled mandate", observed(fulfilled, checkout.MandateCancelled), checkout.TryMandateCancelled},
		{"a blocked mandate", observed(fulfilled, checkout.MandateBlocked), checkout.TryMandateBlocked},
		{"an expired mandate", observed(fulfilled, checkout.MandateExpired), checkout.TryMandateExpired},
	} {
		setup := checkout.Setup{Try: 1, BillingRequestID: "BR1", Observation: tt.seen}
		if got := setup.LastTry(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if setup := (checkout.Setup{Observation: observed(pending, "")}); setup.LastTry() != checkout.TryNone {
		t.Errorf("a setup that was not begun: %q, want none", setup.LastTry())
	}
}

// The payer reads why a mandate has ended: by the code of the scheme at the end of the processor's, or by the status.
func TestEndingSaysWhyAMandateIsDead(t *testing.T) {
	for _, tt := range []struct {
		mandate checkout.MandateStatus
		reason  string
		want    string
	}{
		{checkout.MandateActive, "DISHONOUR-AC04", ""},
		{checkout.MandateFailed, "DISHONOUR-AC04", "The bank says that the account is closed."},
		{checkout.MandateFailed, "AC04", "The bank says that the account is closed."},
		{checkout.MandateFailed, "DISHONOUR-ZZ99", "The bank or the payment processor did not accept it."},
		{checkout.MandateCancelled, "", "It was cancelled: by the account holder, by the bank or by the payment processor."},
		{checkout.MandateBlocked, "", "The payment processor has stopped it."},
		{checkout.MandateExpired, "", "It has expired."},
	} {
		if got := (checkout.Observation{Mandate: tt.mandate, MandateReason: tt.reason}).Ending(); got != tt.want {
			t.Errorf("%s for %q: %q, want %q", tt.mandate, tt.reason, got, tt.want)
		}
	}
}
