package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Provider implements [ports.Configuration].
func (s *Store) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	return read(ctx, s, func() (catalogue.Provider, error) {
		c, err := found(s.configuration(code), "provider "+code)
		return c.Provider, err
	})
}

// Providers implements [ports.Configuration].
func (s *Store) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	return read(ctx, s, func() (all []catalogue.Provider, err error) {
		for _, c := range s.configurations {
			all = append(all, c.Provider)
		}
		return all, nil
	})
}

// Course implements [ports.Configuration].
func (s *Store) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return read(ctx, s, func() (catalogue.Course, error) {
		conf, err := found(s.configuration(provider), "provider "+provider)
		if err != nil {
			return catalogue.Course{}, err
		}
		return found(first(conf.Courses, func(c catalogue.Course) bool { return c.Code == code }), "course of provider "+provider)
	})
}

func (s *Store) configuration(provider string) *catalogue.Configuration {
	return first(s.configurations, func(c catalogue.Configuration) bool { return c.Provider.Code == provider })
}

// ReplaceProviders implements [ports.Configurer].
func (s *Store) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error)) error {
	return s.locked(ctx, func() error {
		after, did, err := decide(copyOf(s.configurations))
		if err != nil {
			return err
		}
		after = copyOf(after)
		slices.SortFunc(after, func(a, b catalogue.Configuration) int {
			return cmp.Compare(a.Provider.Code, b.Provider.Code)
		})
		if twice := catalogue.Twice(after); twice != "" {
			return fmt.Errorf("%s: %w", twice, ports.ErrDuplicate)
		}
		s.did(did)
		s.configurations = after
		return nil
	})
}
