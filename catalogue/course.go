package catalogue

import (
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/money"
)

// Course is one entry of a provider's catalogue.
type Course struct {
	Code        string
	Name        string
	Price       money.Cents
	Upfront     money.Cents // initial payment; below Price
	Active      bool
	Environment Environment
	Options     []Option // at most one for each frequency
	Prices      []Price  // from a day on, in the order of the days; before the first the course costs Price
}

// Price is the cost of a course from a day on.
type Price struct {
	From    money.Date // in New Zealand
	Price   money.Cents
	Upfront money.Cents
}

// On returns the course with the price that it has on a day in New Zealand, and no other.
func (c Course) On(day money.Date) Course {
	for _, p := range c.Prices {
		if !day.Before(p.From) {
			c.Price, c.Upfront = p.Price, p.Upfront
		}
	}
	c.Prices = nil
	return c
}

// Option is a way to pay for a course. It fixes either Number or Amount; the
// other is 0 and follows from the course's principal.
type Option struct {
	Frequency money.Frequency
	Number    int         // instalments, or 0
	Amount    money.Cents // regular instalment, or 0
}

// ErrUnavailable is the error of Resolve for a course that is not sold here and now.
var ErrUnavailable = errors.New("course is not available")

// ErrNoOption is the error of Resolve for a frequency that the course is not sold at.
var ErrNoOption = errors.New("course has no such plan")

// Resolve returns the price of the course and its instalments at frequency f. The error is ErrUnavailable for an inactive course
// and for one of another environment, and ErrNoOption for a frequency without an option. Callers answer ErrUnavailable like an
// unknown course, so as not to reveal which codes exist. There is no other error for a course that Check accepted.
func (c Course) Resolve(env Environment, f money.Frequency) (money.Pricing, money.Instalments, error) {
	if !c.Active || c.Environment != env {
		return money.Pricing{}, money.Instalments{}, ErrUnavailable
	}
	for _, o := range c.Options {
		if o.Frequency != f {
			continue
		}
		pricing := c.pricing()
		instalments, err := o.divide(pricing.Principal)
		if err != nil {
			return money.Pricing{}, money.Instalments{}, fmt.Errorf("divide the principal of course %s: %w", c.Code, err)
		}
		return pricing, instalments, nil
	}
	return money.Pricing{}, money.Instalments{}, ErrNoOption
}

// pricing returns the cost of the course: there is no interest, so the price less the upfront payment is financed.
func (c Course) pricing() money.Pricing {
	return money.Pricing{Price: c.Price, Upfront: c.Upfront, Principal: c.Price - c.Upfront}
}

// divide returns the instalments of principal under this option.
func (o Option) divide(principal money.Cents) (money.Instalments, error) {
	if o.Number != 0 {
		return money.ByNumber(principal, o.Number)
	}
	return money.ByAmount(principal, o.Amount)
}
