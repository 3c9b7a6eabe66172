package money_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
)

func TestInstalmentsAgreeWithVectors(t *testing.T) {
	var v instalmentVectors
	testdata.Read(t, "instalments.json", &v)
	for _, tt := range append(v.ByNumber, v.ByAmount...) {
		t.Run(tt.Name, func(t *testing.T) {
			want := money.Instalments{Number: tt.Number, Regular: tt.Regular, Final: tt.Final}
			got, err := tt.divide()
			if err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
			if got.Principal() != tt.Principal {
				t.Errorf("%+v sum to %s, want %s", got, got.Principal(), tt.Principal)
			}
			if got.Residual() != (tt.Final != tt.Regular) {
				t.Errorf("%+v: Residual is %v", got, got.Residual())
			}
		})
	}

	faults := map[string]error{
		"no_principal":   money.ErrNoPrincipal,
		"number":         money.ErrNumber,
		"amount":         money.ErrAmount,
		"under_one_cent": money.ErrUnderOneCent,
	}
	for _, tt := range v.Invalid {
		t.Run(tt.Name, func(t *testing.T) {
			want, ok := faults[tt.Fault]
			if !ok {
				t.Fatalf("instalments.json names an unknown fault %q", tt.Fault)
			}
			if byAmount := tt.Amount != nil; tt.Method != map[bool]string{true: "by_amount", false: "by_number"}[byAmount] {
				t.Fatalf("method %q, amount given: %v", tt.Method, byAmount)
			}
			got, err := tt.divide()
			if !errors.Is(err, want) || got != (money.Instalments{}) {
				t.Errorf("%+v, %v; want none, %v", got, err, want)
			}
		})
	}
}

// Ten million random plans: nothing is lost, nothing is added, and the last instalment is
// what its promise says.
func TestEveryPlanConservesItsPrincipal(t *testing.T) {
	random := rand.New(rand.NewPCG(52, 2026))
	for range 5_000_000 {
		principal := randomPrincipal(random)
		n := 1 + random.IntN(int(min(money.MaxInstalments, principal)))
		byNumber, err := money.ByNumber(principal, n)
		if err != nil || byNumber.Number != n || !conserves(byNumber, principal) ||
			byNumber.Final < byNumber.Regular || byNumber.Final-byNumber.Regular > money.Cents(n-1) {
			t.Fatalf("ByNumber(%s, %d) = %+v, %v", principal, n, byNumber, err)
		}

		least := (principal-1)/money.MaxInstalments + 1
		regular := least + below(random, 2*principal)
		if random.IntN(2) == 0 {
			regular = least + below(random, 1+10*least)
		}
		byAmount, err := money.ByAmount(principal, regular)
		if err != nil || !conserves(byAmount, principal) ||
			byAmount.Final > byAmount.Regular || byAmount.Regular != min(regular, principal) {
			t.Fatalf("ByAmount(%s, %s) = %+v, %v", principal, regular, byAmount, err)
		}
	}
}

// A plan that was divided by number is the same plan by its amount wherever it divides evenly.
func TestEvenPlansAreTheSameByNumberAndByAmount(t *testing.T) {
	random := rand.New(rand.NewPCG(26, 2026))
	for range 100_000 {
		n := 1 + random.IntN(money.MaxInstalments)
		regular := 1 + below(random, money.Max/money.Cents(n))
		byNumber, err1 := money.ByNumber(money.Cents(n)*regular, n)
		byAmount, err2 := money.ByAmount(money.Cents(n)*regular, regular)
		if err1 != nil || err2 != nil || byNumber != byAmount || byNumber.Residual() {
			t.Fatalf("%d times %s: by number %+v, %v; by amount %+v, %v", n, regular, byNumber, err1, byAmount, err2)
		}
	}
}

func TestPrincipalsBeyondTheServicesRangeDoNotOverflow(t *testing.T) {
	const huge = money.Cents(math.MaxInt64)
	if got, err := money.ByNumber(huge, 600); err != nil || got.Principal() != huge {
		t.Errorf("ByNumber(%d, 600) = %+v, %v", huge, got, err)
	}
	if got, err := money.ByAmount(huge, huge-1); err != nil || got.Principal() != huge {
		t.Errorf("ByAmount(%d, %d) = %+v, %v", huge, huge-1, got, err)
	}
	if got, err := money.ByAmount(huge, 1); !errors.Is(err, money.ErrNumber) {
		t.Errorf("ByAmount(%d, 1) = %+v, %v; want %v", huge, got, err, money.ErrNumber)
	}
}

