package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Providers implements [ports.Configuration].
func (s *Store) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	return read(ctx, s, func() (list []catalogue.Provider, err error) {
		for _, c := range s.configurations {
			if len(codes) == 0 || slices.Contains(codes, c.Provider.Code) {
				list = append(list, c.Provider)
			}
		}
		return list, nil
	})
}

// Course implements [ports.Configuration].
func (s *Store) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return read(ctx, s, func() (catalogue.Course, error) {
		of, err := first(s.configurations, "provider "+provider, func(c catalogue.Configuration) bool { return c.Provider.Code == provider })
		if err != nil {
			return catalogue.Course{}, err
		}
		return first(of.Courses, "course of provider "+provider, func(c catalogue.Course) bool { return c.Code == code })
	})
}

// Key implements [ports.Configuration].
func (s *Store) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return read(ctx, s, func() (catalogue.Key, error) {
		return first(s.keys, "API key", func(k catalogue.Key) bool { return k.Hash == hash })
	})
}

// ReplaceProviders implements [ports.Configurer].
func (s *Store) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	return s.locked(ctx, func() error {
		after, acts, err := decide(copyOf(s.configurations))
		if err != nil {
			return err
		}
		after = copyOf(after)
		slices.SortFunc(after, func(a, b catalogue.Configuration) int { return cmp.Compare(a.Provider.Code, b.Provider.Code) })
		if twice := catalogue.Twice(after); twice != "" {
			return fmt.Errorf("%s: %w", twice, ports.ErrDuplicate)
		}
		s.configurations, s.acts = after, append(s.acts, copyOf(acts)...)
		return nil
	})
}

// Keys implements [ports.Configurer].
func (s *Store) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return read(ctx, s, func() ([]catalogue.Key, error) { return s.keys, nil })
}

// AddKey implements [ports.Configurer].
func (s *Store) AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error {
	return s.locked(ctx, func() error {
		if slices.ContainsFunc(s.keys, func(k catalogue.Key) bool { return k.ID == key.ID || k.Hash == key.Hash }) {
			return fmt.Errorf("API key %s: %w", key.ID, ports.ErrDuplicate)
		}
		s.keys, s.acts = append(s.keys, copyOf(key)), append(s.acts, copyOf(act))
		slices.SortFunc(s.keys, func(a, b catalogue.Key) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
		return nil
	})
}

// RevokeKey implements [ports.Configurer].
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time, act checkout.Act) error {
	return s.locked(ctx, func() error {
		i := slices.IndexFunc(s.keys, func(k catalogue.Key) bool { return k.ID == id })
		if i < 0 {
			return fmt.Errorf("API key %s: %w", id, ports.ErrNotFound)
		}
		if s.keys[i].RevokedAt.IsZero() {
			s.keys[i].RevokedAt, s.acts = stored(at), append(s.acts, copyOf(act))
		}
		return nil
	})
}
