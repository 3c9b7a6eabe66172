package agreement_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// Plans of each calendar at the quick and the full level.
const (
	fewPlans  = 500
	manyPlans = 100_000
)

// Every day that the payments of an agreement name is a day on which its collector takes payments, or stands as the planned day
// in a note beside the day of collection. The amounts in the table sum to its total.
func TestEveryPrintedDateIsACollectionDay(t *testing.T) {
	zone := sample.NewZealand(t)
	random := rand.New(rand.NewPCG(20, 2026))
	for _, calendar := range []money.Calendar{money.EveryDay, money.BusinessDays} {
		for range testlevel.Runs(t, testlevel.Of(fewPlans, manyPlans)) {
			a := anyPlan(random, calendar)
			sections, err := a.Text(zone)
			if err != nil {
				t.Fatal(err)
			}
			checkDates(t, a, sections)
			if t.Failed() {
				t.Fatalf("%s: %+v, notice %+v", calendar, a.Plan, a.Notice)
			}
		}
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

// toldInAll returns what a payer pays who is told of a number of payments by these steps alone.
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
