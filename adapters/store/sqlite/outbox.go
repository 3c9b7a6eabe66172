package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertEvent = `INSERT INTO events (status, leased_until_ms, ` + column.Event.Names() + `)
		VALUES (?, ?, ` + column.Event.Marks() + `)`
	selectPending = `SELECT ` + column.PendingEvent.Names() + ` FROM events
		WHERE checkout_id = ? AND status = 'pending' ORDER BY seq`
	selectEvents = `SELECT ` + column.EventRecord.Names() + ` FROM events WHERE checkout_id = ? ORDER BY seq`
)

const (
	leaseEvent = `UPDATE events SET epoch = epoch + 1, leased_until_ms = ?
		WHERE id = ? AND epoch = ? AND status = 'pending'`
	settleEvent = `UPDATE events SET status = ?, attempts = attempts + ?,
			failure = coalesce(nullif(?, ''), failure), failed_ms = coalesce(?, failed_ms)
		WHERE id = ? AND epoch = ? AND status = 'pending'`
	releaseEvent = `UPDATE events SET epoch = epoch + 1, leased_until_ms = NULL, attempts = attempts + ?,
			failure = coalesce(nullif(?, ''), failure), failed_ms = coalesce(?, failed_ms)
		WHERE id = ? AND epoch = ? AND status = 'pending'`

	selectExpired = `SELECT checkout_id, provider_code FROM (
			SELECT checkout_id, provider_code, min(seq) AS oldest,
				row_number() OVER (PARTITION BY provider_code ORDER BY min(seq)) AS place
			FROM events
			WHERE status = 'pending' AND (leased_until_ms <= ? OR leased_until_ms IS NULL)
			GROUP BY checkout_id, provider_code)
		WHERE place <= ? ORDER BY oldest`
	selectBacklog = `SELECT count(*), min(created_ms) FROM events WHERE status = 'pending'`
)

func (tx *tx) storeEvents(ctx context.Context, evs []events.Event, enqueue ports.Enqueue) error {
	for _, e := range evs {
		values := column.Event.Values(&e, string(enqueue.Status), column.Millis(enqueue.Until))
		if _, err := tx.exec(ctx, insertEvent, values...); err != nil {
			return fmt.Errorf("insert event %s: %w", e.ID, err)
		}
	}
	return nil
}

func scanExpired(r row) (e ports.ExpiredLease, err error) {
	err = r.Scan(&e.CheckoutID, &e.ProviderCode)
	return e, err
}

// PendingEvents implements [ports.Outbox].
func (db *DB) PendingEvents(ctx context.Context, checkoutID string) ([]ports.PendingEvent, error) {
	pending, err := all(ctx, &db.readers, scanColumns(column.PendingEvent), selectPending, checkoutID)
	if err != nil {
		return nil, fmt.Errorf("read pending events of %s: %w", checkoutID, err)
	}
	return pending, nil
}

// LeaseEvent implements [ports.Outbox].
func (db *DB) LeaseEvent(ctx context.Context, eventID string, epoch int64, until time.Time) (int64, error) {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		return tx.execOne(ctx, leaseEvent, column.Millis(until), eventID, epoch)
	})
	if err != nil {
		return 0, fmt.Errorf("lease event %s at epoch %d: %w", eventID, epoch, err)
	}
	return epoch + 1, nil
}

// SettleEvent implements [ports.Outbox].
func (db *DB) SettleEvent(ctx context.Context, eventID string, epoch int64, s ports.Settlement) error {
	statement, args := settleEvent, []any{string(s.Status)}
	if s.Status == events.Pending {
		statement, args = releaseEvent, nil
	}
	args = append(args, s.Attempts, s.Failure.Reason, column.Millis(s.Failure.At), eventID, epoch)
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error { return tx.execOne(ctx, statement, args...) })
	if err != nil {
		return fmt.Errorf("settle event %s at epoch %d: %w", eventID, epoch, err)
	}
	return nil
}

// ExpiredLeases implements [ports.Outbox].
func (db *DB) ExpiredLeases(ctx context.Context, now time.Time, perProvider int) ([]ports.ExpiredLease, error) {
	expired, err := all(ctx, &db.readers, scanExpired, selectExpired, now.UnixMilli(), perProvider)
	if err != nil {
		return nil, fmt.Errorf("read expired leases: %w", err)
	}
	return expired, nil
}

// backlog is what Backlog returns.
type backlog struct {
	pending int
	oldest  time.Time
}

func scanBacklog(r row) (b backlog, err error) {
	err = r.Scan(&b.pending, (*column.Time)(&b.oldest))
	return b, err
}

// Backlog implements [ports.Outbox].
func (db *DB) Backlog(ctx context.Context) (pending int, oldest time.Time, err error) {
	b, err := one(ctx, &db.readers, scanBacklog, selectBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("read backlog: %w", err)
	}
	return b.pending, b.oldest, nil
}
