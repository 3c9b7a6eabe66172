package memory

import (
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// logged is a request in the log of a provider.
type logged struct {
	position checkout.Cursor
	data     []byte
}

// LogRequests adds requests to the end of a provider's log at a time, and then removes the requests from before since, and all but the
// newest.
func (s *Store) LogRequests(ctx context.Context, provider string, at time.Time, requests [][]byte, since time.Time, newest int) error {
	return s.locked(ctx, func() error {
		log, of := s.requests[provider], name{provider, "requests"}
		for _, data := range requests {
			s.lists[of] = s.lists[of].Next(at)
			log = append(log, logged{s.lists[of], slices.Clone(data)})
		}
		log = slices.DeleteFunc(log, func(l logged) bool { return l.position < checkout.CursorAt(since) })
		s.requests[provider] = slices.Clone(log[max(0, len(log)-newest):])
		return nil
	})
}

// LoggedRequests returns the first requests behind a cursor, and the cursor of the last of them, or the given one.
func (s *Store) LoggedRequests(ctx context.Context, provider string, after checkout.Cursor, limit int) (
	requests [][]byte, next checkout.Cursor, err error) {
	next = after
	err = s.locked(ctx, func() error {
		for _, l := range s.requests[provider] {
			if l.position > after && len(requests) < limit {
				requests, next = append(requests, slices.Clone(l.data)), l.position
			}
		}
		return nil
	})
	return requests, next, err
}
