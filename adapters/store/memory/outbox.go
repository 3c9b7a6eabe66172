package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// entry is an event in the outbox.
type entry struct {
	events.Event
	status   events.Status
	attempts int
	failure  ports.Failure
	epoch    int64
	until    time.Time
}

func (e entry) record() ports.EventRecord {
	return ports.EventRecord{Event: copyEvent(e.Event), Status: e.status, Attempts: e.attempts, Failure: e.failure}
}

// enqueue stores the events, or none if the id or the name of one is on record.
func (s *Store) enqueue(evs []events.Event, q ports.Enqueue) error {
	for i, e := range evs {
		same := func(o events.Event) bool {
			return o.ID == e.ID || o.CheckoutID == e.CheckoutID && o.Name == e.Name
		}
		named := slices.ContainsFunc(s.eventsOf[e.CheckoutID], func(id string) bool { return same(s.event[id].Event) })
		if has(s.event, e.ID) || named || slices.ContainsFunc(evs[:i], same) {
			return fmt.Errorf("event %s of checkout %s: %w", e.Name, e.CheckoutID, ports.ErrDuplicate)
		}
	}
	for _, e := range evs {
		s.queue = append(s.queue, e.ID)
		s.eventsOf[e.CheckoutID] = append(s.eventsOf[e.CheckoutID], e.ID)
		s.event[e.ID] = entry{Event: copyEvent(e), status: q.Status, epoch: 1, until: stored(q.Until)}
	}
	return nil
}

// PendingEvents implements [ports.Outbox].
func (s *Store) PendingEvents(ctx context.Context, checkoutID string) (pending []ports.PendingEvent, err error) {
	err = s.locked(ctx, func() error {
		for _, id := range s.eventsOf[checkoutID] {
			if e := s.event[id]; e.status == events.Pending {
				q := ports.PendingEvent{Event: copyEvent(e.Event), Attempts: e.attempts, Epoch: e.epoch, Until: e.until}
				pending = append(pending, q)
			}
		}
		return nil
	})
	return pending, err
}

// LeaseEvent implements [ports.Outbox].
func (s *Store) LeaseEvent(ctx context.Context, eventID string, epoch int64, until time.Time) (int64, error) {
	err := s.change(ctx, eventID, epoch, func(e *entry) {
		e.epoch++
		e.until = stored(until)
	})
	if err != nil {
		return 0, err
	}
	return epoch + 1, nil
}

// SettleEvent implements [ports.Outbox].
func (s *Store) SettleEvent(ctx context.Context, eventID string, epoch int64, outcome ports.Settlement) error {
	return s.change(ctx, eventID, epoch, func(e *entry) {
		e.status = outcome.Status
		e.attempts += outcome.Attempts
		if outcome.Failure.Reason != "" {
			e.failure.Reason = outcome.Failure.Reason
		}
		if at := outcome.Failure.At; !at.IsZero() {
			e.failure.At = stored(at)
		}
		if outcome.Status == events.Pending {
			e.epoch++
			e.until = time.Time{}
		}
	})
}

// change changes the event if it is pending and has the epoch.
func (s *Store) change(ctx context.Context, eventID string, epoch int64, f func(*entry)) error {
	return s.locked(ctx, func() error {
		e, ok := s.event[eventID]
		if !ok || e.epoch != epoch || e.status != events.Pending {
			return fmt.Errorf("event %s at epoch %d: %w", eventID, epoch, ports.ErrNotFound)
		}
		f(&e)
		s.event[eventID] = e
		return nil
	})
}

// ExpiredLeases implements [ports.Outbox].
func (s *Store) ExpiredLeases(ctx context.Context, now time.Time, perProvider int) (found []ports.ExpiredLease, err error) {
	err = s.locked(ctx, func() error {
		of := make(map[string]int) // provider to checkouts found
		for _, id := range s.queue {
			e := s.event[id]
			a := ports.ExpiredLease{CheckoutID: e.CheckoutID, ProviderCode: e.ProviderCode}
			expired := e.status == events.Pending && !e.until.After(stored(now))
			if expired && of[a.ProviderCode] < perProvider && !slices.Contains(found, a) {
				found = append(found, a)
				of[a.ProviderCode]++
			}
		}
		return nil
	})
	return found, err
}

// Backlog implements [ports.Outbox].
func (s *Store) Backlog(ctx context.Context) (pending int, oldest time.Time, err error) {
	err = s.locked(ctx, func() error {
		for _, e := range s.event {
			if e.status != events.Pending {
				continue
			}
			if pending++; pending == 1 || e.CreatedAt.Before(oldest) {
				oldest = e.CreatedAt
			}
		}
		return nil
	})
	return pending, oldest, err
}
