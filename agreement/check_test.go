package agreement_test

import (
	"slices"
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
	a := diploma()
	rest := plain(text(t, a))
	figures := a.Figures(nzTime(t))
	if want := 2 + 3*len(a.Schedule) + 1 + 1 + 5; len(figures) != want { // the account, the consent, and the terms that it is to
		t.Errorf("%d figures for %d charges, want %d", len(figures), len(a.Schedule), want)
	}
	for _, figure := range figures {
		_, after, ok := strings.Cut(rest, figure)
		if !ok {
			t.Fatalf("%q does not follow in\n%s", figure, rest)
		}
		rest = after
	}
}

// What a drawing of an older wording must show is what its own text showed: the dates as they were planned, and no
// consent, whose words are not at hand.
func TestFiguresOfAnOlderWording(t *testing.T) {
	a := diploma()
	a.Version, a.Notice.NotBefore = "2026-11-21", money.Date{Year: 2027, Month: 4, Day: 9}
	got := a.Figures(nzTime(t))
	want := []string{"PPA-2027-000000001A5",
		"1", "Sunday 31 January 2027", "$200.00", "2", "Sunday 28 February 2027", "$697.50", "3", "Wednesday 31 March 2027", "$697.50",
		"4", "Friday 30 April 2027", "$697.50", "5", "Monday 31 May 2027", "$697.52", "$2,990.02"}
	if !slices.Equal(got, want) {
		t.Errorf("figures of version %s\n%q, want\n%q", a.Version, got, want)
	}
	a.Version = agreement.Version
	if spaced := a.Figures(nzTime(t)); spaced[2] != "Friday 9 April 2027" || spaced[5] != "Sunday 9 May 2027" || len(spaced) != len(want)+7 {
		t.Errorf("figures of version %s: %q; want the dates on which payments are collected, the account and the consent", a.Version, spaced)
	}
}
