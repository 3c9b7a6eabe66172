package agreement_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

func TestStepsSayEveryKindOfPlan(t *testing.T) {
	day := func(year int, month time.Month, day int) money.Date {
		return money.Date{Year: year, Month: month, Day: day}
	}
	plan := func(f money.Frequency, first money.Date, number int, regular, final money.Cents) money.Plan {
		return money.Plan{Frequency: f, First: first, Instalments: money.Instalments{Number: number, Regular: regular, Final: final}}
	}
	december := day(2026, time.December, 7) // a Monday
	for _, tt := range []struct {
		name     string
		upfront  money.Cents
		plan     money.Plan
		calendar money.Calendar
		first    string
		then     string
	}{
		{"weekly, with an initial and a final payment", 200_00, plan(money.Weekly, december, 52, 53_65, 53_85), money.EveryDay,
			"First payment: $200.00 on Monday 7 December 2026",
			"Then: $53.65 a week until Monday 6 December 2027; the last payment is $53.85"},
		{"fortnightly, without a residual", 200_00, plan(money.Fortnightly, december, 26, 100_00, 100_00), money.EveryDay,
			"First payment: $200.00 on Monday 7 December 2026", "Then: $100.00 every two weeks until Monday 6 December 2027"},
		{"monthly, without an initial payment", 0, plan(money.Monthly, day(2027, time.January, 31), 12, 100_00, 100_00), money.EveryDay,
			"First payment: $100.00 on Sunday 31 January 2027", "Then: $100.00 a month until Friday 31 December 2027"},
		{"weekly, without an initial payment and with a residual", 0, plan(money.Weekly, december, 4, 25_00, 25_03), money.EveryDay,
			"First payment: $25.00 on Monday 7 December 2026", "Then: $25.00 a week until Monday 28 December 2026; the last payment is $25.03"},
		{"one payment", 0, plan(money.Weekly, december, 1, 120_00, 120_00), money.EveryDay, "Payment: $120.00 on Monday 7 December 2026", ""},
		{"an initial payment and one instalment", 200_00, plan(money.Monthly, december, 1, 2_790_00, 2_790_00), money.EveryDay,
			"First payment: $200.00 on Monday 7 December 2026", "Then: $2,790.00 on Thursday 7 January 2027"},
		{"two instalments that differ", 200_00, plan(money.Weekly, december, 2, 53_65, 53_66), money.EveryDay,
			"First payment: $200.00 on Monday 7 December 2026",
			"Then: $53.65 on Monday 14 December 2026, and $53.66 on Monday 21 December 2026"},
		{"two instalments that are equal", 200_00, plan(money.Weekly, december, 2, 53_65, 53_65), money.EveryDay,
			"First payment: $200.00 on Monday 7 December 2026", "Then: $53.65 a week until Monday 21 December 2026"},
		{"a first and a last day that are moved", 200_00, plan(money.Weekly, day(2026, time.December, 28), 4, 50_00, 50_01), money.BusinessDays,
			"First payment: $200.00 on Tuesday 29 December 2026 (Monday 28 December is Boxing Day: taken Tuesday 29)",
			"Then: $50.00 a week until Monday 25 January 2027; the last payment is $50.01"},
		{"a last day that is moved", 0, plan(money.Monthly, day(2026, time.December, 31), 3, 50_00, 50_00), money.BusinessDays,
			"First payment: $50.00 on Thursday 31 December 2026",
			"Then: $50.00 a month until Monday 1 March 2027 (Sunday 28 February is not a business day: taken Monday 1 March)"},
		{"two days that are moved", 200_00, plan(money.Monthly, december, 2, 50_00, 50_01), money.BusinessDays,
			"First payment: $200.00 on Monday 7 December 2026",
			"Then: $50.00 on Thursday 7 January 2027, and $50.01 on Tuesday 9 February 2027" +
				" (Sunday 7 February is not a business day: taken Tuesday 9)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			payments := tt.calendar.Payments(money.Schedule(tt.upfront, tt.plan), tt.plan.Frequency, tt.plan.First)
			var got [2]string
			for i, step := range agreement.Steps(payments, tt.plan.Frequency) {
				got[i] = step.Label + ": " + step.String()
			}
			if want := [2]string{tt.first, tt.then}; got != want {
				t.Errorf("the plan is said as %q, want %q", got, want)
			}
		})
	}
	if got := agreement.Steps(nil, money.Weekly); got != nil {
		t.Errorf("a plan without payments is said as %q", got)
	}
}
