package agreement_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
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

// Plans of each calendar at the quick and the full level.
const (
	fewPlans  = 500
	manyPlans = 100_000
)

// Every day that the payments of an agreement name is a day on which its collector takes payments, or stands as the planned day
// in a note beside the day of collection. The amounts in the table sum to its total.
func TestEveryPrintedDateIsACollectionDay(t *testing.T) {
	zone := sample.NewZealand(t)
	for _, calendar := range []money.Calendar{money.EveryDay, money.BusinessDays} {
		t.Run(string(calendar), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(20, 2026))
			plans := fewPlans
			if os.Getenv("PROVIDER_CHECKOUT_TEST") == "full" { // the rules and their tests need no package of adapters
				plans = manyPlans
			}
			for range plans {
				a := anyPlan(random, calendar)
				sections, err := a.Text(zone)
				if err != nil {
					t.Fatal(err)
				}
				checkDates(t, a, sections)
				if t.Failed() {
					t.Fatalf("%+v, notice %+v", a.Plan, a.Notice)
				}
			}
		})
	}
}

// anyPlan returns an agreement with a plan of its own: mostly a short plan, because a long one shows nothing else.
func anyPlan(random *rand.Rand, calendar money.Calendar) agreement.Agreement {
	a := diploma()
	a.Plan.Frequency = []money.Frequency{money.Weekly, money.Fortnightly, money.Monthly}[random.IntN(3)]
	a.Plan.First = money.DateOf(time.Date(2026, time.January, 1+random.IntN(3000), 0, 0, 0, 0, time.UTC))
	period := agreement.NoticePeriod{Days: 1 + random.IntN(agreement.MaxNotice)}
	if random.IntN(2) == 0 {
		period = agreement.NoticePeriod{Days: 1 + random.IntN(agreement.MaxFrequentNotice), Business: true}
	}
	a.Notice = agreement.AgreedNotice(agreement.Consent{Period: period}, agreement.NoticePeriod{}, a.Plan.First.AddDays(random.IntN(60)-50), calendar)
	a.Terms.Authority.Calendar = calendar
	number := 1 + random.IntN(8)
	if random.IntN(100) == 0 {
		number = 1 + random.IntN(120)
	}
	instalments, err := money.ByNumber(money.Cents(number)+money.Cents(random.IntN(1_000_000)), number)
	if err != nil {
		panic(err) // there is a cent for each
	}
	setPlan(&a, money.Cents(random.IntN(2)*random.IntN(50_000)), instalments)
	return a
}

var printedDate = regexp.MustCompile(`\b[A-Z][a-z]+day [0-9]{1,2} [A-Z][a-z]+ 2[0-9]{3}\b`)

func checkDates(t *testing.T, a agreement.Agreement, sections []agreement.Section) {
	t.Helper()
	taken := map[string]bool{a.Notice.NotBefore.Long(): true}
	payments := a.Payments()
	for _, p := range payments {
		taken[p.Taken.Long()] = true
	}
	table := section(t, sections, "Planned payments").Table
	var sum money.Cents
	for i, row := range table.Rows {
		p := payments[i]
		sum += p.Amount
		note := table.Note(i)
		beside := strings.HasPrefix(note, strings.TrimSuffix(p.Due.Long(), " "+p.Due.String()[:4])+" is ") &&
			strings.Contains(note, ": taken ")
		if row[1] != p.Taken.Long() || !a.Terms.Authority.Calendar.Collects(p.Taken) || (p.Taken != p.Due) != beside || p.Taken == p.Due && note != "" {
			t.Errorf("payment %d of %s is planned for %s and taken on %s; it reads %q with the note %q", i+1, p.Amount, p.Due, p.Taken, row, note)
		}
	}
	if total := table.Foot[len(table.Foot)-1]; total != sum.Dollars() || sum != a.Pricing.Price || len(table.Rows) != len(a.Schedule) {
		t.Errorf("%d payments of %d sum to %s, the total is %s and the price %s", len(table.Rows), len(a.Schedule), sum.Dollars(), total, a.Pricing.Price)
	}
	if told := toldInAll(t, agreement.Steps(payments, a.Plan.Frequency), len(payments)); told != sum {
		t.Errorf("the steps %q sum to %s, the payments to %s", agreement.Steps(payments, a.Plan.Frequency), told.Dollars(), sum.Dollars())
	}
	for _, title := range []string{"At a glance", "Planned payments", "What the course costs"} {
		s := section(t, sections, title)
		said := s.Paragraphs
		for _, r := range s.Rows {
			said = append(said, r.Value)
		}
		for _, day := range printedDate.FindAllString(strings.Join(said, "\n"), -1) {
			if !taken[day] && day != a.Plan.First.Long() {
				t.Errorf("%q names %s, on which nothing is taken", title, day)
			}
		}
	}
}

var printedAmount = regexp.MustCompile(`\$([0-9,]+\.[0-9]{2})`)

// toldInAll returns the sum that the steps state for a number of payments.
func toldInAll(t *testing.T, steps []agreement.Step, payments int) (sum money.Cents) {
	t.Helper()
	for _, step := range steps {
		var amounts []money.Cents
		for _, found := range printedAmount.FindAllStringSubmatch(step.String(), -1) {
			amount, err := money.Parse(strings.ReplaceAll(found[1], ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			amounts = append(amounts, amount)
			sum += amount
		}
		if strings.Contains(step.Amount, " ") { // a payment is the first step, and the last may differ
			sum += amounts[0] * money.Cents(payments-1-len(amounts))
		}
	}
	return sum
}
