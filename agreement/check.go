package agreement

import (
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/money"
)

// Check returns nil if the figures of the agreement are consistent, or an error with every way in which they are
// not: the price must be the initial payment and the instalments, and the charges must sum to it and be
// the charges of the plan (see [money.Schedule]).
func (a Agreement) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if sum := a.Pricing.Upfront + a.Pricing.Principal; sum != a.Pricing.Price {
		fault("initial payment and amount to finance are %s, the course price is %s", sum, a.Pricing.Price)
	}
	if sum := a.Plan.Principal(); sum != a.Pricing.Principal {
		fault("the instalments of the plan are %s, the amount to finance is %s", sum, a.Pricing.Principal)
	}
	var sum money.Cents
	for _, c := range a.Schedule {
		sum += c.Amount
	}
	if sum != a.Pricing.Price {
		fault("the charges sum to %s, the course price is %s", sum, a.Pricing.Price)
	}
	switch {
	case !a.Plan.Frequency.Valid() || a.Plan.Number < 1 || a.Plan.Number > money.MaxInstalments:
		fault("the plan has no schedule: %d instalments, %q", a.Plan.Number, a.Plan.Frequency)
	case !slices.Equal(a.Schedule, money.Schedule(a.Pricing.Upfront, a.Plan)):
		fault("the charges are not those of the plan")
	}
	return errors.Join(faults...)
}
