package agreement_test

import (
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// diploma is an agreement with an initial payment and a residual: 200.00 and four
// instalments, of which the last is two cents larger.
func diploma() agreement.Agreement {
	plan := money.Plan{
		Frequency:   money.Monthly,
		Instalments: money.Instalments{Number: 4, Regular: 697_50, Final: 697_52},
		First:       money.Date{Year: 2027, Month: time.January, Day: 31},
	}
	a := sample.Agreement(4)
	a.Number, a.Plan, a.Schedule = number(42), plan, money.Schedule(a.Pricing.Upfront, plan)
	a.DirectDebit.Consent = agreement.Consent{At: time.Date(2027, time.January, 15, 2, 59, 0, 0, time.UTC), From: "203.0.113.7",
		Terms: agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 2}, Provider: "Kōwhai Institute", Lender: terms().Lender}.Name(), Period: agreement.NoticePeriod{Days: 2}}
	a.Notice, a.Terms = agreement.Notice{Period: agreement.NoticePeriod{Days: 2}, NotBefore: money.Date{Year: 2027, Month: time.January, Day: 17}}, terms()
	return a
}

// Check refuses an agreement without a frequency; until then its dates are the planned ones.
func TestPaymentsOfAFaultyAgreement(t *testing.T) {
	a := diploma()
	a.Plan.Frequency, a.Notice.NotBefore = "Daily", money.Date{Year: 2027, Month: time.February, Day: 1}
	for i, got := range a.Payments() {
		if got.Taken != a.Schedule[i].Due {
			t.Errorf("payment %d is taken on %s, want its planned day %s", i+1, got.Taken, a.Schedule[i].Due)
		}
	}
}

