package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// append appends moments to the journal of a checkout, if there is such a checkout.
func (s *Store) append(checkoutID string, moments ...checkout.Moment) {
	r, ok := s.rows[checkoutID]
	if !ok {
		return
	}
	for _, m := range moments {
		m.At, m.Times = stored(m.At), max(m.Times, 1)
		first := slices.IndexFunc(r.journal, func(o checkout.Moment) bool { return m.Once != "" && o.Once == m.Once })
		if first >= 0 {
			r.journal[first].Times += m.Times
			continue
		}
		m.Position = len(r.journal) + 1
		r.journal = append(r.journal, m)
	}
}

// Note implements [ports.Journal].
func (s *Store) Note(ctx context.Context, noted []checkout.Noted) error {
	return s.locked(ctx, func() error {
		for _, n := range noted {
			s.append(n.CheckoutID, n.Moment)
		}
		return nil
	})
}

// Moments implements [ports.Journal].
func (s *Store) Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error) {
	return read(ctx, s, func() (list []checkout.Moment, err error) {
		if r, ok := s.rows[checkoutID]; ok {
			list = r.journal
		}
		return list, nil
	})
}

// RecordEvidence implements [ports.Evidence].
func (s *Store) RecordEvidence(ctx context.Context, e evidence.Entry) error {
	return s.locked(ctx, func() error { return s.evidence.add(&e) })
}

// HastenJob implements [ports.Operations].
func (s *Store) HastenJob(ctx context.Context, id string, m checkout.Moment, did evidence.Entry) error {
	return s.locked(ctx, func() error {
		j, ok := s.queue.byID[id]
		if !ok || j.State != checkout.JobPending {
			return fmt.Errorf("job %s: %w", id, ports.ErrNotFound)
		}
		if err := s.evidence.add(&did); err != nil {
			return err
		}
		j.release(s.clock(m.At))
		s.append(j.Job.CheckoutID, m)
		return nil
	})
}
