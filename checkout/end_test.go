package checkout_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// byProvider cancels a checkout.
func byProvider(t *testing.T, c checkout.Checkout) checkout.Change {
	t.Helper()
	change, err := checkout.Cancel{RequestID: "req_3", By: checkout.PartyProvider, Reason: checkout.Some("wrong course")}.Decide(c, noon)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

// withdrawn withdraws the agreement of a confirmed checkout.
func withdrawn(t *testing.T, c checkout.Checkout) checkout.Change {
	t.Helper()
	change, err := checkout.Withdraw{Ground: checkout.GroundHardship, Reason: "by letter"}.Decide(c, noon)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func TestAnEndIsToldToWhomItConcerns(t *testing.T) {
	open := openedNow(t).Next
	begun, _ := begun(t)
	set, _ := ready(t)
	_, _, change := confirmedNow(t)
	confirmed := change.Next
	dead := confirmed.Observe(since(confirmed, checkout.MandateFailed, 1), noon).Next
	for _, tt := range []struct {
		name string
		got  checkout.Change
		want string
	}{
		{"no setup", byProvider(t, open), "sync"},
		{"a setup that was begun", byProvider(t, begun), "sync, end"},
		{"a setup that is complete", byProvider(t, set), "sync, end"},
		{"an agreement", withdrawn(t, confirmed), "sync, end"},
		{"an agreement whose mandate is dead: the payer is told by the same job", withdrawn(t, dead), "sync, end"},
	} {
		if got := strings.Join(told(tt.got), ", "); got != tt.want || len(tt.got.Moments) != 1 {
			t.Errorf("%s: told by %q with the moments %+v, want %q", tt.name, got, tt.got.Moments, tt.want)
		}
		if next := tt.got.Next; !next.Ended() || next.End.Reason == "" {
			t.Errorf("%s: %+v", tt.name, next)
		}
	}
}

func TestWhatMayNotEndDoesNot(t *testing.T) {
	set, _ := ready(t)
	_, _, change := confirmedNow(t)
	cancelled, gone := byProvider(t, set).Next, withdrawn(t, change.Next).Next
	for name, tt := range map[string]struct {
		c                  checkout.Checkout
		cancel, withdrawal error
		code               checkout.Code
	}{
		"open":                 {set, nil, checkout.ErrNotConfirmed, ""},
		"erased":               {set.Erase(noon, checkout.ActorService, nil).Next, nil, checkout.ErrNotConfirmed, checkout.CodeErased},
		"confirmed":            {change.Next, nil, nil, checkout.CodeConflict},
		"confirmed and erased": {change.Next.Erase(noon, checkout.ActorService, nil).Next, nil, checkout.ErrErased, checkout.CodeConflict},
		"cancelled":            {cancelled, checkout.ErrEnded, checkout.ErrNotConfirmed, ""},
		"withdrawn":            {gone, nil, checkout.ErrEnded, checkout.CodeConflict},
	} {
		_, err := checkout.Cancel{Reason: checkout.Some("x")}.Decide(tt.c, noon)
		if refused := checkout.Refused(err, tt.code); tt.code == "" && !errors.Is(err, tt.cancel) || tt.code != "" && !refused {
			t.Errorf("a cancel of what is %s: %v, want %v %s", name, err, tt.cancel, tt.code)
		}
		if change, err := (checkout.Withdraw{Ground: checkout.GroundError}).Decide(tt.c, noon); !errors.Is(err, tt.withdrawal) ||
			err != nil && change.Next.End != tt.c.End {
			t.Errorf("a withdrawal of what is %s: %v, want %v", name, err, tt.withdrawal)
		}
	}
}

// The notice that the direct debit has ended would say that the payments are owed.
func TestOfWhatHasEndedThePayerIsToldThatAndNothingElse(t *testing.T) {
	set, _ := ready(t)
	_, _, change := confirmedNow(t)
	all := []string{"setup", "agreement", "link", "mandate_ended", "cancelled", "withdrawn"}
	for name, c := range map[string]checkout.Checkout{"cancelled": byProvider(t, set).Next, "withdrawn": withdrawn(t, change.Next).Next} {
		died := c.Observe(since(c, checkout.MandateCancelled, 1), noon)
		if len(notices(died)) > 0 || died.Next.ToEnd() {
			t.Errorf("%s: when its mandate is cancelled the payer is sent %+v", name, notices(died))
		}
		done := died.Next.SetupEnded("req_3", noon)
		if got := notices(done); len(got) != 1 || got[0].Name != name || !died.Next.NoticeNeeded(got[0]) {
			t.Errorf("%s: once the processor has ended it the payer is sent %+v", name, got)
		}
		needed := slices.DeleteFunc(slices.Clone(all), func(kind string) bool {
			return !died.Next.NoticeNeeded(checkout.Job{Kind: checkout.JobNotify, Name: kind, Try: 1})
		})
		if !slices.Equal(needed, []string{"cancelled", "withdrawn"}) {
			t.Errorf("%s: needed are %q", name, needed)
		}
	}
	begun, _ := begun(t)
	if got := byProvider(t, begun).Next.SetupEnded("", noon); len(got.Jobs) > 0 {
		t.Errorf("a payer who gave no bank details is sent %+v", got.Jobs)
	}
}

func TestWhatIsBegunOrLivesAgainAfterTheEndIsEndedToo(t *testing.T) {
	late := byProvider(t, openedNow(t).Next).Next.Begun(1, "BR1", agreement.Consent{At: noon})
	if got := told(late); !slices.Equal(got, []string{"end"}) || late.Next.Setup.BillingRequestID != "BR1" || !late.Next.ToEnd() {
		t.Errorf("a billing request that was made meanwhile: %q, %+v", got, late.Next.Setup)
	}
	_, _, change := confirmedNow(t)
	live := change.Next.Observe(since(change.Next, checkout.MandateActive, 1), noon).Next
	gone := withdrawn(t, live).Next
	dead := gone.Observe(since(gone, checkout.MandateCancelled, 2), noon).Next
	back := dead.Observe(since(dead, checkout.MandateActive, 3), noon)
	if got := told(back); !slices.Equal(got, []string{"end", "sync"}) || !back.Next.ToEnd() {
		t.Errorf("a mandate that is reinstated is told by %q, want it ended again", got)
	}
}
