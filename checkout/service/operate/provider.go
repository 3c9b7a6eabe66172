package operate

import (
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// SetActive has a provider's calls accepted, or refused. Nothing is recorded if that is so already. ErrNoProvider if there is no such
// provider.
func (o Operator) SetActive(ctx context.Context, code string, active bool) error {
	act := ActDisable
	if active {
		act = ActEnable
	}
	return o.changeProvider(ctx, act, code, func(p *catalogue.Provider) { p.Active = active })
}

// SetRate has the service take so many requests a second with the keys of a provider, or its usual number for 0. ErrNoProvider if
// there is no such provider.
func (o Operator) SetRate(ctx context.Context, code string, rate int) error {
	if rate < 0 || rate > catalogue.MaxRate {
		return fmt.Errorf("a rate must be from 0 to %d requests a second", catalogue.MaxRate)
	}
	return o.changeProvider(ctx, ActRate, code, func(p *catalogue.Provider) { p.RateLimit = rate })
}

// changeProvider changes one provider.
func (o Operator) changeProvider(ctx context.Context, act Act, code string, change func(*catalogue.Provider)) error {
	_, _, err := o.replace(ctx, string(act), false, func(before []catalogue.Configuration) ([]catalogue.Configuration, error) {
		i := slices.IndexFunc(before, func(c catalogue.Configuration) bool { return c.Provider.Code == code })
		if i < 0 {
			return nil, ErrNoProvider
		}
		after := slices.Clone(before)
		change(&after[i].Provider)
		return after, nil
	})
	return err
}
