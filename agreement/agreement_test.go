package agreement_test

import (
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// diploma is an agreement with an initial payment and a residual: 200.00 and four
// instalments, of which the last is two cents larger.
func diploma() agreement.Agreement {
	plan := money.Plan{
		Frequency:   money.Monthly,
		Instalments: money.Instalments{Number: 4, Regular: 697_50, Final: 697_52},
		First:       money.Date{Year: 2027, Month: time.January, Day: 31},
	}
	a := sample.Agreement(4)
	a.Number, a.Plan, a.Schedule = number(42), plan, money.Schedule(a.Pricing.Upfront, plan)
	a.DirectDebit.Consent = agreement.Consent{At: time.Date(2027, time.January, 15, 2, 59, 0, 0, time.UTC), From: "203.0.113.7",
		Terms: agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 2}, Provider: "Kōwhai Institute", Lender: terms().Lender}.Name(), Period: agreement.NoticePeriod{Days: 2}}
	a.Notice, a.Terms = agreement.Notice{Period: agreement.NoticePeriod{Days: 2}, NotBefore: money.Date{Year: 2027, Month: time.January, Day: 17}}, terms()
	return a
}

func TestPaymentsKeepOnePeriodBetweenThem(t *testing.T) {
	tooSoon := diploma()
	tooSoon.Notice.NotBefore = money.Date{Year: 2027, Month: time.April, Day: 9}
	var got []string
	for _, p := range tooSoon.Payments() {
		got = append(got, p.Taken.String())
	}
	if want := []string{"2027-04-09", "2027-05-09", "2027-06-09", "2027-07-09", "2027-08-09"}; !slices.Equal(got, want) {
		t.Errorf("collected on %q, want %q", got, want)
	}
	onTime := diploma()
	onTime.Notice.NotBefore = onTime.Plan.First
	for i, p := range onTime.Payments() {
		if p.Charge != onTime.Schedule[i] || p.Taken != p.Due {
			t.Errorf("payment %d is %+v, want %+v on its planned day", i+1, p, onTime.Schedule[i])
		}
	}
}

// A collector of business days takes the payments that are planned for other days later: the agreement says both days.
func TestPaymentsAreTakenByTheCollectorsCalendar(t *testing.T) {
	a := diploma()
	a.Notice.NotBefore = a.Plan.First
	a.Terms.Authority.Calendar = money.BusinessDays
	for i, p := range a.Payments() {
		if p.Charge != a.Schedule[i] || p.Taken != money.BusinessDays.Next(p.Due) {
			t.Errorf("payment %d is %+v, want %+v, taken on the next business day", i+1, p, a.Schedule[i])
		}
	}
}

// Check refuses an agreement without a frequency; until then its dates are the planned ones.
func TestPaymentsOfAFaultyAgreement(t *testing.T) {
	a := diploma()
	a.Plan.Frequency, a.Notice.NotBefore = "Daily", money.Date{Year: 2027, Month: time.February, Day: 1}
	for i, got := range a.Payments() {
		if got.Taken != a.Schedule[i].Due {
			t.Errorf("payment %d is taken on %s, want its planned day %s", i+1, got.Taken, a.Schedule[i].Due)
		}
	}
}

func TestFootSaysWhichWordingItIs(t *testing.T) {
	a := diploma()
	for sandbox, want := range map[bool]string{
		false: "Payment Plan Agreement PPA-2027-000000001A5, wording of 2026-11-29",
		true:  "Payment Plan Agreement PPA-2027-000000001A5, wording of 2026-11-29. SANDBOX: no agreement",
	} {
		a.Sandbox = sandbox
		if got := a.Foot(); got != want {
			t.Errorf("sandbox %v: %q, want %q", sandbox, got, want)
		}
	}
}
