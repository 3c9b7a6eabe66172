// Package providers stores the configuration of providers: from a file, or from the CRM, once or again and again.
package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Change is configuration that takes the place of what is on record.
type Change struct {
	Named            []catalogue.Configuration // replaced whole; they have passed their Check
	Prune            bool                      // providers that are not named are removed; else they stay
	KeepDestinations bool                      // the destination of a provider's events stays as it is; a new provider has none
	DryRun           bool                      // nothing is stored
}

// errNothingToStore ends a change without a write.
var errNothingToStore = errors.New("nothing to store")

// Store stores the change, all of it or nothing, and returns a line for everything that differs from what is on record.
// Where nothing differs, nothing is written.
func (c Change) Store(ctx context.Context, records ports.Configurer) (differences []string, err error) {
	err = records.ReplaceProviders(ctx, func(before []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		after, err := c.apply(before)
		if err != nil {
			return nil, nil, err
		}
		if differences = catalogue.Diff(before, after); c.DryRun || len(differences) == 0 {
			return nil, nil, errNothingToStore
		}
		return after, nil, nil
	})
	switch {
	case errors.Is(err, errNothingToStore):
		return differences, nil
	case err != nil:
		return nil, err
	}
	return differences, nil
}

// apply returns what is on record after the change, in the order of the provider codes.
func (c Change) apply(before []catalogue.Configuration) ([]catalogue.Configuration, error) {
	after := slices.Clone(c.Named)
	named := make(map[string]*catalogue.Configuration, len(after))
	for i := range after {
		named[after[i].Provider.Code] = &after[i]
	}
	var others []catalogue.Configuration
	var faults []error
	for _, b := range before {
		switch now := named[b.Provider.Code]; {
		case now != nil && c.KeepDestinations:
			now.Provider.Destination = b.Provider.Destination
			for _, f := range now.Check() {
				faults = append(faults, fmt.Errorf("provider %s: %s on record %s", b.Provider.Code, f.Place, f.Message))
			}
		case now == nil && !c.Prune:
			others = append(others, b)
		}
	}
	after = append(after, others...)
	slices.SortFunc(after, func(a, b catalogue.Configuration) int { return cmp.Compare(a.Provider.Code, b.Provider.Code) })
	return after, errors.Join(faults...)
}
