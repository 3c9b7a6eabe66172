package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	insertRequest  = `INSERT INTO @.sandbox_requests (provider_code, position, data) VALUES (?, ?, ?)`
	deleteRequests = `DELETE FROM @.sandbox_requests WHERE provider_code = ? AND (position < ? OR position <=
		(SELECT r.position FROM @.sandbox_requests AS r WHERE r.provider_code = ? ORDER BY r.position DESC LIMIT 1 OFFSET ?))`
	selectRequests = `SELECT position, data FROM @.sandbox_requests WHERE provider_code = ? AND position > ? ORDER BY position LIMIT ?`
)

// LogRequests adds requests to the end of a provider's log at a time, and then removes the requests from before since, and all but the
// newest. The lock on the list's row gives the positions in the order of the commits. If the outcome of a commit is not known the
// store is busy.
func (s *Store) LogRequests(ctx context.Context, provider string, at time.Time, requests [][]byte, since time.Time, newest int) error {
	return s.Do(ctx, fmt.Sprintf("log %d requests of provider %s", len(requests), provider), func(ctx context.Context, t Tx) error {
		if t.Again() {
			return fmt.Errorf("%w: %w", ports.ErrBusy, ErrUnknown)
		}
		var b Batch
		var last checkout.Cursor
		Get(&b, ScanValue[int64], func(n int64) { last = checkout.Cursor(n) }, lockList, provider, "requests")
		if err := t.Lock(ctx, &b); err != nil {
			return err
		}
		b = Batch{}
		for _, data := range requests {
			last = last.Next(at)
			b.Write(insertRequest, provider, int64(last), data)
		}
		b.Write(writeList, int64(last), provider, "requests")
		b.Write(deleteRequests, provider, int64(checkout.CursorAt(since)), provider, newest)
		return t.Commit(ctx, &b)
	})
}

// LoggedRequests returns the first requests behind a cursor, and the cursor of the last of them, or the given one.
func (s *Store) LoggedRequests(ctx context.Context, provider string, after checkout.Cursor, limit int) ([][]byte, checkout.Cursor, error) {
	type row struct {
		position int64
		data     []byte
	}
	rows, err := All(ctx, s.engine, Fields(func(r *row) []any { return []any{&r.position, &r.data} }), selectRequests, provider, int64(after), limit)
	var requests [][]byte
	for _, r := range rows {
		requests, after = append(requests, r.data), checkout.Cursor(r.position)
	}
	return requests, after, wrap(err, "read the requests of provider %s", provider)
}
