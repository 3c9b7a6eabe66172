package checkout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Each change of a life has its moments, in words that hold no personal data. The timeline begins with the creation.
func TestChangesHaveTheirMoments(t *testing.T) {
	create := parseCreate(t, legacyBody)
	create.Actor = checkout.ProviderActor("key-1")
	created := create.Open(intentOf(t, create), opening(t))
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
		{"a create", checkout.Change{Moments: created.Next.Timeline(created.Moments)}, []string{"created provider:key-1 "}},
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
		{"a cancel", byProvider(t, created.Next), []string{"cancelled  "}},
		{"a withdrawal", withdrawn(t, confirmed.Next), []string{"withdrawn  " + confirmed.Next.Confirmation.AgreementNumber + " hardship"}},
		{"an erasure", created.Next.Erase(noon, checkout.OperatorActor("Mere"), nil), []string{"erased operator:Mere "}},
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
	if a, b := at(0), at(59*time.Minute); a.ID != b.ID || a.ID == "" {
		t.Errorf("refusals of one hour are %q and %q", a.ID, b.ID)
	}
	if a, b := at(0), at(time.Hour); a.ID == b.ID {
		t.Errorf("refusals of two hours are both %q", a.ID)
	}
}

// A page that was opened is noted later: the timeline has it where it belongs.
func TestATimelineIsInTheOrderOfTheTimes(t *testing.T) {
	c := openedNow(t).Next
	at := func(hours int, kind checkout.MomentKind) checkout.Moment {
		return checkout.Moment{At: noon.Add(time.Duration(hours) * time.Hour), Kind: kind}
	}
	var got []checkout.MomentKind
	pressed, opened, returned := at(3, checkout.MomentPressed), at(2, checkout.MomentOpened), at(4, checkout.MomentReturned)
	for _, m := range c.Timeline([]checkout.Moment{pressed, opened, returned}) {
		got = append(got, m.Kind)
	}
	if want := []checkout.MomentKind{checkout.MomentCreated, opened.Kind, pressed.Kind, returned.Kind}; !slices.Equal(got, want) {
		t.Errorf("the timeline is %q, want %q", got, want)
	}
}
