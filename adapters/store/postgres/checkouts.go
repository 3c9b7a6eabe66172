package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	// A replay that inserts its order again is no error, and leaves no dead row.
	insertCheckout = `INSERT INTO @.checkouts (` + sqlstore.Checkout.Names() + `)
		VALUES (` + sqlstore.Checkout.Numbers(1) + `)
		ON CONFLICT (provider_code, provider_order_id) DO NOTHING`
	updateCheckout = `UPDATE @.checkouts SET (` + changing.Names() + `) = (` + changing.Numbers(2) + `) WHERE id = $1`

	checkouts      = `SELECT ` + sqlstore.Checkout.Names() + ` FROM @.checkouts`
	selectCheckout = checkouts + ` WHERE id = $1`
	lockCheckout   = selectCheckout + ` FOR UPDATE`
	selectByOrder  = checkouts + ` WHERE provider_code = $1 AND provider_order_id = $2`
	selectByKey    = checkouts + ` WHERE provider_code = $1 AND idempotency_key = $2`

	selectByBillingRequest = checkouts + ` WHERE billing_request_id = $1 AND billing_request_id <> '' ORDER BY seq LIMIT 1`
	selectByMandate        = checkouts + ` WHERE mandate_id = $1 AND mandate_id <> '' ORDER BY seq LIMIT 1`

	changing     = slices.Concat(sqlstore.State, sqlstore.Lookups)
	scanCheckout = scanColumns(sqlstore.Checkout)
)

const (
	deleteCheckout = `DELETE FROM @.checkouts WHERE id = $1`
	selectDueSteps = `SELECT id FROM @.checkouts WHERE step_due_ms <= $1 ORDER BY step_due_ms, seq LIMIT $2`
	// The index of what is due has nothing but checkouts with a step.
	selectStepBacklog = `SELECT count(*), min(step_since_ms) FROM @.checkouts WHERE step_due_ms IS NOT NULL`

	selectDue = `SELECT id FROM @.checkouts WHERE look_again_ms <= $1 ORDER BY look_again_ms, seq LIMIT $2`
)

// InsertCheckout implements [ports.Checkouts]. It is one round trip and one commit.
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, enqueue ports.Enqueue) error {
	c := change.Next
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		var taken error
		b := t.batch()
		b.queue(insertCheckout, sqlstore.Checkout.Values(&c)...).Exec(func(stored pgconn.CommandTag) error {
			if stored.RowsAffected() == 0 {
				taken = fmt.Errorf("%w: the order is taken", ports.ErrDuplicate)
			}
			return nil
		})
		b.queueAgreement(change)
		for i, e := range change.Events {
			b.queue(insertEvent, sqlstore.Event.Values(&e, c.ID, string(enqueue.Status), sqlstore.Millis(enqueue.Until), i+1)...)
		}
		err := t.commit(ctx, b)
		if t.outcomeUnknown && (taken != nil || is(err, uniqueViolation)) {
			if done, err := t.inserted(ctx, c); done || err != nil {
				return err
			}
		}
		return cmp.Or(taken, err)
	})
	if err != nil {
		return fmt.Errorf("insert checkout %s: %w", c.ID, err)
	}
	return nil
}

// inserted reports whether it was an earlier attempt that stored what this one finds taken.
func (t *attempt) inserted(ctx context.Context, c checkout.Checkout) (bool, error) {
	list, err := rows(ctx, t, scanCheckout, selectCheckout, c.ID)
	if err != nil || len(list) == 0 {
		return false, err
	}
	return list[0].RequestID == c.RequestID && list[0].ProviderCode == c.ProviderCode && list[0].OrderID == c.OrderID, nil
}

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectCheckout, id)
	if err == nil && c.Status == checkout.Confirmed {
		err = db.prove(ctx, c)
	}
	if err != nil {
		return c, fmt.Errorf("read checkout %s: %w", id, err)
	}
	return c, nil
}

// CheckoutByOrder implements [ports.Checkouts].
func (db *DB) CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectByOrder, provider, order)
	if err == nil {
		err = db.prove(ctx, c)
	}
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by order: %w", provider, err)
	}
	return c, nil
}

// CheckoutByKey implements [ports.Checkouts].
func (db *DB) CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectByKey, provider, key)
	if err == nil {
		err = db.prove(ctx, c)
	}
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by idempotency key: %w", provider, err)
	}
	return c, nil
}

