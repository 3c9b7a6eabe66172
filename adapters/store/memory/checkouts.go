package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// InsertCheckout implements [ports.Checkouts].
func (s *Store) InsertCheckout(ctx context.Context, change checkout.Change, q checkout.JobEntry) error {
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
		at, _ := slices.BinarySearchFunc(s.created, c, func(id string, c checkout.Checkout) int {
			return cmp.Or(s.rows[id].checkout.CreatedAt.Compare(stored(c.CreatedAt)), cmp.Compare(id, c.ID))
		})
		s.created = slices.Insert(s.created, at, c.ID)
		s.orders[order], s.keyed[key] = c.ID, c.ID
		return nil
	})
}

// Checkout implements [ports.Checkouts].
func (s *Store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return read(ctx, s, func() (checkout.Checkout, error) { return found(s.checkout(id), "checkout "+id) })
}

// checkout returns the checkout with this id, or nil.
func (s *Store) checkout(id string) *checkout.Checkout {
	if r, ok := s.rows[id]; ok {
		return &r.checkout
	}
	return nil
}

// FindCheckout implements [ports.Checkouts].
func (s *Store) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	return read(ctx, s, func() (checkout.Checkout, error) { return found(s.checkout(s.find(by)), "checkout by a reference") })
}

// find returns the id of the checkout that a reference names, or "".
func (s *Store) find(by checkout.Reference) (id string) {
	switch {
	case by.OrderID != "":
		return s.orders[name{by.ProviderCode, by.OrderID}]
	case by.Key != "":
		return s.keyed[name{by.ProviderCode, by.Key}]
	}
	at := first(s.created, func(id string) bool {
		setup := s.rows[id].checkout.Setup
		if by.BillingRequestID != "" {
			return setup.BillingRequestID == by.BillingRequestID
		}
		return by.MandateID != "" && setup.MandateID == by.MandateID
	})
	if at != nil {
		id = *at
	}
	return id
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
		s.remove(r.checkout)
		return nil
	}
	was, next := r.checkout, &change.Next
	next.ID, next.ProviderCode = was.ID, was.ProviderCode
	next.OrderID, next.IdempotencyKey = was.OrderID, was.IdempotencyKey
	return s.store(id, change, q)
}

func (s *Store) remove(c checkout.Checkout) {
	s.created = slices.DeleteFunc(s.created, func(id string) bool { return id == c.ID })
	delete(s.orders, name{c.ProviderCode, c.OrderID})
	delete(s.keyed, name{c.ProviderCode, c.IdempotencyKey})
	delete(s.rows, c.ID)
	delete(s.enrolled, c.ID)
	delete(s.journal, c.ID)
	s.queue.remove(c.ID)
}

// store puts the change on record, or returns an error and changes nothing.
func (s *Store) store(id string, change checkout.Change, q checkout.JobEntry) error {
	r := s.rows[id]
	r.checkout = copyOf(change.Next)
	if change.Agreement != nil {
		if r.agreement != nil || has(s.numbers, change.Agreement.Number) {
			return fmt.Errorf("agreement %s: %w", change.Agreement.Number, ports.ErrDuplicate)
		}
		r.agreement = copyOf(change.Agreement)
	}
	if change.Document != nil {
		if r.agreement == nil {
			return fmt.Errorf("document %s: checkout %s has no agreement", change.Document.ID, id)
		}
		if r.document != nil {
			return fmt.Errorf("document %s of checkout %s: %w", change.Document.ID, id, ports.ErrDuplicate)
		}
		r.document = copyOf(change.Document)
	}
	if err := s.queue.duplicates(change.Events); err != nil {
		return err
	}
	if err := s.evidence.add(change.Evidence); err != nil {
		return err
	}
	s.queue.addChange(change, q)
	s.enrol(r.checkout, s.rows[id].checkout, q.Now)
	s.rows[id] = r
	s.append(id, change.Moments...)
	if change.Agreement != nil {
		s.numbers[change.Agreement.Number] = id
	}
	return nil
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}
