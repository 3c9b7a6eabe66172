package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	// selectPage takes the cursor, a limit, and the times before which an event and another job was settled.
	selectPage = `SELECT provider_code, id, status, created_ms, erased_ms, EXISTS (
			SELECT 1 FROM jobs AS j WHERE j.provider_code = c.provider_code AND j.checkout_id = c.id AND +j.state <> 'pending'
				AND +j.kind <> 'sync' AND j.settled_ms < iif(j.kind = 'deliver', ?4, ?5))
		FROM checkouts AS c WHERE (provider_code, id) > (?1, ?2) ORDER BY provider_code, id LIMIT ?3`
	// deleteJobs takes the checkout and these times.
	deleteJobs = `DELETE FROM jobs WHERE provider_code = ? AND checkout_id = ? AND state <> 'pending' AND kind <> 'sync'
		AND settled_ms < iif(kind = 'deliver', ?, ?)`
)

// walked is a checkout that OldCheckouts looks at.
type walked struct {
	provider, id, status string
	created, erased      int64
	hasOld               bool // jobs that were settled long enough ago
}

func (r *walked) Fields() []any {
	return []any{&r.provider, &r.id, &r.status, &r.created, &r.erased, &r.hasOld}
}

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (db *DB) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error) {
	var page []walked
	now := db.now()
	events, others := rows.Millis(now.Add(-checkout.EventsKept)), rows.Millis(now.Add(-checkout.JobsKept))
	err = db.read(ctx, func(c *conn) error {
		page, err = all[walked](ctx, c, selectPage, checkout.ProviderOf(cursor), cursor, limit+1, events, others)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("old checkouts: %w", err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].id
	}
	for _, r := range page {
		before := open
		if r.status == string(checkout.Confirmed) {
			before = confirmed
		}
		if r.erased == 0 && rows.Time(r.created).Before(before.Truncate(time.Millisecond)) {
			ids = append(ids, r.id)
		}
	}
	page = slices.DeleteFunc(page, func(r walked) bool { return !r.hasOld })
	if len(page) == 0 {
		return ids, next, nil
	}
	return ids, next, db.write(ctx, "delete old jobs", func(t *tx) {
		for _, r := range page {
			t.exec(deleteJobs, r.provider, r.id, events, others)
		}
	})
}