// prove returns nil if the checkout, as it was read, is where the server's operator demands it. A repeated create or confirm
// is answered from it, which acknowledges what it repeats.
func (db *DB) prove(ctx context.Context, c checkout.Checkout) error {
	if !db.serving {
		return nil
	}
	return db.do(ctx, func(ctx context.Context, t *attempt) error { return t.prove(ctx, proveCheckout, c.ID) })
}

// proveAnswer does the same within an attempt, if the checkout is confirmed: only then is a request that is refused answered
// from it.
func (t *attempt) proveAnswer(ctx context.Context, c checkout.Checkout) error {
	if !t.db.serving || c.Status != checkout.Confirmed {
		return nil
	}
	return t.prove(ctx, proveCheckout, c.ID)
}

// CheckoutByBillingRequest implements [ports.Checkouts].
func (db *DB) CheckoutByBillingRequest(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectByBillingRequest, id)
	if err != nil {
		return c, fmt.Errorf("read checkout by billing request %s: %w", id, err)
	}
	return c, nil
}

// CheckoutByMandate implements [ports.Checkouts].
func (db *DB) CheckoutByMandate(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectByMandate, id)
	if err != nil {
		return c, fmt.Errorf("read checkout by mandate %s: %w", id, err)
	}
	return c, nil
}

// DueSetups implements [ports.Checkouts].
func (db *DB) DueSetups(ctx context.Context, now time.Time, limit int) ([]string, error) {
	ids, err := all(ctx, db, pgx.RowTo[string], selectDue, now.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read due setups: %w", err)
	}
	return ids, nil
}

// DueSteps implements [ports.Checkouts].
func (db *DB) DueSteps(ctx context.Context, now time.Time, limit int) ([]string, error) {
	ids, err := all(ctx, db, pgx.RowTo[string], selectDueSteps, now.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read due steps: %w", err)
	}
	return ids, nil
}

// StepBacklog implements [ports.Checkouts].
func (db *DB) StepBacklog(ctx context.Context) (waiting int, oldest time.Time, err error) {
	_, err = one(ctx, db, func(r pgx.CollectableRow) (struct{}, error) {
		return struct{}{}, r.Scan(&waiting, (*sqlstore.Time)(&oldest))
	}, selectStepBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count steps: %w", err)
	}
	return waiting, oldest, nil
}

// UpdateCheckout implements [ports.Checkouts]. It takes two round trips: one locks the row, the other writes and
// commits.
func (db *DB) UpdateCheckout(ctx context.Context, id string, enqueue ports.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var refusal error
	var change checkout.Change // of the latest attempt
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		var c checkout.Checkout
		err := t.begin(ctx, func(r pgx.Row) error { return r.Scan(sqlstore.Checkout.Destinations(&c)...) }, lockCheckout, id)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if t.outcomeUnknown {
			if done, err := t.updated(ctx, c, change); done || err != nil {
				return err
			}
		}
		if change, refusal = decide(c); refusal != nil {
			t.rollback(ctx) // nothing was written
			return t.proveAnswer(ctx, c)
		}
		change.Next.ID, change.Next.ProviderCode = c.ID, c.ProviderCode
		change.Next.OrderID, change.Next.IdempotencyKey = c.OrderID, c.IdempotencyKey
		b := t.batch()
		if change.Remove {
			b.queue(deleteCheckout, id)
			return t.commit(ctx, b)
		}
		b.queue(updateCheckout, changing.Values(&change.Next, id)...)
		b.queueAgreement(change)
		for _, e := range change.Events {
			b.queue(appendEvent, sqlstore.Event.Values(&e, id, string(enqueue.Status), sqlstore.Millis(enqueue.Until))...)
		}
		b.queueNotices(change.Notices)
		return t.commit(ctx, b)
	})
	switch {
	case err != nil:
		return fmt.Errorf("update checkout %s: %w", id, err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// updated reports whether an earlier attempt was committed, given the checkout as it is now, locked, and what that
// attempt wanted: its agreement is on record, or else the checkout is just as it wanted.
func (t *attempt) updated(ctx context.Context, c checkout.Checkout, wanted checkout.Change) (bool, error) {
	if wanted.Agreement == nil {
		return slices.Equal(sqlstore.Checkout.Values(&c), sqlstore.Checkout.Values(&wanted.Next)), nil
	}
	list, err := rows(ctx, t, scanColumns(sqlstore.Agreement), selectAgreement, wanted.Agreement.Number)
	return err == nil && len(list) == 1 && list[0].CheckoutID == c.ID, err
}
