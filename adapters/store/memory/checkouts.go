package memory

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// InsertCheckout implements [ports.Checkouts].
func (s *Store) InsertCheckout(ctx context.Context, change checkout.Change, q checkout.JobEntry) error {
	return s.locked(ctx, func() error {
		c := change.Next
		for id, r := range s.rows {
			o := &r.checkout
			if id == c.ID || o.ProviderCode == c.ProviderCode && (o.OrderID == c.OrderID || o.IdempotencyKey == c.IdempotencyKey) {
				return fmt.Errorf("checkout %s, its order or its idempotency key: %w", c.ID, ports.ErrDuplicate)
			}
		}
		return s.store(&row{}, change, q)
	})
}

// Checkout implements [ports.Checkouts].
func (s *Store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return read(ctx, s, func() (checkout.Checkout, error) {
		if r, ok := s.rows[id]; ok {
			return r.checkout, nil
		}
		return checkout.Checkout{}, fmt.Errorf("checkout %s: %w", id, ports.ErrNotFound)
	})
}

// FindCheckout implements [ports.Checkouts].
func (s *Store) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	return read(ctx, s, func() (checkout.Checkout, error) {
		r := s.row(func(r *row) bool {
			c, of := &r.checkout, r.checkout.ProviderCode == by.ProviderCode
			switch {
			case by.OrderID != "":
				return of && c.OrderID == by.OrderID
			case by.Key != "":
				return of && c.IdempotencyKey == by.Key
			case by.BillingRequestID != "":
				return c.Setup.BillingRequestID == by.BillingRequestID
			}
			return by.MandateID != "" && c.Setup.MandateID == by.MandateID
		})
		if r.checkout.ID == "" {
			return r.checkout, fmt.Errorf("checkout by a reference: %w", ports.ErrNotFound)
		}
		return r.checkout, nil
	})
}

// numbered returns the row with the agreement of a number.
func (s *Store) numbered(number string) *row {
	return s.row(func(r *row) bool { return r.agreement != nil && r.agreement.Number == number })
}

// Agreement implements [ports.Checkouts].
func (s *Store) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	return read(ctx, s, func() (agreement.Agreement, error) { return found(s.numbered(number).agreement, "agreement "+number) })
}

// Document implements [ports.Checkouts].
func (s *Store) Document(ctx context.Context, number string) (agreement.Document, error) {
	return read(ctx, s, func() (agreement.Document, error) {
		return found(s.numbered(number).document, "document of agreement "+number)
	})
}

// UpdateCheckout implements [ports.Checkouts].
func (s *Store) UpdateCheckout(ctx context.Context, id string, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return s.locked(ctx, func() error { return s.update(id, q, decide) })
}

// update stores the change that decide makes of a checkout.
func (s *Store) update(id string, q checkout.JobEntry, decide func(checkout.Checkout) (checkout.Change, error)) error {
	r, ok := s.rows[id]
	if !ok {
		return fmt.Errorf("checkout %s: %w", id, ports.ErrNotFound)
	}
	change, err := decide(copyOf(r.checkout))
	if err != nil {
		return err
	}
	if change.Remove {
		delete(s.rows, id)
		s.queue.remove(id)
		return nil
	}
	was, next := &r.checkout, &change.Next
	next.ID, next.ProviderCode, next.OrderID, next.IdempotencyKey = was.ID, was.ProviderCode, was.OrderID, was.IdempotencyKey
	return s.store(r, change, q)
}

// store puts the change of a row on record, or returns an error and changes nothing.
func (s *Store) store(was *row, change checkout.Change, q checkout.JobEntry) error {
	r := *was
	r.checkout = copyOf(change.Next)
	if a := change.Agreement; a != nil {
		if r.agreement != nil || s.numbered(a.Number).agreement != nil {
			return fmt.Errorf("agreement %s: %w", a.Number, ports.ErrDuplicate)
		}
		r.agreement = copyOf(a)
	}
	if d := change.Document; d != nil {
		switch {
		case r.agreement == nil:
			return fmt.Errorf("document %s: checkout %s has no agreement", d.ID, r.checkout.ID)
		case r.document != nil:
			return fmt.Errorf("document %s of checkout %s: %w", d.ID, r.checkout.ID, ports.ErrDuplicate)
		}
		r.document = copyOf(d)
	}
	if err := s.queue.duplicates(change.Events); err != nil {
		return err
	}
	s.did(change.Act)
	s.queue.addChange(change, q, s.clock)
	s.rows[r.checkout.ID] = &r
	s.append(r.checkout.ID, change.Moments...)
	return nil
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}
