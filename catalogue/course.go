package catalogue

import "github.com/provider-checkout/provider-checkout/money"

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
