package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func (s *Store) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) ([]checkout.Lease, error) {
	return read(ctx, s, func() ([]checkout.Lease, error) {
		c := change.Next
		for id, r := range s.rows {
			o := &r.checkout
			if id == c.ID || o.ProviderCode == c.ProviderCode && (o.OrderID == c.OrderID || o.IdempotencyKey == c.IdempotencyKey) {
				return nil, fmt.Errorf("checkout %s, its order or its idempotency key: %w", c.ID, ports.ErrDuplicate)
			}
		}
		return s.store(row{}, change.Numbered(checkout.Checkout{}), hold)
	})
}

func (s *Store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return read(ctx, s, func() (checkout.Checkout, error) {
		r, err := s.row(id)
		return r.checkout, err
	})
}

// row returns what is on record about a checkout, or ErrNotFound.
func (s *Store) row(id string) (row, error) {
	if r, ok := s.rows[id]; ok {
		return *r, nil
	}
	return row{}, fmt.Errorf("checkout %s: %w", id, ports.ErrNotFound)
}

func (s *Store) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	return read(ctx, s, func() (checkout.Checkout, error) {
		r, err := first(slices.Collect(maps.Values(s.rows)), "checkout by a reference", func(r *row) bool {
			c, of := &r.checkout, r.checkout.ProviderCode == by.ProviderCode
			switch {
			case by.OrderID != "":
				return of && c.OrderID == by.OrderID
			case by.Key != "":
				return of && c.IdempotencyKey == by.Key
			case by.BillingRequestID != "":
				return c.Setup.BillingRequestID == by.BillingRequestID
			case by.MandateID != "":
				return c.Setup.MandateID == by.MandateID
			}
			return by.AgreementNumber != "" && c.Confirmation.AgreementNumber == by.AgreementNumber
		})
		if err != nil {
			return checkout.Checkout{}, err
		}
		return r.checkout, nil
	})
}

func (s *Store) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	change, leases, err := rows.Update(known, decide, func(known checkout.Checkout, change checkout.Change) ([]checkout.Lease, error) {
		return read(ctx, s, func() ([]checkout.Lease, error) {
			r, err := s.row(known.ID)
			if err == nil && r.checkout.Revision != known.Revision {
				err = ports.ErrNotFound
			}
			if err != nil {
				return nil, err
			}
			return s.store(r, change, hold)
		})
	}, func(id string) (checkout.Checkout, error) { return s.Checkout(ctx, id) })
	return copyOf(change), leases, err
}

// store stores a change over a row, or returns an error and changes nothing.
func (s *Store) store(r row, change checkout.Change, hold time.Duration) ([]checkout.Lease, error) {
	erases := change.Next.Erased() && !r.checkout.Erased()
	r.checkout = copyOf(change.Next)
	if a := change.Agreement; a != nil {
		taken := slices.ContainsFunc(slices.Collect(maps.Values(s.rows)), func(o *row) bool {
			return o.checkout.ProviderCode == r.checkout.ProviderCode && o.checkout.Confirmation.AgreementNumber == a.Number
		})
		if r.agreement != nil || taken {
			return nil, fmt.Errorf("agreement %s: %w", a.Number, ports.ErrDuplicate)
		}
		r.agreement, r.document = copyOf(a), copyOf(change.Document)
	}
	for _, j := range change.Jobs {
		if _, err := s.job(j); err == nil && j.Kind == checkout.JobDeliver {
			return nil, fmt.Errorf("event %s: %w", j.ID, ports.ErrDuplicate)
		}
	}
	r.note(change.Moments)
	if change.Act != nil {
		s.acts = append(s.acts, copyOf(*change.Act))
	}
	s.rows[r.checkout.ID] = &r
	leases := s.enter(change.Jobs, hold)
	if erases {
		s.erase(&r)
	}
	return leases, nil
}

