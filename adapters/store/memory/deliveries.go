package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// EventRecords implements [ports.Deliveries].
func (s *Store) EventRecords(ctx context.Context, f ports.EventFilter, limit int) (list []ports.EventRecord, err error) {
	err = s.locked(ctx, func() error {
		queue := slices.Backward(s.queue)
		if f.OldestFirst {
			queue = slices.All(s.queue)
		}
		for _, id := range queue {
			if len(list) == limit {
				break
			}
			if e := s.event[id]; s.admits(f, e) {
				list = append(list, e.record())
			}
		}
		return nil
	})
	return list, err
}

// admits reports whether the filter admits the event.
func (s *Store) admits(f ports.EventFilter, e entry) bool {
	latest := e.CreatedAt
	if !e.failure.At.IsZero() {
		latest = e.failure.At
	}
	return (f.Status == "" || f.Status == e.status) &&
		(f.ProviderCode == "" || f.ProviderCode == e.ProviderCode) &&
		(f.OrderID == "" || f.OrderID == s.rows[e.CheckoutID].checkout.OrderID) &&
		(f.CheckoutID == "" || f.CheckoutID == e.CheckoutID) &&
		!latest.Before(stored(f.Since))
}

// EventRecord implements [ports.Deliveries].
func (s *Store) EventRecord(ctx context.Context, id string) (r ports.EventRecord, err error) {
	err = s.locked(ctx, func() error {
		e, ok := s.event[id]
		if !ok {
			return fmt.Errorf("event %s: %w", id, ports.ErrNotFound)
		}
		r = e.record()
		return nil
	})
	return r, err
}

// Redeliveries implements [ports.Deliveries].
func (s *Store) Redeliveries(ctx context.Context, eventID string) (list []ports.Redelivery, err error) {
	err = s.locked(ctx, func() error {
		list = copySlice(s.again[eventID])
		return nil
	})
	return list, err
}

// RecordRedelivery implements [ports.Deliveries].
func (s *Store) RecordRedelivery(ctx context.Context, event events.Event, r ports.Redelivery) error {
	return s.locked(ctx, func() error {
		e, ok := s.event[event.ID]
		if !ok || e.status != events.Failed && e.status != events.Delivered {
			return fmt.Errorf("event %s: %w", event.ID, ports.ErrNotFound)
		}
		r.At = stored(r.At)
		switch {
		case r.Delivered:
			e.status = events.Delivered
		case e.status == events.Failed:
			e.failure = ports.Failure{At: r.At, Reason: r.Failure}
		}
		s.event[event.ID] = e
		s.again[event.ID] = append(s.again[event.ID], r)
		return nil
	})
}
