package checkout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// Mode returns the pricing mode in which the checkout was opened. A replay of its create is judged by that mode.
func (c Checkout) Mode() catalogue.Mode {
	if c.CourseCode != "" {
		return catalogue.Authoritative
	}
	return catalogue.Legacy
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

// Resolve returns the intent of a checked create that names this course of the caller's catalogue, or a
// VALIDATION_ERROR (section 2.1, rules 1 to 3). course is nil if there is none with that code.
func (c Create) Resolve(course *catalogue.Course, env catalogue.Environment) (Intent, error) {
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

// ResolveAgain returns the intent of a checked create whose order is on record: an order is resolved once, so that a
// retry stays safe when a price is edited or a course retires. ok is false if the create names another course or
// frequency than the checkout, and must be resolved by the catalogue.
func (c Create) ResolveAgain(stored Checkout) (want Intent, ok bool, err error) {
	if stored.CourseCode != c.CourseCode.Value || string(stored.Intent.Plan.Frequency) != c.Frequency.Value {
		return Intent{}, false, nil
	}
	want, err = c.checkAgainst(stored.Intent)
	return want, true, err
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
