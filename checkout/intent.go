package checkout

import (
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// Intent is the canonical enrolment intent (section 4, idempotency rule 4): two creates of
// one order are the same enrolment if their intents are equal.
type Intent struct {
	CourseName string
	Pricing    money.Pricing
	Plan       money.Plan
}

// Mode returns the pricing mode in which the checkout was opened. A replay of its create is judged by that mode.
func (c Checkout) Mode() catalogue.Mode {
	if c.CourseCode != "" {
		return catalogue.Authoritative
	}
	return catalogue.Legacy
}

// Compare returns the fields in which want differs from what is stored, each saying what is stored, in the order of
// the contract; nil if both mean the same enrolment.
func Compare(stored, want Intent) []Fault {
	k := &checker{}
	compare(k, FieldCourseName, stored.CourseName, want.CourseName)
	compare(k, FieldPrice, stored.Pricing.Price, want.Pricing.Price)
	compare(k, FieldUpfront, stored.Pricing.Upfront, want.Pricing.Upfront)
	compare(k, FieldPrincipal, stored.Pricing.Principal, want.Pricing.Principal)
	compare(k, FieldRegular, stored.Plan.Regular, want.Plan.Regular)
	compare(k, FieldNumber, stored.Plan.Number, want.Plan.Number)
	compare(k, FieldFrequency, stored.Plan.Frequency, want.Plan.Frequency)
	compare(k, FieldFirstPayment, stored.Plan.First, want.Plan.First)
	return k.faults
}

func compare[T comparable](k *checker, field string, stored, want T) {
	if stored != want {
		k.fault(field, "is %v on the existing checkout, not %v; an order cannot be changed", stored, want)
	}
}
