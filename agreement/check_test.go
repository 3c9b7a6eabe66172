package agreement_test

import (
	"strings"
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

func TestFiguresAreInTheTextInTheirOrder(t *testing.T) {
	for name, change := range map[string]func(*agreement.Agreement){
		"with a consent":                func(*agreement.Agreement) {},
		"without a consent":             func(a *agreement.Agreement) { a.DirectDebit.Consent = agreement.Consent{} },
		"with a first payment too soon": func(a *agreement.Agreement) { a.Notice.NotBefore = money.Date{Year: 2027, Month: 4, Day: 9} },
	} {
		a := diploma()
		change(&a)
		figures, err := a.Figures(nzTime(t))
		if err != nil {
			t.Fatal(err)
		}
		want := 1 + 4*len(a.Schedule) + 2 + 3 + 7 + 5 // the number, the charges, the total, the authority, the terms and the record
		if !a.DirectDebit.Consent.IsZero() {
			want += 2 // itself, and the terms that it names
		}
		if len(figures) != want || figures[0] != a.Number {
			t.Errorf("%s: %d figures for %d charges, want %d: %q", name, len(figures), len(a.Schedule), want, figures)
		}
		rest := plain(text(t, a))
		for _, figure := range figures {
			_, after, ok := strings.Cut(rest, figure)
			if !ok {
				t.Fatalf("%s: %q does not follow in\n%s", name, figure, rest)
			}
			rest = after
		}
	}
}

func TestFiguresOfAnUnknownWordingAreRefused(t *testing.T) {
	a := diploma()
	a.Version = "2020-01-01"
	if figures, err := a.Figures(nzTime(t)); err == nil || figures != nil {
		t.Errorf("figures %q, %v; want none and an error", figures, err)
	}
}
