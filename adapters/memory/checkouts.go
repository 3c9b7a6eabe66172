package memory

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// InsertCheckout implements [ports.Checkouts].
func (s *Store) InsertCheckout(ctx context.Context, change checkout.Change, queued ports.Queued) error {
	return s.locked(ctx, func() error {
		c := change.Next
		order, key := name{c.ProviderCode, c.OrderID}, name{c.ProviderCode, c.IdempotencyKey}
		switch {
		case has(s.rows, c.ID):
			return fmt.Errorf("checkout %s: %w", c.ID, ports.ErrDuplicate)
		case has(s.orders, order):
			return fmt.Errorf("order of checkout %s: %w", c.ID, ports.ErrDuplicate)
		case key.text != "" && has(s.keyed, key):
			return fmt.Errorf("idempotency key of checkout %s: %w", c.ID, ports.ErrDuplicate)
		}
		if err := s.store(c.ID, change, queued); err != nil {
			return err
		}
		s.made = append(s.made, c.ID)
		s.orders[order] = c.ID
		if key.text != "" {
			s.keyed[key] = c.ID
		}
		return nil
	})
}

// Checkout implements [ports.Checkouts].
func (s *Store) Checkout(ctx context.Context, id string) (c checkout.Checkout, err error) {
	err = s.locked(ctx, func() error {
		r, ok := s.rows[id]
		if !ok {
			return fmt.Errorf("checkout %s: %w", id, ports.ErrNotFound)
		}
		c = copyCheckout(r.checkout)
		return nil
	})
	return c, err
}

// CheckoutByOrder implements [ports.Checkouts].
func (s *Store) CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error) {
	return s.checkoutBy(ctx, s.orders, name{provider, order})
}

// CheckoutByKey implements [ports.Checkouts].
func (s *Store) CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error) {
	return s.checkoutBy(ctx, s.keyed, name{provider, key})
}

func (s *Store) checkoutBy(ctx context.Context, index map[name]string, n name) (c checkout.Checkout, err error) {
	err = s.locked(ctx, func() error {
		id, ok := index[n]
		if !ok {
			return fmt.Errorf("checkout of provider %s: %w", n.provider, ports.ErrNotFound)
		}
		c = copyCheckout(s.rows[id].checkout)
		return nil
	})
	return c, err
}

// UpdateCheckout implements [ports.Checkouts].
func (s *Store) UpdateCheckout(ctx context.Context, id string, queued ports.Queued,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return s.locked(ctx, func() error {
		r, ok := s.rows[id]
		if !ok {
			return fmt.Errorf("checkout %s: %w", id, ports.ErrNotFound)
		}
		change, err := decide(copyCheckout(r.checkout))
		if err != nil {
			return err
		}
		was, next := r.checkout, &change.Next
		next.ID, next.ProviderCode = was.ID, was.ProviderCode
		next.OrderID, next.IdempotencyKey = was.OrderID, was.IdempotencyKey
		return s.store(id, change, queued)
	})
}

// store puts the change on record, or returns an error before anything is.
func (s *Store) store(id string, change checkout.Change, queued ports.Queued) error {
	r := s.rows[id]
	r.checkout = copyCheckout(change.Next)
	if change.Agreement != nil {
		if r.agreement != nil || has(s.numbers, change.Agreement.Number) {
			return fmt.Errorf("agreement %s: %w", change.Agreement.Number, ports.ErrDuplicate)
		}
		a := copyAgreement(*change.Agreement)
		r.agreement = &a
	}
	if change.Document != nil {
		if r.agreement == nil {
			return fmt.Errorf("document %s: checkout %s has no agreement", change.Document.ID, id)
		}
		if r.document != nil {
			return fmt.Errorf("document %s of checkout %s: %w", change.Document.ID, id, ports.ErrDuplicate)
		}
		d := copyDocument(*change.Document)
		r.document = &d
	}
	if err := s.enqueue(change.Events, queued); err != nil {
		return err
	}
	s.rows[id] = r
	if change.Agreement != nil {
		s.numbers[change.Agreement.Number] = id
	}
	return nil
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}
