package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// notice is a notice with its lease.
type notice struct {
	ports.NoticeRecord
	epoch int64
	due   time.Time
}

func (n notice) dueAt(at time.Time) bool {
	return n.Status == checkout.NoticePending && !n.due.After(stored(at))
}

// storeNotices stores the notices whose ids are not on record.
func (s *Store) storeNotices(notices []checkout.Notice) {
	for _, n := range notices {
		if has(s.notice, n.ID) {
			continue
		}
		n.CreatedAt = stored(n.CreatedAt)
		s.notices = append(s.notices, n.ID)
		s.noticesOf[n.CheckoutID] = append(s.noticesOf[n.CheckoutID], n.ID)
		s.notice[n.ID] = notice{NoticeRecord: ports.NoticeRecord{Notice: n, Status: checkout.NoticePending}, due: n.CreatedAt}
	}
}

// DueNotices implements [ports.Notices].
func (s *Store) DueNotices(ctx context.Context, now time.Time, limit int) (due []ports.DueNotice, err error) {
	err = s.locked(ctx, func() error {
		var ids []string
		for _, id := range s.notices {
			if s.notice[id].dueAt(now) {
				ids = append(ids, id)
			}
		}
		slices.SortStableFunc(ids, func(a, b string) int { return s.notice[a].due.Compare(s.notice[b].due) })
		for _, id := range ids[:min(len(ids), limit)] {
			n := s.notice[id]
			due = append(due, ports.DueNotice{Notice: n.Notice, Attempts: n.Attempts, Epoch: n.epoch})
		}
		return nil
	})
	return due, err
}

// LeaseNotice implements [ports.Notices].
func (s *Store) LeaseNotice(ctx context.Context, id string, epoch int64, until time.Time) (int64, error) {
	err := s.changeNotice(ctx, id, epoch, func(n *notice) {
		n.epoch++
		n.due = stored(until)
	})
	if err != nil {
		return 0, err
	}
	return epoch + 1, nil
}

// SettleNotice implements [ports.Notices].
func (s *Store) SettleNotice(ctx context.Context, id string, epoch int64, o ports.NoticeOutcome) error {
	return s.changeNotice(ctx, id, epoch, func(n *notice) {
		n.Status, n.due = o.Status, stored(o.Due)
		n.Attempts += o.Attempts
		n.SentAt, n.Receipt = stored(o.SentAt), o.Receipt
		if o.Failure.Reason != "" {
			n.Failure.Reason = o.Failure.Reason
		}
		if at := o.Failure.At; !at.IsZero() {
			n.Failure.At = stored(at)
		}
	})
}

// changeNotice changes the notice if it is pending and has the epoch.
func (s *Store) changeNotice(ctx context.Context, id string, epoch int64, f func(*notice)) error {
	return s.locked(ctx, func() error {
		n, ok := s.notice[id]
		if !ok || n.epoch != epoch || n.Status != checkout.NoticePending {
			return fmt.Errorf("notice %s at epoch %d: %w", id, epoch, ports.ErrNotFound)
		}
		f(&n)
		s.notice[id] = n
		return nil
	})
}

// NoticeBacklog implements [ports.Notices].
func (s *Store) NoticeBacklog(ctx context.Context) (pending int, oldest time.Time, err error) {
	err = s.locked(ctx, func() error {
		for _, n := range s.notice {
			if n.Status != checkout.NoticePending {
				continue
			}
			if pending++; pending == 1 || n.Notice.CreatedAt.Before(oldest) {
				oldest = n.Notice.CreatedAt
			}
		}
		return nil
	})
	return pending, oldest, err
}
