package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

// RecordAct implements [ports.Operations].
func (s *Store) RecordAct(ctx context.Context, did checkout.Act) error {
	return s.locked(ctx, func() error {
		s.did(&did)
		return nil
	})
}

// did keeps an act, if there is one.
func (s *Store) did(act *checkout.Act) {
	if act != nil {
		s.acts = append(s.acts, copyOf(*act))
	}
}

// Acts implements [ports.Operations].
func (s *Store) Acts(ctx context.Context, f checkout.ActFilter, limit int) ([]checkout.Act, error) {
	return read(ctx, s, func() (list []checkout.Act, err error) {
		for _, a := range s.acts {
			if (f.Subject == "" || slices.Contains(strings.Fields(a.Subject), f.Subject)) && !a.At.Before(stored(f.Since)) {
				list = append(list, a)
			}
		}
		slices.SortStableFunc(list, func(a, b checkout.Act) int { return a.At.Compare(b.At) })
		slices.Reverse(list)
		return list[:min(len(list), limit)], nil
	})
}

// HastenJob implements [ports.Operations].
func (s *Store) HastenJob(ctx context.Context, id string, m checkout.Moment, did checkout.Act) error {
	return s.locked(ctx, func() error {
		j, ok := s.queue.byID[id]
		if !ok || !j.Hastens() {
			return fmt.Errorf("job %s: %w", id, ports.ErrNotFound)
		}
		s.did(&did)
		j.State, j.SettledAt = checkout.JobPending, time.Time{}
		j.release(s.clock(m.At))
		s.append(j.Job.CheckoutID, m)
		return nil
	})
}
