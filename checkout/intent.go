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

// Mode returns the pricing mode in which the checkout was opened. A replay of its create is judged by that mode.
func (c Checkout) Mode() catalogue.Mode {
	if c.CourseCode != "" {
		return catalogue.Authoritative
	}
	return catalogue.Legacy
}

// mode returns the one pricing mode that may allow the create: that with a catalogue requires a course code, and the
// other does not allow one.
func (c Create) mode() catalogue.Mode {
	if c.CourseCode.Given {
		return catalogue.Authoritative
	}
	return catalogue.Legacy
}

// resolve returns the intent of a checked create, or a VALIDATION_ERROR (section 2.1, rules 1 to 3). An order is resolved
// once, so that a retry stays safe when a price is edited or a course retires.
func (c Create) resolve(f Facts) (Intent, error) {
	switch {
	case c.mode() == catalogue.Legacy:
		return c.sentIntent(), nil
	case c.resolvedBy(f.ByOrder):
		return c.checkAgainst(f.ByOrder.Intent)
	default:
		return c.resolveCourse(f.Course, f.Environment)
	}
}

// resolvedBy reports whether the create names the course and frequency of the order on record, if there is one.
func (c Create) resolvedBy(stored *Checkout) bool {
	return stored != nil && stored.CourseCode == c.CourseCode.Value && string(stored.Intent.Plan.Frequency) == c.Frequency.Value
}

// sentIntent returns the intent that a legacy provider sent.
func (c Create) sentIntent() Intent {
	return Intent{
		CourseName: c.CourseName.Value,
		Pricing:    money.Pricing{Price: c.Price.Value, Upfront: c.Upfront.Value, Principal: c.Principal.Value},
		Plan: money.Plan{Frequency: money.Frequency(c.Frequency.Value), Instalments: c.instalments(),
			First: c.First.Value},
	}
}

// resolveCourse returns the intent of a create that names this course; course is nil if no course has that code.
func (c Create) resolveCourse(course *catalogue.Course, env catalogue.Environment) (Intent, error) {
	if course == nil {
		return Intent{}, c.refuseCourse()
	}
	pricing, instalments, err := course.Resolve(env, money.Frequency(c.Frequency.Value))
	switch {
	case errors.Is(err, catalogue.ErrNoOption):
		return Intent{}, refuseFields([]Fault{{FieldFrequency,
			"must be " + frequencies(*course) + ": this course is not offered otherwise"}})
	case errors.Is(err, catalogue.ErrUnavailable):
		return Intent{}, c.refuseCourse()
	case err != nil:
		return Intent{}, fmt.Errorf("resolve course %s: %w", course.Code, err)
	}
	return c.checkAgainst(Intent{
		CourseName: course.Name,
		Pricing:    pricing,
		Plan:       money.Plan{Frequency: money.Frequency(c.Frequency.Value), Instalments: instalments},
	})
}

// refuseCourse refuses the course code. The message is the same for every reason.
func (c Create) refuseCourse() error {
	return refuseFields([]Fault{{FieldCourseCode,
		"is not a course that this provider can enrol in now; send the code of an active one of this environment"}})
}

// frequencies lists the frequencies at which the course is offered.
func frequencies(course catalogue.Course) string {
	var quoted []string
	for _, o := range course.Options {
		quoted = append(quoted, strconv.Quote(string(o.Frequency)))
	}
	return strings.Join(quoted, " or ")
}

// checkAgainst returns the offer with the requested first payment date if every other value that the request repeats
// equals the offer's (section 2.1, rules 2 and 5).
func (c Create) checkAgainst(offer Intent) (Intent, error) {
	offer.Plan.First = c.First.Value
	k := &checker{}
	match(k, FieldCourseName, c.CourseName, offer.CourseName)
	match(k, FieldPrice, c.Price, offer.Pricing.Price)
	match(k, FieldPrincipal, c.Principal, offer.Pricing.Principal)
	match(k, FieldUpfront, c.Upfront, offer.Pricing.Upfront)
	match(k, FieldNumber, c.Number, offer.Plan.Number)
	match(k, FieldRegular, c.Regular, offer.Plan.Regular)
	match(k, FieldFinal, c.Final, offer.Plan.Final)
	return offer, k.err()
}

func match[T comparable](k *checker, field string, v Optional[T], resolved T) {
	if v.Given && v.Value != resolved {
		k.fault(field, "must equal the resolved %v, or be left out", resolved)
	}
}

// differing returns the fields in which the order on record, if there is one, has another intent.
func (f Facts) differing(want Intent) []Fault {
	if f.ByOrder == nil {
		return nil
	}
	return Compare(f.ByOrder.Intent, want)
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
