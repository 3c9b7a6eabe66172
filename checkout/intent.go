package checkout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// Intent returns the intent of a checked create of a legacy provider.
func (c Create) Intent() Intent {
	return Intent{
		CourseName: c.CourseName.Value,
		Pricing:    money.Pricing{Price: c.Price.Value, Upfront: c.Upfront.Value, Principal: c.Principal.Value},
		Plan: money.Plan{Frequency: money.Frequency(c.Frequency.Value), Instalments: c.instalments(),
			First: c.First.Value},
	}
}

// Resolve returns the intent of a checked create that names this course, or a CodeInvalid.
func (c Create) Resolve(course catalogue.Course, env catalogue.Environment) (Intent, error) {
	pricing, instalments, err := course.Resolve(env, money.Frequency(c.Frequency.Value))
	switch {
	case errors.Is(err, catalogue.ErrNoOption):
		return Intent{}, c.invalid(fieldFrequency, "must be "+frequencies(course)+": this course is not offered otherwise")
	case errors.Is(err, catalogue.ErrUnavailable):
		return Intent{}, c.UnknownCourse()
	case err != nil:
		return Intent{}, fmt.Errorf("resolve course %s: %w", course.Code, err)
	}
	return c.claim(Intent{
		CourseName: course.Name,
		Pricing:    pricing,
		Plan:       money.Plan{Frequency: money.Frequency(c.Frequency.Value), Instalments: instalments},
	})
}

// ResolveAgain returns the intent of a checked create whose order is on record: an order is
// resolved once, so that a retry stays safe when a price is edited or a course retires. ok is false
// if the create names another course or frequency than the checkout, and must be resolved by the catalogue.
func (c Create) ResolveAgain(stored Checkout) (want Intent, ok bool, err error) {
	if stored.CourseCode != c.CourseCode.Value || string(stored.Intent.Plan.Frequency) != c.Frequency.Value {
		return Intent{}, false, nil
	}
	want, err = c.claim(stored.Intent)
	return want, true, err
}

// UnknownCourse refuses a course code, in the same words whatever the reason (section 2.1, rule 3).
func (c Create) UnknownCourse() error {
	return c.invalid(fieldCourseCode, "is not a course that this provider can enrol in now; send the code of an active one of this environment")
}

// frequencies lists those that the course is offered at.
func frequencies(course catalogue.Course) string {
	var quoted []string
	for _, o := range course.Options {
		quoted = append(quoted, strconv.Quote(string(o.Frequency)))
	}
	return strings.Join(quoted, " or ")
}

func (c Create) invalid(field, message string) error {
	k := &checker{}
	k.fault(field, "%s", message)
	return k.err()
}

// claim returns the offer at the requested first payment date, if every other value that the
// request repeats is the offer's (section 2.1, rules 2 and 5).
func (c Create) claim(offer Intent) (Intent, error) {
	offer.Plan.First = c.First.Value
	k := &checker{}
	const differs = "must equal the resolved %v, or be left out"
	text := func(field string, v Given[string], want string) {
		if v.OK && v.Value != want {
			k.fault(field, differs, want)
		}
	}
	amount := func(field string, v Given[money.Cents], want money.Cents) {
		if v.OK && v.Value != want {
			k.fault(field, differs, want)
		}
	}
	text(fieldCourseName, c.CourseName, offer.CourseName)
	amount(fieldPrice, c.Price, offer.Pricing.Price)
	amount(fieldPrincipal, c.Principal, offer.Pricing.Principal)
	amount(fieldUpfront, c.Upfront, offer.Pricing.Upfront)
	if c.Number.OK && c.Number.Value != offer.Plan.Number {
		k.fault(fieldNumber, differs, offer.Plan.Number)
	}
	amount(fieldRegular, c.Regular, offer.Plan.Regular)
	amount(fieldFinal, c.Final, offer.Plan.Final)
	return offer, k.err()
}

// Compare returns the fields in which want differs from what is stored, each saying what is
// stored; none if both mean the same enrolment.
func Compare(stored, want Intent) []Fault {
	k := &checker{}
	compare(k, fieldCourseName, stored.CourseName, want.CourseName)
	compare(k, fieldPrice, stored.Pricing.Price, want.Pricing.Price)
	compare(k, fieldUpfront, stored.Pricing.Upfront, want.Pricing.Upfront)
	compare(k, fieldPrincipal, stored.Pricing.Principal, want.Pricing.Principal)
	compare(k, fieldRegular, stored.Plan.Regular, want.Plan.Regular)
	compare(k, fieldNumber, stored.Plan.Number, want.Plan.Number)
	compare(k, fieldFrequency, stored.Plan.Frequency, want.Plan.Frequency)
	compare(k, fieldFirst, stored.Plan.First, want.Plan.First)
	return k.faults
}

func compare[T comparable](k *checker, field string, stored, want T) {
	if stored != want {
		k.fault(field, "is %v on the existing checkout, not %v; an order cannot be changed", stored, want)
	}
}

// Replay returns nil if a create of this intent is a retry of the stored checkout, and
// CodeIntentConflict with every differing field if it is not.
func Replay(stored Checkout, want Intent) error {
	if differing := Compare(stored.Intent, want); len(differing) > 0 {
		return Refuse(CodeIntentConflict,
			"this order already has a checkout with a different enrolment intent; nothing was changed: "+
				"send the first intent again, or use a new provider_order_id", differing...)
	}
	return nil
}

// KeyTaken refuses an idempotency key that is bound to another order.
func KeyTaken() error {
	return Refuse(CodeIntentConflict, "this Idempotency-Key belongs to another order; nothing was changed: use a key for one order only",
		Fault{fieldKey, "was used to create the checkout of another order"},
		Fault{fieldOrder, "is not the order that the Idempotency-Key belongs to"})
}

// Admit returns nil if the provider that a request names, if any, is the key's.
func Admit(keyProvider string, named Given[string]) error {
	if named.OK && named.Value != keyProvider {
		return Refuse(CodeKeyMismatch, "the API key does not belong to this provider_code; send the one that the key was issued to",
			Fault{fieldProvider, "does not match the API key; every letter counts, its case too"})
	}
	return nil
}
