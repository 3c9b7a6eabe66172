package gocardless

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	reconcileEvery = 20 * time.Second
	reconcileLimit = 2 * time.Minute
	// overlap is the time before the last reading that is read again: an event may be listed a little later than its time says.
	overlap     = 2 * time.Minute
	firstWindow = time.Hour // what the first reconciliation of a store reads
	eventsPage  = 500
)

// Reconcile is the task that reads GoCardless' list of events since the cursor, for the events that no notification brought. One
// process at a time runs it (service.Task). The list is newest first, so that the cursor moves only when all of it was read:
// the page read last has the events that would be lost. The cursor is a time by GoCardless' clock: this one may be wrong.
func (r *Receiver) Reconcile(ctx context.Context, cursor string) (next string, pause time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileLimit)
	defer cancel()
	now := r.client.theirTime()
	since, err := time.Parse(time.RFC3339Nano, cursor)
	if err != nil {
		since = now.Add(-firstWindow)
	}
	query := []string{"created_at[gt]", since.Add(-overlap).UTC().Format(time.RFC3339Nano), "limit", strconv.Itoa(eventsPage)}
	for first := true; ; first = false {
		page, err := get[[]eventWire](ctx, r.client, "/events", query...)
		if err == nil && first {
			now = r.client.theirTime() // which the answer says
		}
		if err == nil {
			err = r.passOn(ctx, page)
		}
		if err != nil {
			return cursor, reconcileEvery, fmt.Errorf("read the events: %w", err)
		}
		if len(page) < eventsPage {
			return now.Format(time.RFC3339Nano), reconcileEvery, nil
		}
		query = append(query, "after", page[len(page)-1].ID)
	}
}
