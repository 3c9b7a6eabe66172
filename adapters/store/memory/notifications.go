package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Notifications = (*Store)(nil)

// task is a task and the end of its lease.
type task struct {
	ports.Task
	until time.Time
}

// KeepNotifications implements [ports.Notifications].
func (s *Store) KeepNotifications(ctx context.Context, given []ports.Notification) (fresh []ports.Notification, err error) {
	err = s.locked(ctx, func() error {
		for _, n := range given {
			if !has(s.notified, n.ID) {
				n.Received = stored(n.Received)
				s.notified[n.ID] = n
				fresh = append(fresh, n)
			}
		}
		return nil
	})
	return fresh, err
}

// PendingNotifications implements [ports.Notifications].
func (s *Store) PendingNotifications(ctx context.Context, before time.Time, limit int) (pending []ports.Notification, err error) {
	err = s.locked(ctx, func() error {
		for id, n := range s.notified {
			if n.Received.Before(stored(before)) && !has(s.settled, id) {
				pending = append(pending, n)
			}
		}
		slices.SortFunc(pending, func(a, b ports.Notification) int {
			return cmp.Or(a.Received.Compare(b.Received), cmp.Compare(a.ID, b.ID))
		})
		pending = pending[:min(len(pending), limit)]
		return nil
	})
	return pending, err
}

// SettleNotifications implements [ports.Notifications].
func (s *Store) SettleNotifications(ctx context.Context, ids []string, at time.Time) error {
	return s.locked(ctx, func() error {
		for _, id := range ids {
			if has(s.notified, id) && !has(s.settled, id) {
				s.settled[id] = stored(at)
			}
		}
		return nil
	})
}

// LeaseTask implements [ports.Notifications].
func (s *Store) LeaseTask(ctx context.Context, name string, now, until time.Time) (leased ports.Task, err error) {
	err = s.locked(ctx, func() error {
		t := s.tasks[name]
		if t.until.After(now) {
			return fmt.Errorf("task %s is leased: %w", name, ports.ErrBusy)
		}
		t.Epoch++
		t.until = stored(until)
		s.tasks[name], leased = t, t.Task
		return nil
	})
	return leased, err
}

// SaveTask implements [ports.Notifications].
func (s *Store) SaveTask(ctx context.Context, name string, t ports.Task, until time.Time) error {
	return s.locked(ctx, func() error {
		if !has(s.tasks, name) || s.tasks[name].Epoch != t.Epoch {
			return fmt.Errorf("task %s at epoch %d: %w", name, t.Epoch, ports.ErrNotFound)
		}
		s.tasks[name] = task{t, stored(until)}
		return nil
	})
}
