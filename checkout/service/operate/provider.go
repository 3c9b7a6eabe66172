package operate

import (
	"context"
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// SetActive has a provider's calls accepted, or refused. Nothing is recorded if that is so already. ErrNoProvider if there is no such
// provider.
func (o Operator) SetActive(ctx context.Context, code string, active bool) error {
	name := "providers disable"
	if active {
		name = "providers enable"
	}
	_, _, err := o.replace(ctx, name, false, func(before []catalogue.Configuration) ([]catalogue.Configuration, error) {
		i := slices.IndexFunc(before, func(c catalogue.Configuration) bool { return c.Provider.Code == code })
		if i < 0 {
			return nil, ErrNoProvider
		}
		after := slices.Clone(before)
		after[i].Provider.Active = active
		return after, nil
	})
	return err
}