func TestFootSaysWhichWordingItIs(t *testing.T) {
	a := diploma()
	for sandbox, want := range map[bool]string{
		false: "Payment Plan Agreement PPA-2027-000000001A5, wording of 2026-11-29",
		true:  "Payment Plan Agreement PPA-2027-000000001A5, wording of 2026-11-29. SANDBOX: no agreement",
	} {
		a.Sandbox = sandbox
		if got := a.Foot(); got != want {
			t.Errorf("sandbox %v: %q, want %q", sandbox, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	plan := func(n int) func(*agreement.Agreement) { // the same principal in n instalments
		return func(a *agreement.Agreement) {
			a.Plan.Instalments, _ = money.ByNumber(a.Pricing.Principal, n)
			a.Schedule = money.Schedule(a.Pricing.Upfront, a.Plan)
		}
	}
	tests := []struct {
		name   string
		change func(*agreement.Agreement)
		want   string // "" for nothing wrong
	}{
		{"an agreement as it is made", func(*agreement.Agreement) {}, ""},
		{"another price", func(a *agreement.Agreement) { a.Pricing.Price++ },
			"initial payment and amount to finance are 2990.02, the course price is 2990.03\n" +
				"the charges sum to 2990.02, the course price is 2990.03"},
		{"another principal", func(a *agreement.Agreement) { a.Pricing.Principal--; a.Pricing.Upfront++ },
			"the instalments of the plan are 2790.02, the amount to finance is 2790.01\n" +
				"the charges are not those of the plan"},
		{"a cent that moved from one charge to another", func(a *agreement.Agreement) {
			a.Schedule[1].Amount++
			a.Schedule[2].Amount--
		}, "the charges are not those of the plan"},
		{"a cent that is missing", func(a *agreement.Agreement) { a.Schedule[1].Amount-- },
			"the charges sum to 2990.01, the course price is 2990.02\nthe charges are not those of the plan"},
		{"another date", func(a *agreement.Agreement) { a.Schedule[4].Due.Day-- }, "the charges are not those of the plan"},
		{"another kind of charge", func(a *agreement.Agreement) { a.Schedule[0].Type = money.Instalment },
			"the charges are not those of the plan"},
		{"one instalment", plan(1), ""},
		{"600 instalments", plan(600), ""},
		{"no instalment", func(a *agreement.Agreement) { a.Plan.Number = 0 },
			"the instalments of the plan are 0.02, the amount to finance is 2790.02\n" +
				`the plan has no schedule: 0 instalments, "Monthly"`},
		{"601 instalments", func(a *agreement.Agreement) { plan(600)(a); a.Plan.Number++; a.Plan.Final -= a.Plan.Regular },
			`the plan has no schedule: 601 instalments, "Monthly"`},
		{"a plan that has no schedule", func(a *agreement.Agreement) { a.Plan.Frequency = "Daily" },
			`the plan has no schedule: 4 instalments, "Daily"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, got := diploma(), ""
			tt.change(&a)
			if err := a.Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Check() = %q, want %q", got, tt.want)
			}
		})
	}
}

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
	for name, text := range map[string]string{"nothing": "", "no JSON": "{", "another form": strings.Replace(facts, `"format":1`, `"format":2`, 1),
		"an unknown fact": strings.Replace(facts, `"format":1`, `"format":1,"more":2`, 1),
		"no amount":       strings.Replace(facts, `"amount":`, `"amount":-`, 1), "no day": strings.Replace(facts, `"due_date":"2`, `"due_date":"x`, 1)} {
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

func number(value uint64) string {
	var entropy [8]byte
	binary.BigEndian.PutUint64(entropy[:], value)
	return agreement.NewNumber(2027, entropy)
}

// The check characters follow Crockford's own definition: the value modulo 37.
func TestNumbersAgreeWithVectors(t *testing.T) {
	var v struct {
		Description string `json:"description"`
		Made        []struct {
			Name    string `json:"name"`
			Year    int    `json:"year"`
			Entropy string `json:"entropy"`
			Number  string `json:"number"`
		} `json:"made"`
		Read []struct {
			Name     string `json:"name"`
			Number   string `json:"number"`
			Mistyped bool   `json:"mistyped"`
		} `json:"read"`
	}
	testdata.Read(t, "agreement_numbers.json", &v)
	for _, tt := range v.Made {
		entropy, err := hex.DecodeString(tt.Entropy)
		if err != nil || len(entropy) != 8 {
			t.Fatalf("%s: entropy %q has %d bytes, %v", tt.Name, tt.Entropy, len(entropy), err)
		}
		if got := agreement.NewNumber(tt.Year, [8]byte(entropy)); got != tt.Number || agreement.Mistyped(got) {
			t.Errorf("%s: NewNumber(%d, %s) = %s, mistyped %v; want %s", tt.Name, tt.Year, tt.Entropy, got, agreement.Mistyped(got), tt.Number)
		}
	}
	for _, tt := range v.Read {
		if got := agreement.Mistyped(tt.Number); got != tt.Mistyped {
			t.Errorf("%s: Mistyped(%q) = %v, want %v", tt.Name, tt.Number, got, tt.Mistyped)
		}
	}
}

func TestEveryNumberHasTheShapeAndARightCheckCharacter(t *testing.T) {
	shape := regexp.MustCompile(`^PPA-2027-[0-9A-HJKMNP-TV-Z]{11}$`)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Uint64().Draw(t, "value")
		got := number(value)
		if !shape.MatchString(got) || agreement.Mistyped(got) {
			t.Fatalf("NewNumber of %d = %s, mistyped: %v", value, got, agreement.Mistyped(got))
		}
	})
}

func TestOneWrongCharacterOrASwapIsNoticed(t *testing.T) {
	const characters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	rapid.Check(t, func(t *rapid.T) {
		good := number(rapid.Uint64().Draw(t, "value"))
		at := rapid.IntRange(len("PPA-2027-"), len(good)-1).Draw(t, "at")
		wrong := []byte(good)
		wrong[at] = rapid.SampledFrom([]byte(characters)).Draw(t, "character")
		if string(wrong) != good && !agreement.Mistyped(string(wrong)) {
			t.Errorf("%s for %s is not noticed", wrong, good)
		}
		if at == len(good)-1 {
			return
		}
		swapped := []byte(good)
		swapped[at], swapped[at+1] = swapped[at+1], swapped[at]
		if string(swapped) != good && !agreement.Mistyped(string(swapped)) {
			t.Errorf("%s for %s is not noticed", swapped, good)
		}
	})
}
