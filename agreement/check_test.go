package agreement_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

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
