package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Provider implements [ports.Configuration].
func (s *Store) Provider(ctx context.Context, code string) (p catalogue.Provider, err error) {
	err = s.locked(ctx, func() error {
		c, err := s.configuration(code)
		p = copyProvider(c.Provider)
		return err
	})
	return p, err
}

// Providers implements [ports.Configuration].
func (s *Store) Providers(ctx context.Context) (all []catalogue.Provider, err error) {
	err = s.locked(ctx, func() error {
		for _, c := range s.configurations {
			all = append(all, copyProvider(c.Provider))
		}
		return nil
	})
	return all, err
}

// Course implements [ports.Configuration].
func (s *Store) Course(ctx context.Context, provider, code string) (c catalogue.Course, err error) {
	err = s.locked(ctx, func() error {
		conf, err := s.configuration(provider)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(conf.Courses, func(c catalogue.Course) bool { return c.Code == code })
		if i < 0 {
			return fmt.Errorf("course of provider %s: %w", provider, ports.ErrNotFound)
		}
		c = copyCourse(conf.Courses[i])
		return nil
	})
	return c, err
}

func (s *Store) configuration(provider string) (catalogue.Configuration, error) {
	i, ok := slices.BinarySearchFunc(s.configurations, provider, func(c catalogue.Configuration, code string) int {
		return cmp.Compare(c.Provider.Code, code)
	})
	if !ok {
		return catalogue.Configuration{}, fmt.Errorf("provider %s: %w", provider, ports.ErrNotFound)
	}
	return s.configurations[i], nil
}

// ReplaceProviders implements [ports.Configurer].
func (s *Store) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error)) error {
	return s.locked(ctx, func() error {
		after, did, err := decide(copyConfigurations(s.configurations))
		if err != nil {
			return err
		}
		after = copyConfigurations(after)
		slices.SortFunc(after, func(a, b catalogue.Configuration) int {
			return cmp.Compare(a.Provider.Code, b.Provider.Code)
		})
		if err := checkUnique(after); err != nil {
			return err
		}
		if err := s.evidence.add(did); err != nil {
			return err
		}
		s.configurations = after
		return nil
	})
}

func checkUnique(all []catalogue.Configuration) error {
	providers := map[string]bool{}
	for _, conf := range all {
		code := conf.Provider.Code
		if providers[code] {
			return fmt.Errorf("provider %s: %w", code, ports.ErrDuplicate)
		}
		providers[code] = true
		courses := map[string]bool{}
		for _, c := range conf.Courses {
			if courses[c.Code] {
				return fmt.Errorf("course %s of provider %s: %w", c.Code, code, ports.ErrDuplicate)
			}
			courses[c.Code] = true
		}
	}
	return nil
}