// erase empties what belongs to a checkout that was erased.
func (s *Store) erase(r *row) {
	if r.agreement != nil {
		erased := r.agreement.Erased()
		r.agreement = &erased
	}
	if r.document != nil {
		r.document = &agreement.Document{SHA256: r.document.SHA256}
	}
	for _, j := range s.of[r.checkout.ID] {
		j.Receipt, j.Failure.Reason = "", ""
	}
}

// note adds moments to a timeline. A moment whose id is there raises the count of that.
func (r *row) note(moments []checkout.Moment) {
	r.moments = slices.Clone(r.moments)
	for _, m := range moments {
		m.Times = max(m.Times, 1)
		if i := slices.IndexFunc(r.moments, func(o checkout.Moment) bool { return o.ID == m.ID }); i >= 0 {
			r.moments[i].Times += m.Times
			continue
		}
		r.moments = append(r.moments, copyOf(m))
	}
	slices.SortStableFunc(r.moments, func(a, b checkout.Moment) int { return int(a.Position - b.Position) })
}

func (s *Store) Agreement(ctx context.Context, checkoutID string) (agreement.Agreement, error) {
	return part(ctx, s, "agreement", checkoutID, func(r row) *agreement.Agreement { return r.agreement })
}

func (s *Store) Document(ctx context.Context, checkoutID string) (agreement.Document, error) {
	return part(ctx, s, "document", checkoutID, func(r row) *agreement.Document { return r.document })
}

// part returns a part of what is on record about a checkout, or ErrNotFound.
func part[T any](ctx context.Context, s *Store, what, checkoutID string, of func(row) *T) (T, error) {
	return read(ctx, s, func() (v T, err error) {
		r, _ := s.row(checkoutID)
		if p := of(r); p != nil {
			return *p, nil
		}
		return v, fmt.Errorf("%s of %s: %w", what, checkoutID, ports.ErrNotFound)
	})
}

func (s *Store) Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error {
	return s.locked(ctx, func() error {
		for i, n := range moments {
			if r, ok := s.rows[n.CheckoutID]; ok {
				r.note(checkout.NumberMoments([]checkout.Moment{n.Moment}, checkout.FirstPosition(n.Moment.At)+int64(i)))
			}
		}
		for _, u := range uses {
			for i := range s.keys {
				if s.keys[i].ID == u.KeyID && s.keys[i].LastUsed.Before(u.Minute) {
					s.keys[i].LastUsed = u.Minute
				}
			}
		}
		return nil
	})
}

func (s *Store) Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error) {
	return read(ctx, s, func() ([]checkout.Moment, error) {
		if r, ok := s.rows[checkoutID]; ok {
			return r.moments, nil
		}
		return nil, nil
	})
}

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (s *Store) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error) {
	err = s.locked(ctx, func() error {
		rest := slices.DeleteFunc(slices.Sorted(maps.Keys(s.rows)), func(id string) bool { return id <= cursor })
		page := rest[:min(len(rest), limit)]
		for _, id := range page {
			c, before := s.rows[id].checkout, stored(open)
			if c.Status == checkout.Confirmed {
				before = stored(confirmed)
			}
			if !c.Erased() && c.CreatedAt.Before(before) {
				ids = append(ids, id)
			}
		}
		old := func(j *job) bool {
			kept := checkout.JobsKept
			if j.Kind == checkout.JobDeliver {
				kept = checkout.EventsKept
			}
			return slices.Contains(page, j.CheckoutID) && j.State != checkout.JobPending && j.Kind != checkout.JobSync &&
				j.SettledAt.Before(stored(s.now().Add(-kept)))
		}
		s.jobs = slices.DeleteFunc(s.jobs, old)
		for _, id := range page {
			s.of[id] = slices.DeleteFunc(s.of[id], old)
		}
		if len(page) < len(rest) {
			next = page[len(page)-1]
		}
		return nil
	})
	return ids, next, err
}
