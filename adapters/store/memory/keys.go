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

// Key implements [ports.Configuration].
func (s *Store) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return read(ctx, s, func() (catalogue.Key, error) {
		return found(first(s.keys, func(k catalogue.Key) bool { return k.Hash == hash }), "API key")
	})
}

// Keys implements [ports.Configurer].
func (s *Store) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return read(ctx, s, func() ([]catalogue.Key, error) { return s.keys, nil })
}

// AddKey implements [ports.Configurer].
func (s *Store) AddKey(ctx context.Context, key catalogue.Key, did *checkout.Act) error {
	return s.locked(ctx, func() error {
		for _, k := range s.keys {
			if k.ID == key.ID || k.Hash == key.Hash {
				return fmt.Errorf("API key %s: %w", key.ID, ports.ErrDuplicate)
			}
		}
		s.did(did)
		s.keys = append(s.keys, copyOf(key))
		slices.SortFunc(s.keys, func(a, b catalogue.Key) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
		return nil
	})
}

// UseKeys implements [ports.Configuration].
func (s *Store) UseKeys(ctx context.Context, ids []string, day string) error {
	return s.locked(ctx, func() error {
		for i, k := range s.keys {
			if slices.Contains(ids, k.ID) {
				s.keys[i].LastUsed = max(k.LastUsed, day)
			}
		}
		return nil
	})
}

// RevokeKey implements [ports.Configurer].
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time, did *checkout.Act) error {
	return s.locked(ctx, func() error {
		i := slices.IndexFunc(s.keys, func(k catalogue.Key) bool { return k.ID == id })
		if i < 0 {
			return fmt.Errorf("API key %s: %w", id, ports.ErrNotFound)
		}
		if !s.keys[i].RevokedAt.IsZero() {
			return nil
		}
		s.did(did)
		s.keys[i].RevokedAt = stored(at)
		return nil
	})
}
