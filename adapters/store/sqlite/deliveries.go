package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	eventRecords = `SELECT ` + column.EventRecord.Names() + ` FROM events`
	// Ids have no index but that of pending events: this reads events until it has found it.
	selectEvent = eventRecords + ` WHERE id = ? LIMIT 1`

	selectRedeliveries = `SELECT ` + column.Redelivery.Names() + ` FROM redeliveries WHERE event_id = ? ORDER BY seq`
	insertRedelivery   = `INSERT INTO redeliveries (event_id, ` + column.Redelivery.Names() + `)
		VALUES (?, ` + column.Redelivery.Marks() + `)`
)

const (
	settleRedelivered = `UPDATE events SET status = 'delivered'
		WHERE checkout_id = ? AND name = ? AND id = ? AND status IN ('failed', 'delivered')`
	settleFailedAgain = `UPDATE events SET
			failure = iif(status = 'failed', ?, failure), failed_ms = iif(status = 'failed', ?, failed_ms)
		WHERE checkout_id = ? AND name = ? AND id = ? AND status IN ('failed', 'delivered')`
)

// EventRecords implements [ports.Deliveries].
func (db *DB) EventRecords(ctx context.Context, f ports.EventFilter, limit int) ([]ports.EventRecord, error) {
	var conditions []string
	var args []any
	where := func(given bool, condition string, value any) {
		if given {
			conditions, args = append(conditions, condition), append(args, value)
		}
	}
	// The index of failed events is used only where the statement names that status.
	if f.Status == events.Failed {
		conditions = append(conditions, `status = 'failed'`)
	} else {
		where(f.Status != "", `status = ?`, string(f.Status))
	}
	where(f.ProviderCode != "", `provider_code = ?`, f.ProviderCode)
	where(f.CheckoutID != "", `checkout_id = ?`, f.CheckoutID)
	where(f.OrderID != "", `checkout_id IN (SELECT id FROM checkouts WHERE provider_order_id = ?)`, f.OrderID)
	where(!f.Since.IsZero(), `coalesce(failed_ms, created_ms) >= ?`, column.Millis(f.Since))
	query := eventRecords
	if len(conditions) > 0 {
		query += ` WHERE ` + strings.Join(conditions, ` AND `)
	}
	order := ` ORDER BY seq DESC`
	if f.OldestFirst {
		order = ` ORDER BY seq`
	}
	list, err := all(ctx, &db.readers, scanColumns(column.EventRecord), query+order+` LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return list, nil
}

// EventRecord implements [ports.Deliveries].
func (db *DB) EventRecord(ctx context.Context, id string) (ports.EventRecord, error) {
	e, err := one(ctx, &db.readers, scanColumns(column.EventRecord), selectEvent, id)
	if err != nil {
		return e, fmt.Errorf("read event %s: %w", id, err)
	}
	return e, nil
}

// Redeliveries implements [ports.Deliveries].
func (db *DB) Redeliveries(ctx context.Context, eventID string) ([]ports.Redelivery, error) {
	list, err := all(ctx, &db.readers, scanColumns(column.Redelivery), selectRedeliveries, eventID)
	if err != nil {
		return nil, fmt.Errorf("read redeliveries of %s: %w", eventID, err)
	}
	return list, nil
}

// RecordRedelivery implements [ports.Deliveries].
func (db *DB) RecordRedelivery(ctx context.Context, e events.Event, r ports.Redelivery) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		statement, args := settleRedelivered, []any{}
		if !r.Delivered {
			statement, args = settleFailedAgain, []any{r.Failure, column.Millis(r.At)}
		}
		if err := tx.execOne(ctx, statement, append(args, e.CheckoutID, string(e.Name), e.ID)...); err != nil {
			return err
		}
		_, err := tx.exec(ctx, insertRedelivery, column.Redelivery.Values(&r, e.ID)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record a redelivery of %s: %w", e.ID, err)
	}
	return nil
}
