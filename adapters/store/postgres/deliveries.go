package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	eventRecords = `SELECT ` + sqlstore.EventRecord.Names() + ` FROM @.events`
	// Ids have no index but that of pending events: this reads events until it has found it.
	selectEvent = eventRecords + ` WHERE id = $1 LIMIT 1`

	selectRedeliveries = `SELECT ` + sqlstore.Redelivery.Names() + ` FROM @.redeliveries WHERE event_id = $1 ORDER BY seq`
	selectRedelivery   = `SELECT seq FROM @.redeliveries WHERE event_id = $1 AND sent_ms = $2`

	// recordRedelivery stores nothing if there is no such event, or it is neither failed nor delivered.
	recordRedelivery = `WITH event AS (
			UPDATE @.events SET
				status = CASE WHEN $5 THEN 'delivered' ELSE status END,
				failure = CASE WHEN $5 OR status = 'delivered' THEN failure ELSE $7 END,
				failed_ms = CASE WHEN $5 OR status = 'delivered' THEN failed_ms ELSE $4 END
			WHERE checkout_id = $1 AND name = $2 AND id = $3 AND status IN ('failed', 'delivered')
			RETURNING id)
		INSERT INTO @.redeliveries (event_id, ` + sqlstore.Redelivery.Names() + `)
		SELECT id, ` + sqlstore.Redelivery.TypedNumbers(4) + ` FROM event`
)

// EventRecords implements [ports.Deliveries].
func (db *DB) EventRecords(ctx context.Context, f ports.EventFilter, limit int) ([]ports.EventRecord, error) {
	conditions, args := []string{`true`}, []any{limit}
	where := func(given bool, condition string, value any) {
		if given {
			args = append(args, value)
			conditions = append(conditions, fmt.Sprintf(condition, len(args)))
		}
	}
	// The index of failed events is used only where the statement names that status.
	if f.Status == events.Failed {
		conditions = append(conditions, `status = 'failed'`)
	} else {
		where(f.Status != "", `status = $%d`, string(f.Status))
	}
	where(f.ProviderCode != "", `provider_code = $%d`, f.ProviderCode)
	where(f.CheckoutID != "", `checkout_id = $%d`, f.CheckoutID)
	where(f.OrderID != "", `checkout_id IN (SELECT id FROM @.checkouts WHERE provider_order_id = $%d)`, f.OrderID)
	where(!f.Since.IsZero(), `coalesce(failed_ms, created_ms) >= $%d`, sqlstore.Millis(f.Since))
	order := ` ORDER BY seq DESC`
	if f.OldestFirst {
		order = ` ORDER BY seq`
	}
	query := eventRecords + ` WHERE ` + strings.Join(conditions, ` AND `) + order + ` LIMIT $1`
	list, err := all(ctx, db, scanColumns(sqlstore.EventRecord), query, args...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return list, nil
}

// EventRecord implements [ports.Deliveries].
func (db *DB) EventRecord(ctx context.Context, id string) (ports.EventRecord, error) {
	e, err := one(ctx, db, scanColumns(sqlstore.EventRecord), selectEvent, id)
	if err != nil {
		return e, fmt.Errorf("read event %s: %w", id, err)
	}
	return e, nil
}

// Redeliveries implements [ports.Deliveries].
func (db *DB) Redeliveries(ctx context.Context, eventID string) ([]ports.Redelivery, error) {
	list, err := all(ctx, db, scanColumns(sqlstore.Redelivery), selectRedeliveries, eventID)
	if err != nil {
		return nil, fmt.Errorf("read redeliveries of %s: %w", eventID, err)
	}
	return list, nil
}

// RecordRedelivery implements [ports.Deliveries]. If the outcome of its commit is not known and a further attempt finds a
// redelivery at the same millisecond, it takes it for its own.
func (db *DB) RecordRedelivery(ctx context.Context, e events.Event, r ports.Redelivery) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		if t.outcomeUnknown {
			stored, err := rows(ctx, t, pgx.RowTo[int64], selectRedelivery, e.ID, sqlstore.Millis(r.At))
			if err != nil || len(stored) > 0 {
				return err
			}
		}
		n, err := t.exec(ctx, recordRedelivery, sqlstore.Redelivery.Values(&r, e.CheckoutID, string(e.Name), e.ID)...)
		if err == nil && n == 0 {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record a redelivery of %s: %w", e.ID, err)
	}
	return nil
}
