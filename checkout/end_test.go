package checkout_test

import (
	"slices"
	"testing"

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
