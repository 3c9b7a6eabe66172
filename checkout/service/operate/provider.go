package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// SetActive has a provider's calls accepted, or refused, and reports whether that is a change. Without a change nothing is recorded.
// ErrNoProvider if there is no such provider.
func (o Operator) SetActive(ctx context.Context, code string, active bool) (changed bool, err error) {
	act := ActDisable
	if active {
		act = ActEnable
	}
	return o.changeProvider(ctx, act, code, func(p *catalogue.Provider) { p.Active = active })
}

// SetRate has the service take so many requests a second with the keys of a provider, or its usual number for 0, and reports whether
// that is a change. ErrNoProvider if there is no such provider.
func (o Operator) SetRate(ctx context.Context, code string, rate int) (changed bool, err error) {
	if rate < 0 || rate > catalogue.MaxRate {
		return false, fmt.Errorf("a rate must be from 0 to %d requests a second", catalogue.MaxRate)
	}
	return o.changeProvider(ctx, ActRate, code, func(p *catalogue.Provider) { p.RateLimit = rate })
}

// changeProvider changes one provider, and reports whether it is another then.
func (o Operator) changeProvider(ctx context.Context, act Act, code string,
	change func(*catalogue.Provider)) (changed bool, err error) {
	err = o.Store.ReplaceProviders(ctx, func(before []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		after := slices.Clone(before)
		i := slices.IndexFunc(after, func(c catalogue.Configuration) bool { return c.Provider.Code == code })
		if i < 0 {
			return nil, nil, ErrNoProvider
		}
		change(&after[i].Provider)
		lines := catalogue.Diff(before, after)
		if len(lines) == 0 {
			return nil, nil, errNothingToStore
		}
		entry, err := o.entry(evidence.Operation{Name: string(act), Subject: code, Changes: lines, Object: evidence.Providers,
			Before: catalogue.Fingerprint(before), After: catalogue.Fingerprint(after)}, o.now())
		return after, &entry, err
	})
	if errors.Is(err, errNothingToStore) {
		return false, nil
	}
	return err == nil, err
}
