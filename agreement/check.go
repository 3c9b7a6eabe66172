package agreement

import (
	"errors"
	"fmt"
	"slices"
	"time"

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

// Figures returns what every rendering of the agreement shows, in this order and with other text in between: its
// number, each charge with its number, date, kind and amount, the total, the account with its holder and its authority,
// the consent with its time in zone, and the terms that were consented to. It returns an error as Text does.
func (a Agreement) Figures(zone *time.Location) ([]string, error) {
	sections, err := a.Text(zone)
	if err != nil {
		return nil, err
	}
	figures := []string{a.Number}
	for _, s := range sections {
		for _, cells := range append(s.Table.Rows, s.Table.Foot) {
			figures = append(figures, cells...)
		}
		if !s.Verified {
			continue
		}
		for _, r := range s.Rows {
			figures = append(figures, Lines(r.Value)...)
		}
	}
	return slices.DeleteFunc(figures, func(f string) bool { return f == "" }), nil
}
