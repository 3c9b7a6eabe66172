package catalogue

import (
	"errors"

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
}

// Option is a way to pay for a course. It fixes either Number or Amount; the
// other is 0 and follows from the course's principal.
type Option struct {
	Frequency money.Frequency
	Number    int         // instalments, or 0
	Amount    money.Cents // regular instalment, or 0
}

// ErrUnavailable is what Resolve returns for a course that cannot be sold here and now.
var ErrUnavailable = errors.New("course is not available")

// ErrNoOption is what Resolve returns for a frequency that the course is not sold at.
var ErrNoOption = errors.New("course has no such plan")

// Resolve returns what the course costs and how it is paid at frequency f. An
// inactive course, or one of another environment, is ErrUnavailable, in the same
// words as an unknown one gets, so that nobody learns which codes exist.
func (c Course) Resolve(env Environment, f money.Frequency) (money.Pricing, money.Instalments, error) {
	panic("todo")
}