func TestOnlyTheThreeFrequenciesAreValid(t *testing.T) {
	for f, want := range map[money.Frequency]bool{
		money.Weekly: true, money.Fortnightly: true, money.Monthly: true,
		"": false, "weekly": false, "Weekly ": false, "Yearly": false,
	} {
		if f.Valid() != want {
			t.Errorf("%q is valid: %v, want %v", f, f.Valid(), want)
		}
	}
}

func conserves(i money.Instalments, principal money.Cents) bool {
	return money.Cents(i.Number-1)*i.Regular+i.Final == principal && i.Principal() == principal &&
		1 <= i.Number && i.Number <= money.MaxInstalments && i.Regular > 0 && i.Final > 0
}

// randomPrincipal generates as many small principals as large ones.
func randomPrincipal(random *rand.Rand) money.Cents {
	most := money.Cents(10)
	for range random.IntN(9) {
		most *= 10
	}
	return 1 + below(random, min(most, money.Max))
}

// below generates an amount from 0 to n − 1.
func below(random *rand.Rand, n money.Cents) money.Cents {
	return money.Cents(random.Int64N(int64(n)))
}

// amountVectors is testdata/amounts.json.
type amountVectors struct {
	Description string `json:"description"`
	Cases       []struct {
		Name    string      `json:"name"`
		Text    string      `json:"text"`
		Cents   money.Cents `json:"cents"`
		Written string      `json:"written"`
		Fault   string      `json:"fault"`
	} `json:"cases"`
}

// instalmentVectors is testdata/instalments.json.
type instalmentVectors struct {
	Description string           `json:"description"`
	ByNumber    []instalmentCase `json:"by_number"`
	ByAmount    []instalmentCase `json:"by_amount"`
	Invalid     []instalmentCase `json:"invalid"`
}

type instalmentCase struct {
	Name      string       `json:"name"`
	Method    string       `json:"method"` // of an invalid one: "by_number" or "by_amount"
	Principal money.Cents  `json:"principal_cents"`
	Number    int          `json:"number"`
	Amount    *money.Cents `json:"amount_cents"` // only where the plan is by amount
	Regular   money.Cents  `json:"regular_cents"`
	Final     money.Cents  `json:"final_cents"`
	Fault     string       `json:"fault"`
}

// divide divides the case's principal the way that the case asks for.
func (c instalmentCase) divide() (money.Instalments, error) {
	if c.Method == "by_amount" || c.Method == "" && c.Amount != nil {
		return money.ByAmount(c.Principal, *c.Amount)
	}
	return money.ByNumber(c.Principal, c.Number)
}

// scheduleVectors is testdata/schedules.json.
type scheduleVectors struct {
	Description string `json:"description"`
	Cases       []struct {
		Name      string          `json:"name"`
		Upfront   money.Cents     `json:"upfront_cents"`
		Frequency money.Frequency `json:"frequency"`
		First     string          `json:"first_payment_date"`
		Number    int             `json:"number"`
		Regular   money.Cents     `json:"regular_cents"`
		Final     money.Cents     `json:"final_cents"`
		Price     money.Cents     `json:"price_cents"`
		Charges   []struct {
			Sequence int              `json:"sequence"`
			Type     money.ChargeType `json:"type"`
			Due      string           `json:"due_date"`
			Amount   money.Cents      `json:"amount_cents"`
		} `json:"charges"`
	} `json:"cases"`
}

// collectionVectors is testdata/collection_dates.json.
type collectionVectors struct {
	Description string `json:"description"`
	Cases       []struct {
		Name      string          `json:"name"`
		Frequency money.Frequency `json:"frequency"`
		Earliest  string          `json:"earliest"`
		Due       []string        `json:"due_dates"`
		NotBefore []string        `json:"not_before"`
	} `json:"cases"`
}
