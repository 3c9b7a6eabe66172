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

func TestMaskedEmail(t *testing.T) {
	for address, want := range map[string]string{"maia.tuhoe@x.example": "m•••@x.example", "ā@x.example": "ā•••@x.example", "": "", "nobody": ""} {
		if got := (checkout.Student{Email: address}).MaskedEmail(); got != want {
			t.Errorf("MaskedEmail of %q = %q, want %q", address, got, want)
		}
	}
}
