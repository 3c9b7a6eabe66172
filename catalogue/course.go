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
}

// Option is a way to pay for a course. It fixes either Number or Amount; the
// other is 0 and follows from the course's principal.
type Option struct {
	Frequency money.Frequency
	Number    int         // instalments, or 0
	Amount    money.Cents // regular instalment, or 0
}
