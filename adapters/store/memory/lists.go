package memory

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Events implements [ports.Journal].
func (s *Store) Events(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error) {
	return read(ctx, s, func() (list []checkout.ListedEvent, err error) {
		for _, j := range s.queue.all {
			given := j.Job
			if given.Kind == checkout.JobDeliver && given.ProviderCode == q.ProviderCode && (q.OrderID == "" || given.OrderID == q.OrderID) &&
				given.CreatedAt.After(stored(q.Since)) && j.position > q.After.Position && len(list) < q.Limit {
				list = append(list, checkout.ListedEvent{Cursor: checkout.Cursor{Position: j.position}, EventRecord: checkout.EventOf(j.record())})
			}
		}
		return list, nil
	})
}
