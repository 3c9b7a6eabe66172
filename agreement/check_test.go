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
	for _, version := range versions {
		a := concludedIn(version)
		figures, err := a.Figures(nzTime(t))
		if err != nil {
			t.Fatal(err)
		}
		want := 1 + 4*len(a.Schedule) + 2 + 4 + 5 // the number, the charges, the total, the authority, and the terms
		if version >= "2026-11-24" {
			want += -1 + 2 + 6 // the authority is identified in the record, and has two terms more
		}
		if !a.DirectDebit.Consent.IsZero() {
			want++
		}
		if len(figures) != want || figures[0] != a.Number {
			t.Errorf("%s: %d figures for %d charges, want %d: %q", version, len(figures), len(a.Schedule), want, figures)
		}
		rest := plain(text(t, a))
		for _, figure := range figures {
			_, after, ok := strings.Cut(rest, figure)
			if !ok {
				t.Fatalf("%s: %q does not follow in\n%s", version, figure, rest)
			}
			rest = after
		}
	}
}

// The wordings before 2026-11-22 showed the dates as they were planned, even if the notice of a payment was not over.
func TestFiguresShowTheDatesOfTheirWording(t *testing.T) {
	for version, want := range map[string][]string{
		"2026-11-21": {"Sunday 31 January 2027", "Sunday 28 February 2027"},
		"2026-11-22": {"Friday 9 April 2027", "Sunday 9 May 2027"},
	} {
		a := concludedIn(version)
		a.Notice.NotBefore = money.Date{Year: 2027, Month: 4, Day: 9}
		figures, err := a.Figures(nzTime(t))
		if err != nil || figures[2] != want[0] || figures[6] != want[1] {
			t.Errorf("figures of version %s: %q, %v; want %q", version, figures, err, want)
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
