package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// InsertCheckout implements [ports.Checkouts].
func (s *Store) InsertCheckout(ctx context.Context, change checkout.Change, q ports.Enqueue) error {
	return s.locked(ctx, func() error {
		c := change.Next
		order, key := name{c.ProviderCode, c.OrderID}, name{c.ProviderCode, c.IdempotencyKey}
		switch {
		case has(s.rows, c.ID):
			return fmt.Errorf("checkout %s: %w", c.ID, ports.ErrDuplicate)
		case has(s.orders, order):
			return fmt.Errorf("order of checkout %s: %w", c.ID, ports.ErrDuplicate)
		case has(s.keyed, key):
			return fmt.Errorf("idempotency key of checkout %s: %w", c.ID, ports.ErrDuplicate)
		}
		if err := s.store(c.ID, change, q); err != nil {
			return err
		}
		s.created = append(s.created, c.ID)
		s.orders[order], s.keyed[key] = c.ID, c.ID
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

// CheckoutByBillingRequest implements [ports.Checkouts].
func (s *Store) CheckoutByBillingRequest(ctx context.Context, id string) (checkout.Checkout, error) {
	return s.checkoutWith(ctx, func(c checkout.Checkout) bool { return id != "" && c.Setup.BillingRequestID == id })
}

// CheckoutByMandate implements [ports.Checkouts].
func (s *Store) CheckoutByMandate(ctx context.Context, id string) (checkout.Checkout, error) {
	return s.checkoutWith(ctx, func(c checkout.Checkout) bool { return id != "" && c.Setup.MandateID == id })
}

func (s *Store) checkoutWith(ctx context.Context, match func(checkout.Checkout) bool) (c checkout.Checkout, err error) {
	err = s.locked(ctx, func() error {
		for _, id := range s.created {
			if match(s.rows[id].checkout) {
				c = copyCheckout(s.rows[id].checkout)
				return nil
			}
		}
		return fmt.Errorf("checkout by its setup: %w", ports.ErrNotFound)
	})
	return c, err
}

// DueSetups implements [ports.Checkouts].
func (s *Store) DueSetups(ctx context.Context, now time.Time, limit int) (ids []string, err error) {
	err = s.locked(ctx, func() error {
		for _, id := range s.created {
			if s.rows[id].checkout.Setup.Due(stored(now)) {
				ids = append(ids, id)
			}
		}
		slices.SortStableFunc(ids, func(a, b string) int {
			return s.rows[a].checkout.Setup.LookAgain.Compare(s.rows[b].checkout.Setup.LookAgain)
		})
		ids = ids[:min(len(ids), limit)]
		return nil
	})
	return ids, err
}

// DueSteps implements [ports.Checkouts].
func (s *Store) DueSteps(ctx context.Context, now time.Time, limit int) (ids []string, err error) {
	err = s.locked(ctx, func() error {
		for _, id := range s.created {
			if s.rows[id].checkout.Step.Due(stored(now)) {
				ids = append(ids, id)
			}
		}
		slices.SortStableFunc(ids, func(a, b string) int {
			return s.rows[a].checkout.Step.Until.Compare(s.rows[b].checkout.Step.Until)
		})
		ids = ids[:min(len(ids), limit)]
		return nil
	})
	return ids, err
}

// StepBacklog implements [ports.Checkouts].
func (s *Store) StepBacklog(ctx context.Context) (waiting int, oldest time.Time, err error) {
	err = s.locked(ctx, func() error {
		for _, r := range s.rows {
			step := r.checkout.Step
			if step.Kind == checkout.StepNone {
				continue
			}
			waiting++
			if oldest.IsZero() || step.Since.Before(oldest) {
				oldest = step.Since
			}
		}
		return nil
	})
	return waiting, oldest, err
}

// UpdateCheckout implements [ports.Checkouts].
func (s *Store) UpdateCheckout(ctx context.Context, id string, q ports.Enqueue,
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
		if change.Remove {
			s.remove(r.checkout)
			return nil
		}
		was, next := r.checkout, &change.Next
		next.ID, next.ProviderCode = was.ID, was.ProviderCode
		next.OrderID, next.IdempotencyKey = was.OrderID, was.IdempotencyKey
		return s.store(id, change, q)
	})
}

func (s *Store) remove(c checkout.Checkout) {
	s.created = slices.DeleteFunc(s.created, func(id string) bool { return id == c.ID })
	delete(s.orders, name{c.ProviderCode, c.OrderID})
	delete(s.keyed, name{c.ProviderCode, c.IdempotencyKey})
	delete(s.rows, c.ID)
}

// store puts the change on record, or returns an error and changes nothing.
func (s *Store) store(id string, change checkout.Change, q ports.Enqueue) error {
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
	if e := change.Evidence; e != nil && has(s.evidence.position, e.ID) {
		return fmt.Errorf("evidence %s: %w", e.ID, ports.ErrDuplicate)
	}
	if err := s.enqueue(change.Events, q); err != nil {
		return err
	}
	if change.Evidence != nil {
		s.evidence.record(*change.Evidence)
	}
	s.storeNotices(change.Notices)
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
