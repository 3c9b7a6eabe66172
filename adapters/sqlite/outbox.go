package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	eventColumns = `id, checkout_id, name, provider_code, provider_order_id, request_id, created_ms, body`

	insertEvent = `INSERT INTO events (` + eventColumns + `, status, owned_until_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectPending = `SELECT ` + eventColumns + `, epoch, owned_until_ms FROM events
		WHERE checkout_id = ? AND status = 'pending' ORDER BY seq`
	selectEvents = `SELECT ` + eventColumns + `, status, attempts FROM events WHERE checkout_id = ? ORDER BY seq`

	takeEvent = `UPDATE events SET epoch = epoch + 1, owned_until_ms = ?
		WHERE id = ? AND epoch = ? AND status = 'pending'`
	settleEvent = `UPDATE events SET status = ?, attempts = attempts + ?
		WHERE id = ? AND epoch = ? AND status = 'pending'`

	selectAbandoned = `SELECT checkout_id, provider_code FROM (
			SELECT checkout_id, provider_code, min(seq) AS oldest,
				row_number() OVER (PARTITION BY provider_code ORDER BY min(seq)) AS place
			FROM events
			WHERE status = 'pending' AND (owned_until_ms <= ? OR owned_until_ms IS NULL)
			GROUP BY checkout_id, provider_code)
		WHERE place <= ? ORDER BY oldest`
)

// enqueue stores the events as queued says.
func (tx *tx) enqueue(ctx context.Context, evs []events.Event, queued ports.Queued) error {
	for _, e := range evs {
		_, err := tx.exec(ctx, insertEvent,
			e.ID, e.CheckoutID, e.Name, e.ProviderCode, e.OrderID, e.RequestID, column.Millis(e.CreatedAt), string(e.Body),
			queued.Status, column.Millis(queued.Until))
		if err != nil {
			return fmt.Errorf("insert event %s: %w", e.ID, err)
		}
	}
	return nil
}

// intoEvent is where the columns of an event are read to.
func intoEvent(e *events.Event) []any {
	return []any{&e.ID, &e.CheckoutID, &e.Name, &e.ProviderCode, &e.OrderID, &e.RequestID, column.Time(&e.CreatedAt), &e.Body}
}

func scanQueued(r row) (q ports.QueuedEvent, err error) {
	err = r.Scan(append(intoEvent(&q.Event), &q.Epoch, column.Time(&q.Until))...)
	return q, err
}

func scanEventRecord(r row) (e ports.EventRecord, err error) {
	err = r.Scan(append(intoEvent(&e.Event), &e.Status, &e.Attempts)...)
	return e, err
}

func scanAbandoned(r row) (a ports.Abandoned, err error) {
	err = r.Scan(&a.CheckoutID, &a.ProviderCode)
	return a, err
}

// PendingEvents implements [ports.Outbox].
func (db *DB) PendingEvents(ctx context.Context, checkoutID string) ([]ports.QueuedEvent, error) {
	pending, err := all(ctx, &db.readers, scanQueued, selectPending, checkoutID)
	if err != nil {
		return nil, fmt.Errorf("read pending events of %s: %w", checkoutID, err)
	}
	return pending, nil
}

// TakeEvent implements [ports.Outbox].
func (db *DB) TakeEvent(ctx context.Context, eventID string, epoch int64, until time.Time) (int64, error) {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		return tx.execOne(ctx, takeEvent, column.Millis(until), eventID, epoch)
	})
	if err != nil {
		return 0, fmt.Errorf("take event %s at epoch %d: %w", eventID, epoch, err)
	}
	return epoch + 1, nil
}

// SettleEvent implements [ports.Outbox].
func (db *DB) SettleEvent(ctx context.Context, eventID string, epoch int64, status events.Status, attempts int) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		return tx.execOne(ctx, settleEvent, status, attempts, eventID, epoch)
	})
	if err != nil {
		return fmt.Errorf("settle event %s at epoch %d: %w", eventID, epoch, err)
	}
	return nil
}

// AbandonedCheckouts implements [ports.Outbox].
func (db *DB) AbandonedCheckouts(ctx context.Context, now time.Time, perProvider int) ([]ports.Abandoned, error) {
	found, err := all(ctx, &db.readers, scanAbandoned, selectAbandoned, now.UnixMilli(), perProvider)
	if err != nil {
		return nil, fmt.Errorf("find abandoned checkouts: %w", err)
	}
	return found, nil
}

// backlog is what Backlog returns.
type backlog struct {
	pending int
	oldest  time.Time
}

func scanBacklog(r row) (b backlog, err error) {
	err = r.Scan(&b.pending, column.Time(&b.oldest))
	return b, err
}

// Backlog implements [ports.Outbox].
func (db *DB) Backlog(ctx context.Context) (pending int, oldest time.Time, err error) {
	b, err := one(ctx, &db.readers, scanBacklog, `SELECT count(*), min(created_ms) FROM events WHERE status = 'pending'`)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count pending events: %w", err)
	}
	return b.pending, b.oldest, nil
}
