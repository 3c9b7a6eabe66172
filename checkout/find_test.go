package checkout_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestSummariseNamesTheWorstProvider(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(int64(minute)*60, 0).UTC() }
	got := checkout.Summarise([]checkout.TroubleCount{
		{Trouble: checkout.TroubleEvents, ProviderCode: "A", Count: 2, Oldest: at(3)},
		{Trouble: checkout.TroubleEvents, ProviderCode: "B", Count: 5, Oldest: at(4)},
		{Trouble: checkout.TroubleCRM, ProviderCode: "A", Count: 1, Oldest: at(9)},
	})
	want := []checkout.Today{{Trouble: checkout.TroubleCRM, Count: 1, Oldest: at(9), Worst: "A"},
		{Trouble: checkout.TroubleEvents, Count: 7, Oldest: at(3), Worst: "B"}}
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
		"waits for the payer":                      open,
		"the payer has begun the bank setup":       left,
		"the payer is done; the processor is not":  left.Observe(observed(checkout.BillingFulfilling, ""), noon).Next,
		"set up; waits for the provider’s confirm": left.Observe(complete, noon).Next,
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
