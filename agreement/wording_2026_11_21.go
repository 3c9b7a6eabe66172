package agreement

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// wording20261121 brought the sandbox, the notice period, the consent and the lender who collects. It shows each charge
// with its planned day, and says apart from that what is taken later because its notice is not over.
type wording20261121 struct{}

func (w wording20261121) sections(a Agreement, zone *time.Location) []Section {
	return withTerms([]Section{
		opening(a, zone),
		summary(a, []Row{{"Payer", student(a)}}, func(i int) string { return w.when(a, i) }),
		w.payments(a),
		payerOfThePlan(a),
		cost(a, a.Plan.First),
		declarations(a, "payer", firstIsPaymentOne, zone),
		authority(a, "The account holder has", accountEnding(a), consent(a, "The direct debit terms were accepted", zone), zone),
		repeated(a),
	}, a)
}

func (wording20261121) when(a Agreement, i int) string {
	if due := a.Schedule[i].Due; !due.Before(a.Notice.NotBefore) {
		return "on " + due.Long()
	}
	return "on or after " + a.Notice.NotBefore.Long()
}

func (wording20261121) payments(a Agreement) Section {
	var sum money.Cents
	count := 0
	for _, c := range a.Schedule {
		if c.Due.Before(a.Notice.NotBefore) {
			count, sum = count+1, sum+c.Amount
		}
	}
	var early []string
	when := "taken on or after " + a.Notice.NotBefore.Long() + ", for the payer has notice of a payment before it is taken."
	switch count {
	case 0:
	case 1:
		early = []string{"Payment 1, " + sum.Dollars() + ", is " + when}
	default:
		early = []string{fmt.Sprintf("Payments 1 to %d, %s together, are %s", count, sum.Dollars(), when)}
	}
	return planned(a, func(i int) money.Date { return a.Schedule[i].Due }, early...)
}

func (wording20261121) debitTerms(t DebitTerms) []Row {
	return debitTermsWith(t, noticeOfPayments(t, "One that is planned for an earlier day is taken on the first day that is late enough."))
}

func (wording20261121) foot(a Agreement) string { return footWithWording(a) }
