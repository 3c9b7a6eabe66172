package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	eventColumns = `id, checkout_id, name, provider_code, provider_order_id, request_id, created_ms, body`

	insertInto  = `INSERT INTO events (` + eventColumns + `, status, owned_until_ms, position) `
	insertEvent = insertInto + `SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::text, $9::text, $10::bigint, $11::bigint
		WHERE EXISTS (SELECT 1 FROM checkouts WHERE id = $2)` // which insertCheckout may not have stored
	// A statement of its own sees what others stored before it got the checkout's lock.
	appendEvent = insertInto + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
		(SELECT coalesce(max(position), 0) + 1 FROM events WHERE checkout_id = $2))`
	selectPending = `SELECT ` + eventColumns + `, epoch, owned_until_ms FROM events
		WHERE checkout_id = $1 AND status = 'pending' ORDER BY position`
	selectEvents = `SELECT ` + eventColumns + `, status, attempts FROM events
		WHERE checkout_id = ANY ($1) ORDER BY checkout_id, position`

	takeEvent = `UPDATE events SET epoch = epoch + 1, owned_until_ms = $3
		WHERE id = $1 AND epoch = $2 AND status = 'pending'`
	settleEvent = `UPDATE events SET status = $3, attempts = attempts + $4
		WHERE id = $1 AND epoch = $2 AND status = 'pending'`
	selectEpoch = `SELECT epoch FROM events WHERE id = $1 AND status = 'pending'`

	selectAbandoned = `SELECT checkout_id, provider_code FROM (
			SELECT checkout_id, provider_code, min(seq) AS oldest,
				row_number() OVER (PARTITION BY provider_code ORDER BY min(seq)) AS place
			FROM events
			WHERE status = 'pending' AND (owned_until_ms <= $1 OR owned_until_ms IS NULL)
			GROUP BY checkout_id, provider_code) AS abandoned
		WHERE place <= $2 ORDER BY oldest`
	selectBacklog = `SELECT count(*), min(created_ms) FROM events WHERE status = 'pending'`
)

// eventValues are the values of an event but its position.
func eventValues(e events.Event, queued ports.Queued) []any {
	return []any{e.ID, e.CheckoutID, e.Name, e.ProviderCode, e.OrderID, e.RequestID,
		column.Millis(e.CreatedAt), string(e.Body), queued.Status, column.Millis(queued.Until)}
}

// intoEvent is where the columns of an event are read to.
func intoEvent(e *events.Event) []any {
	return []any{&e.ID, &e.CheckoutID, &e.Name, &e.ProviderCode, &e.OrderID, &e.RequestID,
		column.Time(&e.CreatedAt), &e.Body}
}

func scanQueued(r pgx.CollectableRow) (q ports.QueuedEvent, err error) {
	err = r.Scan(append(intoEvent(&q.Event), &q.Epoch, column.Time(&q.Until))...)
	return q, err
}

func scanEventRecord(r pgx.CollectableRow) (e ports.EventRecord, err error) {
	err = r.Scan(append(intoEvent(&e.Event), &e.Status, &e.Attempts)...)
	return e, err
}

func scanAbandoned(r pgx.CollectableRow) (a ports.Abandoned, err error) {
	err = r.Scan(&a.CheckoutID, &a.ProviderCode)
	return a, err
}

// PendingEvents implements [ports.Outbox].
func (db *DB) PendingEvents(ctx context.Context, checkoutID string) ([]ports.QueuedEvent, error) {
	pending, err := all(ctx, db, scanQueued, selectPending, checkoutID)
	if err != nil {
		return nil, fmt.Errorf("read pending events of %s: %w", checkoutID, err)
	}
	return pending, nil
}

// TakeEvent implements [ports.Outbox]. If its commit was in doubt and a new try finds another epoch, it
// cannot know who took the event: it says that it did not, and the event waits until that ownership ends.
func (db *DB) TakeEvent(ctx context.Context, eventID string, epoch int64, until time.Time) (int64, error) {
	err := db.do(ctx, func(ctx context.Context, t *try) error {
		n, err := t.exec(ctx, takeEvent, eventID, epoch, column.Millis(until))
		if err == nil && n == 0 {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take event %s at epoch %d: %w", eventID, epoch, err)
	}
	return epoch + 1, nil
}

// SettleEvent implements [ports.Outbox]. If its commit was in doubt and a new try finds the event not
// pending any more, it is settled: by that commit, for who owns an event is left the time to settle it.
func (db *DB) SettleEvent(ctx context.Context, eventID string, epoch int64, status events.Status, attempts int) error {
	err := db.do(ctx, func(ctx context.Context, t *try) error {
		n, err := t.exec(ctx, settleEvent, eventID, epoch, status, attempts)
		if err != nil || n == 1 {
			return err
		}
		if t.doubt {
			others, err := rows(ctx, t.conn, pgx.RowTo[int64], selectEpoch, eventID)
			if err != nil || len(others) == 0 {
				return err
			}
		}
		return ports.ErrNotFound
	})
	if err != nil {
		return fmt.Errorf("settle event %s at epoch %d: %w", eventID, epoch, err)
	}
	return nil
}

// AbandonedCheckouts implements [ports.Outbox].
func (db *DB) AbandonedCheckouts(ctx context.Context, now time.Time, perProvider int) ([]ports.Abandoned, error) {
	found, err := all(ctx, db, scanAbandoned, selectAbandoned, now.UnixMilli(), perProvider)
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

func scanBacklog(r pgx.CollectableRow) (b backlog, err error) {
	err = r.Scan(&b.pending, column.Time(&b.oldest))
	return b, err
}

// Backlog implements [ports.Outbox].
func (db *DB) Backlog(ctx context.Context) (pending int, oldest time.Time, err error) {
	b, err := one(ctx, db, scanBacklog, selectBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("read backlog: %w", err)
	}
	return b.pending, b.oldest, nil
}
