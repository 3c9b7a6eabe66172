package agreement_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// An agreement comes back from its facts, however long its plan lasts.
func TestFactsComeBack(t *testing.T) {
	for _, n := range []int{1, 52, money.MaxInstalments} {
		a := sample.Agreement(n)
		a.Plan.First = money.Date{Year: 2199, Month: time.December, Day: 31}
		a.Plan.Frequency = money.Monthly
		a.Schedule = money.Schedule(a.Pricing.Upfront, a.Plan)
		got, err := agreement.ParseFacts(a.Facts())
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Fatalf("of %d instalments: %v; %q differ", n, err, a.Differences(got))
		}
	}
}

func TestFactsThatAreNone(t *testing.T) {
	facts := string(sample.Agreement(1).Facts())
	for name, text := range map[string]string{"nothing": "", "no JSON": "{", "another form": strings.Replace(facts, `"format": 1`, `"format": 2`, 1),
		"an unknown fact": strings.Replace(facts, `"format": 1`, `"format": 1, "more": 2`, 1),
		"no amount":       strings.Replace(facts, `"amount": `, `"amount": -`, 1), "no day": strings.Replace(facts, `"due_date": "2`, `"due_date": "x`, 1)} {
		if a, err := agreement.ParseFacts([]byte(text)); err == nil {
			t.Errorf("of %s: got %+v", name, a)
		}
	}
}

func FuzzParseFacts(f *testing.F) {
	f.Add(sample.Agreement(1).Facts())
	f.Fuzz(func(t *testing.T, text []byte) {
		if a, err := agreement.ParseFacts(text); err == nil {
			if again, err := agreement.ParseFacts(a.Facts()); err != nil || !reflect.DeepEqual(again, a) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
