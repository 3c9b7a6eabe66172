package money_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
)

func TestScheduleAgreesWithVectors(t *testing.T) {
	var v scheduleVectors
	testdata.Read(t, "schedules.json", &v)
	for _, tt := range v.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			plan := money.Plan{
				Frequency:   tt.Frequency,
				Instalments: money.Instalments{Number: tt.Number, Regular: tt.Regular, Final: tt.Final},
				First:       date(t, tt.First),
			}
			var want []money.Charge
			for _, c := range tt.Charges {
				want = append(want, money.Charge{Sequence: c.Sequence, Type: c.Type, Due: date(t, c.Due), Amount: c.Amount})
			}
			got := money.Schedule(tt.Upfront, plan)
			if !slices.Equal(got, want) {
				t.Errorf("Schedule(%s, %+v) is\n%v, want\n%v", tt.Upfront, plan, got, want)
			}
			if sum(got) != tt.Price {
				t.Errorf("the charges sum to %s, want the price %s", sum(got), tt.Price)
			}
		})
	}
}

func TestEveryScheduleSumsToThePriceInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 2026))
	for range 3_000 {
		principal := money.MaxInstalments + randomPrincipal(random)
		upfront := max(0, below(random, 2*principal)-principal) // zero in half of the plans
		instalments, err := money.ByNumber(principal, 1+random.IntN(money.MaxInstalments))
		if random.IntN(2) == 0 {
			instalments, err = money.ByAmount(principal, (principal-1)/money.MaxInstalments+1+below(random, principal))
		}
		if err != nil {
			t.Fatal(err)
		}
		plan := money.Plan{
			Frequency:   []money.Frequency{money.Weekly, money.Fortnightly, money.Monthly}[random.IntN(3)],
			Instalments: instalments,
			First:       money.DateOf(time.Date(2000, time.January, 1+random.IntN(73_049), 0, 0, 0, 0, time.UTC)),
		}
		checkSchedule(t, upfront, plan)
	}
}

// checkSchedule checks the promises of a schedule one by one, without computing another schedule.
func checkSchedule(t *testing.T, upfront money.Cents, plan money.Plan) {
	t.Helper()
	charges := money.Schedule(upfront, plan)
	if want := upfront + plan.Principal(); sum(charges) != want {
		t.Fatalf("Schedule(%s, %+v) sums to %s, want %s", upfront, plan, sum(charges), want)
	}
	count := map[money.ChargeType]int{}
	for i, c := range charges {
		count[c.Type]++
		if c.Sequence != i+1 || c.Amount <= 0 {
			t.Fatalf("Schedule(%s, %+v): charge at %d is %+v", upfront, plan, i, c)
		}
		if i > 0 && days(charges[i-1].Due, c.Due) < 7 {
			t.Fatalf("Schedule(%s, %+v): %s is due less than a week before %s", upfront, plan, charges[i-1].Due, c.Due)
		}
	}
	finals := 0
	if plan.Residual() {
		finals = 1
	}
	last := charges[len(charges)-1]
	switch {
	case charges[0].Due != plan.First:
		t.Fatalf("Schedule(%s, %+v) starts on %s", upfront, plan, charges[0].Due)
	case (upfront > 0) != (charges[0].Type == money.InitialPayment) || upfront > 0 && charges[0].Amount != upfront:
		t.Fatalf("Schedule(%s, %+v) starts with %+v", upfront, plan, charges[0])
	case count[money.Instalment]+count[money.FinalInstalment] != plan.Number || count[money.InitialPayment] > 1:
		t.Fatalf("Schedule(%s, %+v) has %v", upfront, plan, count)
	case count[money.FinalInstalment] != finals || (finals == 1) != (last.Type == money.FinalInstalment):
		t.Fatalf("Schedule(%s, %+v) has %v and ends with %+v", upfront, plan, count, last)
	}
}

func TestCollectionDatesAgreeWithVectors(t *testing.T) {
	var v collectionVectors
	testdata.Read(t, "collection_dates.json", &v)
	for _, tt := range v.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			var charges []money.Charge
			for i, due := range tt.Due {
				charges = append(charges, money.Charge{Sequence: i + 1, Due: date(t, due), Amount: 1})
			}
			before := slices.Clone(charges)
			var got []string
			for _, d := range money.CollectionDates(charges, tt.Frequency, date(t, tt.Earliest)) {
				got = append(got, d.String())
			}
			if !slices.Equal(got, tt.NotBefore) {
				t.Errorf("CollectionDates(%v, %s, %s) = %q, want %q", tt.Due, tt.Frequency, tt.Earliest, got, tt.NotBefore)
			}
			if !slices.Equal(charges, before) {
				t.Errorf("the schedule became %v", charges)
			}
		})
	}
}

// No payment is collected before its planned day or the first lawful one, and a period lies between each and the next:
// they never bunch.
func TestPaymentsAreNeverCollectedTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frequency := rapid.SampledFrom([]money.Frequency{money.Weekly, money.Fortnightly, money.Monthly}).Draw(t, "frequency")
		start := money.Date{Year: 2000, Month: time.January, Day: 1}
		plan := money.Plan{
			Frequency:   frequency,
			Instalments: money.Instalments{Number: rapid.IntRange(1, 60).Draw(t, "number"), Regular: 2, Final: 1},
			First:       start.AddDays(rapid.IntRange(0, 2000).Draw(t, "first")),
		}
		charges := money.Schedule(money.Cents(rapid.IntRange(0, 1).Draw(t, "upfront")), plan)
		earliest := start.AddDays(rapid.IntRange(0, 2000).Draw(t, "earliest"))
		dates := money.CollectionDates(charges, frequency, earliest)
		if len(dates) != len(charges) {
			t.Fatalf("%d dates for %d charges", len(dates), len(charges))
		}
		for i, d := range dates {
			if d.Before(charges[i].Due) || d.Before(earliest) {
				t.Fatalf("payment %d is due on %s, nothing may be collected before %s, and it is collected on %s", i+1, charges[i].Due, earliest, d)
			}
			if want := dates[0].After(frequency, i); d != want {
				t.Fatalf("payment %d is collected on %s, want %s: %d periods after %s", i+1, d, want, i, dates[0])
			}
		}
		if first := max(0, days(charges[0].Due, earliest)); days(charges[0].Due, dates[0]) != first {
			t.Fatalf("the first payment is due on %s and collected on %s, where %s is the first lawful day", charges[0].Due, dates[0], earliest)
		}
	})
}

func TestLabel(t *testing.T) {
	for kind, want := range map[money.ChargeType]string{
		money.InitialPayment: "Initial payment", money.Instalment: "Instalment", money.FinalInstalment: "Final instalment",
	} {
		if got := kind.Label(); got != want {
			t.Errorf("Label of %s = %q, want %q", kind, got, want)
		}
	}
}

func TestNoChargesHaveNoCollectionDates(t *testing.T) {
	if got := money.CollectionDates(nil, money.Weekly, date(t, "2027-01-01")); len(got) != 0 {
		t.Errorf("CollectionDates of nothing = %v", got)
	}
}

func sum(charges []money.Charge) (total money.Cents) {
	for _, c := range charges {
		total += c.Amount
	}
	return total
}

// days counts the days from one date to another.
func days(from, to money.Date) int {
	start := time.Date(from.Year, from.Month, from.Day, 0, 0, 0, 0, time.UTC)
	end := time.Date(to.Year, to.Month, to.Day, 0, 0, 0, 0, time.UTC)
	return int(end.Sub(start) / (24 * time.Hour))
}
