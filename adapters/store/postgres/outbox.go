package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	// insertEvent inserts nothing if insertCheckout, in the same transaction, did not insert the checkout ($1).
	insertEvent = `INSERT INTO @.events (status, leased_until_ms, position, ` + sqlstore.Event.Names() + `)
		SELECT $2::text, $3::bigint, $4::bigint, ` + sqlstore.Event.TypedNumbers(5) + `
		WHERE EXISTS (SELECT 1 FROM @.checkouts WHERE id = $1)`
	// appendEvent takes the next position. The checkout ($1) is locked, and a statement of its own sees what others stored
	// before that.
	appendEvent = `INSERT INTO @.events (status, leased_until_ms, position, ` + sqlstore.Event.Names() + `)
		VALUES ($2, $3, (SELECT coalesce(max(position), 0) + 1 FROM @.events WHERE checkout_id = $1), ` + sqlstore.Event.Numbers(4) + `)`

	selectPending = `SELECT ` + sqlstore.PendingEvent.Names() + ` FROM @.events
		WHERE checkout_id = $1 AND status = 'pending' ORDER BY position`
	selectEvents = `SELECT ` + sqlstore.EventRecord.Names() + ` FROM @.events
		WHERE checkout_id = ANY ($1) ORDER BY checkout_id, position`
)

const (
	leaseEvent = `UPDATE @.events SET epoch = epoch + 1, leased_until_ms = $3
		WHERE id = $1 AND epoch = $2 AND status = 'pending'`
	settleEvent = `UPDATE @.events SET status = $6, attempts = attempts + $3,
			failure = coalesce(nullif($4, ''), failure), failed_ms = coalesce($5, failed_ms)
		WHERE id = $1 AND epoch = $2 AND status = 'pending'`
	releaseEvent = `UPDATE @.events SET epoch = epoch + 1, leased_until_ms = NULL, attempts = attempts + $3,
			failure = coalesce(nullif($4, ''), failure), failed_ms = coalesce($5, failed_ms)
		WHERE id = $1 AND epoch = $2 AND status = 'pending'`
	selectEpoch = `SELECT epoch FROM @.events WHERE id = $1 AND status = 'pending'`

	selectExpired = `SELECT checkout_id, provider_code FROM (
			SELECT checkout_id, provider_code, min(seq) AS oldest,
				row_number() OVER (PARTITION BY provider_code ORDER BY min(seq)) AS place
			FROM @.events
			WHERE status = 'pending' AND (leased_until_ms <= $1 OR leased_until_ms IS NULL)
			GROUP BY checkout_id, provider_code) AS expired
		WHERE place <= $2 ORDER BY oldest`
	selectBacklog = `SELECT count(*), min(created_ms) FROM @.events WHERE status = 'pending'`
)

func scanExpired(r pgx.CollectableRow) (e ports.ExpiredLease, err error) {
	err = r.Scan(&e.CheckoutID, &e.ProviderCode)
	return e, err
}

// PendingEvents implements [ports.Outbox].
func (db *DB) PendingEvents(ctx context.Context, checkoutID string) ([]ports.PendingEvent, error) {
	pending, err := all(ctx, db, scanColumns(sqlstore.PendingEvent), selectPending, checkoutID)
	if err != nil {
		return nil, fmt.Errorf("read pending events of %s: %w", checkoutID, err)
	}
	return pending, nil
}

// LeaseEvent implements [ports.Outbox]. If the outcome of its commit is not known and a further attempt finds another
// epoch, it cannot know who has the lease: it returns ErrNotFound, and the event waits until that lease ends.
func (db *DB) LeaseEvent(ctx context.Context, eventID string, epoch int64, until time.Time) (int64, error) {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		n, err := t.exec(ctx, leaseEvent, eventID, epoch, sqlstore.Millis(until))
		if err == nil && n == 0 {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lease event %s at epoch %d: %w", eventID, epoch, err)
	}
	return epoch + 1, nil
}

// SettleEvent implements [ports.Outbox]. If the outcome of its commit is not known and a further attempt finds the event
// settled, that commit settled it, because only the holder of the lease settles an event. Where a run was cut short and a
// further attempt finds the next epoch, it cannot know whether that is another's lease: it returns ErrNotFound.
func (db *DB) SettleEvent(ctx context.Context, eventID string, epoch int64, s ports.Settlement) error {
	args := []any{eventID, epoch, s.Attempts, s.Failure.Reason, sqlstore.Millis(s.Failure.At)}
	statement := releaseEvent
	if s.Status != events.Pending {
		statement, args = settleEvent, append(args, string(s.Status))
	}
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		n, err := t.exec(ctx, statement, args...)
		if err != nil || n == 1 {
			return err
		}
		if t.outcomeUnknown {
			pending, err := rows(ctx, t, pgx.RowTo[int64], selectEpoch, eventID)
			if err != nil || len(pending) == 0 {
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

// ExpiredLeases implements [ports.Outbox].
func (db *DB) ExpiredLeases(ctx context.Context, now time.Time, perProvider int) ([]ports.ExpiredLease, error) {
	expired, err := all(ctx, db, scanExpired, selectExpired, now.UnixMilli(), perProvider)
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

func scanBacklog(r pgx.CollectableRow) (b backlog, err error) {
	err = r.Scan(&b.pending, (*sqlstore.Time)(&b.oldest))
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
