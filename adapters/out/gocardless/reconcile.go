package gocardless

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
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
	now := r.Processor.client.theirTime()
	since, err := time.Parse(time.RFC3339Nano, cursor)
	if err != nil {
		since = now.Add(-firstWindow)
	}
	for after := ""; ; {
		page, more, err := r.Processor.client.eventsSince(ctx, since.Add(-overlap), after)
		if err != nil {
			return cursor, reconcileEvery, fmt.Errorf("read the events: %w", err)
		}
		if after == "" {
			now = r.Processor.client.theirTime() // which the answer says
		}
		// An event may be younger than the beginning of the reading: it is received now.
		given, err := toNotifications(page, r.now())
		if err != nil {
			return cursor, reconcileEvery, fmt.Errorf("read the events: %w", err)
		}
		if err := r.Notified(ctx, given); err != nil {
			return cursor, reconcileEvery, fmt.Errorf("store %d notifications: %w", len(given), err)
		}
		if more == "" {
			return now.Format(time.RFC3339Nano), reconcileEvery, nil
		}
		after = more
	}
}

// Behind returns the time since the last reading of the whole list, by the cursor of Reconcile, or since the first was due.
func (r *Receiver) Behind(cursor string, due time.Time) time.Duration {
	since, err := time.Parse(time.RFC3339Nano, cursor)
	if err != nil {
		return max(0, r.now().Sub(due))
	}
	return max(0, r.Processor.client.theirTime().Sub(since))
}

// eventsSince returns a page of the events after a time, newest first, and the cursor of the next page, or "".
func (c *client) eventsSince(ctx context.Context, since time.Time, after string) (page []notifiedWire, next string, err error) {
	query := []string{"created_at[gt]", since.UTC().Format(time.RFC3339Nano), "limit", strconv.Itoa(eventsPage)}
	if after != "" {
		query = append(query, "after", after)
	}
	page, err = c.events(ctx, checkout.ForNotification, query...)
	if err == nil && len(page) == eventsPage {
		next = page[len(page)-1].ID
	}
	return page, next, err
}
