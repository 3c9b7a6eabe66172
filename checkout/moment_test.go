package checkout_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
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

func TestSummariseNamesTheWorstProvider(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(int64(minute)*60, 0).UTC() }
	got := checkout.Summarise([]checkout.TroubleCount{
		{Trouble: checkout.TroubleEvents, ProviderCode: "A", Count: 2, Oldest: at(3)},
		{Trouble: checkout.TroubleEvents, ProviderCode: "B", Count: 5, Oldest: at(4)},
		{Trouble: checkout.TroubleCRM, ProviderCode: "A", Count: 1, Oldest: at(9)},
	})
	want := []checkout.TroubleCount{{Trouble: checkout.TroubleCRM, Count: 1, Oldest: at(9), ProviderCode: "A"},
		{Trouble: checkout.TroubleEvents, Count: 7, Oldest: at(3), ProviderCode: "B"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Summarise = %+v, want %+v", got, want)
	}
	for _, trouble := range checkout.Troubles() {
		if trouble.Words() == string(trouble) {
			t.Errorf("%s has no words", trouble)
		}
	}
}

// A checkout whose data is erased is found by nothing that was its student's.
func TestAStudentIsFoundByTheFoldedName(t *testing.T) {
	s := checkout.Student{FirstName: "Māia", LastName: "TŪHOE", Email: "Maia@Example.NZ"}
	if got := s.Search(); got != "tuhoe maia maia@example.nz" {
		t.Errorf("Search = %q", got)
	}
	if got := (checkout.Student{}).Search(); got != "" {
		t.Errorf("Search of an erased student = %q", got)
	}
}

func TestATroubleIsCountedWithinItsWindow(t *testing.T) {
	for trouble, want := range map[checkout.Trouble][2]time.Duration{
		checkout.TroubleMandates: {30 * day, 0}, checkout.TroubleEvents: {30 * day, 0}, checkout.TroubleNotices: {30 * day, 0},
		checkout.TroubleUnconfirmed: {30 * day, time.Hour}, checkout.TroubleUnfinished: {30 * day, day},
	} {
		if earliest, latest := trouble.Window(noon); noon.Sub(earliest) != want[0] || noon.Sub(latest) != want[1] {
			t.Errorf("%s: from %s to %s, want %s and %s before noon", trouble, earliest, latest, want[0], want[1])
		}
	}
	if earliest, latest := checkout.TroubleCRM.Window(noon); !earliest.IsZero() || !latest.Equal(noon) {
		t.Errorf("a call that is refused counts from %s to %s, want it for ever", earliest, latest)
	}
}

// An operator reads how far a checkout is.
func TestWordsSayHowFarACheckoutIs(t *testing.T) {
	open := openedNow(t).Next
	left, complete := begun(t)
	set, _ := ready(t)
	_, _, change := confirmedNow(t)
	agreed := change.Next
	for want, c := range map[string]checkout.Checkout{
		"waits for the payer":                          open,
		"the payer has begun the bank setup":           left,
		"the payer is done; the processor is not":      left.Observe(observed(checkout.BillingFulfilling, ""), noon).Next,
		"set up; waits for the provider’s confirm":     left.Observe(complete, noon).Next,
		"the bank setup failed; waits for another try": left.Observe(observed(checkout.BillingCancelled, ""), noon).Next,
		"the mandate has ended; waits for another try": left.Observe(observed(checkout.BillingFulfilled, checkout.MandateFailed), noon).Next,
		"confirmed":                        agreed,
		"confirmed; the mandate has ended": agreed.Observe(since(agreed, checkout.MandateFailed, 1), noon).Next,
		"cancelled by the provider":        byProvider(t, set).Next,
		"withdrawn":                        withdrawn(t, agreed).Next,
		"erased before it was confirmed":   open.Erase(noon, checkout.ActorService, nil).Next,
		"not set up; the link has expired": {Status: checkout.SetupRequired, Tokens: []checkout.Token{{Expires: noon}}},
	} {
		if got := c.Words(noon); got != want {
			t.Errorf("Words = %q, want %q", got, want)
		}
	}
}

func TestMaskedEmail(t *testing.T) {
	for address, want := range map[string]string{"maia.tuhoe@x.example": "m•••@x.example", "ā@x.example": "ā•••@x.example", "": "", "nobody": ""} {
		if got := (checkout.Student{Email: address}).MaskedEmail(); got != want {
			t.Errorf("MaskedEmail of %q = %q, want %q", address, got, want)
		}
	}
}

// A list that leaves a kind out leaves it out of every table that must be complete.
func TestListsOfKindsAreComplete(t *testing.T) {
	for file, list := range map[string]struct {
		declared string
		length   int
	}{
		"job.go":      {`(?m)^\tJob\w+ +JobKind += "`, len(checkout.JobKinds())},
		"moment.go":   {`(?m)^\tMoment\w+ +MomentKind += "`, len(checkout.MomentKinds())},
		"find.go":     {`(?m)^\tTrouble\w+ +Trouble += "`, len(checkout.Troubles())},
		"refusals.go": {`(?m)^\tCode\w+ +Code += "`, len(checkout.Codes())},
		"end.go":      {`(?m)^\tGround\w+ +Ground += "`, len(checkout.Grounds())},
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declared := regexp.MustCompile(list.declared).FindAll(source, -1); len(declared) != list.length {
			t.Errorf("%s declares %d, and lists %d", file, len(declared), list.length)
		}
	}
}

// confirmFor returns the confirm with the identifiers of another checkout.
func confirmFor(c checkout.Confirm, of checkout.Checkout) checkout.Confirm {
	c.CheckoutID, c.OrderID = checkout.Some(of.ID), checkout.Some(of.OrderID)
	c.OpportunityID, c.DDAID = checkout.Some(of.Records(catalogue.Sandbox).OpportunityID), checkout.Some(of.Records(catalogue.Sandbox).DDAID)
	return c
}
