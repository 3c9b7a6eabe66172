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

func TestPaymentsAgreeWithVectors(t *testing.T) {
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
			for _, payment := range money.EveryDay.Payments(charges, tt.Frequency, date(t, tt.Earliest)) {
				got = append(got, payment.Taken.String())
			}
			if !slices.Equal(got, tt.NotBefore) {
				t.Errorf("Payments(%v, %s, %s) = %q, want %q", tt.Due, tt.Frequency, tt.Earliest, got, tt.NotBefore)
			}
			if !slices.Equal(charges, before) {
				t.Errorf("the schedule became %v", charges)
			}
		})
	}
}

// No payment is taken before its planned day or the first lawful one, nor on a day on which the collector takes nothing, and a
// period lies between each planned day and the next: payments never bunch.
func TestPaymentsAreNeverCollectedTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frequency := rapid.SampledFrom([]money.Frequency{money.Weekly, money.Fortnightly, money.Monthly}).Draw(t, "frequency")
		calendar := rapid.SampledFrom([]money.Calendar{money.EveryDay, money.BusinessDays}).Draw(t, "calendar")
		start := money.Date{Year: 2026, Month: time.January, Day: 1}
		plan := money.Plan{
			Frequency:   frequency,
			Instalments: money.Instalments{Number: rapid.IntRange(1, 60).Draw(t, "number"), Regular: 2, Final: 1},
			First:       start.AddDays(rapid.IntRange(0, 2000).Draw(t, "first")),
		}
		charges := money.Schedule(money.Cents(rapid.IntRange(0, 1).Draw(t, "upfront")), plan)
		earliest := start.AddDays(rapid.IntRange(0, 2000).Draw(t, "earliest"))
		payments := calendar.Payments(charges, frequency, earliest)
		if len(payments) != len(charges) {
			t.Fatalf("%d payments for %d charges", len(payments), len(charges))
		}
		for i, p := range payments {
			if p.Due.Before(charges[i].Due) || p.Due.Before(earliest) || p.Taken.Before(p.Due) {
				t.Fatalf("payment %d is due on %s, nothing may be taken before %s, and it is planned for %s and taken on %s",
					i+1, charges[i].Due, earliest, p.Due, p.Taken)
			}
			if want := payments[0].Due.After(frequency, i); p.Due != want {
				t.Fatalf("payment %d is planned for %s, want %s: %d periods after %s", i+1, p.Due, want, i, payments[0].Due)
			}
			for d := p.Due; d != p.Taken; d = d.AddDays(1) {
				if calendar.Collects(d) {
					t.Fatalf("payment %d is planned for %s and taken on %s, though payments are taken on %s", i+1, p.Due, p.Taken, d)
				}
			}
			if !calendar.Collects(p.Taken) || (p.Moved() == "") != (p.Due == p.Taken) {
				t.Fatalf("payment %d is taken on %s, and its planned day says %q", i+1, p.Taken, p.Moved())
			}
		}
		if first := max(0, days(charges[0].Due, earliest)); days(charges[0].Due, payments[0].Due) != first {
			t.Fatalf("the first payment is due on %s and planned for %s, where %s is the first lawful day", charges[0].Due, payments[0].Due, earliest)
		}
	})
}

func TestAMovedPaymentSaysWhy(t *testing.T) {
	for planned, want := range map[string]string{
		"2026-11-24": "",
		"2026-12-28": "Monday 28 December is Boxing Day: taken Tuesday 29",
		"2027-01-31": "Sunday 31 January is not a business day: taken Monday 1 February",
		"2027-02-06": "Saturday 6 February is not a business day: taken Tuesday 9",
		"2027-01-01": "Friday 1 January is New Year’s Day: taken Tuesday 5",
		"2027-10-25": "Monday 25 October is Labour Day: taken Tuesday 26",
	} {
		due := date(t, planned)
		if got := (money.Payment{Charge: money.Charge{Due: due}, Taken: money.BusinessDays.Next(due)}).Moved(); got != want {
			t.Errorf("a payment that is planned for %s says %q, want %q", planned, got, want)
		}
	}
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

func TestNoChargesAreNoPayments(t *testing.T) {
	if got := money.EveryDay.Payments(nil, money.Weekly, date(t, "2027-01-01")); len(got) != 0 {
		t.Errorf("the payments of nothing are %v", got)
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
