package agreement

import "time"

// wording20261122 keeps one payment period between payments of which the first was planned too soon, and shows each charge
// with the day on which it is collected.
type wording20261122 struct{}

func (wording20261122) sections(a Agreement, zone *time.Location) []Section {
	return withTerms([]Section{
		opening(a, zone),
		summary(a, []Row{{"Payer", student(a)}}, onCollectionDate(a)),
		spaced(a),
		payerOfThePlan(a),
		cost(a, a.firstPayment()),
		declarations(a, "payer", firstIsPaymentOne, zone),
		authority(a, "The account holder has", accountEnding(a), consent(a, "The direct debit terms were accepted", zone), zone),
		repeated(a),
	}, a)
}

func (wording20261122) debitTerms(t DebitTerms) []Row { return debitTermsWith(t, spacedNotice(t)) }

func (wording20261122) foot(a Agreement) string { return footWithWording(a) }
