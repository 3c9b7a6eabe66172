package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	// The parameters have no numbers, for which the driver would look up each one's name.
	insertCheckout = `INSERT INTO checkouts (` + column.Checkout.Names() + `) VALUES (` + column.Checkout.Marks() + `)`
	updateCheckout = `UPDATE checkouts SET (` + column.State.Names() + `) = (` + column.State.Marks() + `) WHERE id = ?`
	// SQLite writes the index entries of every column that an UPDATE names, changed or not: a page for each index.
	updateLookups = `UPDATE checkouts SET (` + column.Lookups.Names() + `) = (` + column.Lookups.Marks() + `) WHERE id = ?`

	// A checkout is read as one JSON array: to read each column as a value of its own takes twice as long.
	jsonCheckout           = `json_array(` + column.Checkout.Names() + `)`
	checkouts              = `SELECT ` + jsonCheckout + ` FROM checkouts`
	selectCheckout         = checkouts + ` WHERE id = ?`
	selectByOrder          = checkouts + ` WHERE provider_code = ? AND provider_order_id = ?`
	selectByKey            = checkouts + ` WHERE provider_code = ? AND idempotency_key = ?`
	selectByBillingRequest = checkouts + ` WHERE billing_request_id = ? AND billing_request_id <> '' ORDER BY seq LIMIT 1`
	selectByMandate        = checkouts + ` WHERE mandate_id = ? AND mandate_id <> '' ORDER BY seq LIMIT 1`
)

const (
	deleteCheckout = `DELETE FROM checkouts WHERE id = ?`
	selectDueSteps = `SELECT id FROM checkouts WHERE step_due_ms <= ? ORDER BY step_due_ms, seq LIMIT ?`
	// The index of what is due has nothing but checkouts with a step.
	selectStepBacklog = `SELECT count(*), min(step_since_ms) FROM checkouts WHERE step_due_ms IS NOT NULL`
)

const selectDue = `SELECT id FROM checkouts WHERE look_again_ms <= ? ORDER BY look_again_ms, seq LIMIT ?`

func scanCheckout(r row) (c checkout.Checkout, err error) {
	var array sql.RawBytes
	if err := r.Scan(&array); err != nil {
		return c, err
	}
	return c, readArray(array, column.Checkout, &c)
}

// InsertCheckout implements [ports.Checkouts].
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, enqueue ports.Enqueue) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		if _, err := tx.exec(ctx, insertCheckout, column.Checkout.Values(&change.Next)...); err != nil {
			return err
		}
		return tx.storeRest(ctx, change, enqueue)
	})
	if err != nil {
		return fmt.Errorf("insert checkout %s: %w", change.Next.ID, err)
	}
	return nil
}

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectCheckout, id)
	if err != nil {
		return c, fmt.Errorf("read checkout %s: %w", id, err)
	}
	return c, nil
}

// CheckoutByOrder implements [ports.Checkouts].
func (db *DB) CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectByOrder, provider, order)
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by order: %w", provider, err)
	}
	return c, nil
}

// CheckoutByKey implements [ports.Checkouts].
func (db *DB) CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectByKey, provider, key)
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by idempotency key: %w", provider, err)
	}
	return c, nil
}

// CheckoutByBillingRequest implements [ports.Checkouts].
func (db *DB) CheckoutByBillingRequest(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectByBillingRequest, id)
	if err != nil {
		return c, fmt.Errorf("read checkout by billing request %s: %w", id, err)
	}
	return c, nil
}

// CheckoutByMandate implements [ports.Checkouts].
func (db *DB) CheckoutByMandate(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectByMandate, id)
	if err != nil {
		return c, fmt.Errorf("read checkout by mandate %s: %w", id, err)
	}
	return c, nil
}

// DueSetups implements [ports.Checkouts].
func (db *DB) DueSetups(ctx context.Context, now time.Time, limit int) ([]string, error) {
	ids, err := all(ctx, &db.readers, scanValue[string], selectDue, now.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read due setups: %w", err)
	}
	return ids, nil
}

// DueSteps implements [ports.Checkouts].
func (db *DB) DueSteps(ctx context.Context, now time.Time, limit int) ([]string, error) {
	ids, err := all(ctx, &db.readers, scanValue[string], selectDueSteps, now.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("read due steps: %w", err)
	}
	return ids, nil
}

// StepBacklog implements [ports.Checkouts].
func (db *DB) StepBacklog(ctx context.Context) (waiting int, oldest time.Time, err error) {
	_, err = one(ctx, &db.readers, func(r row) (struct{}, error) {
		return struct{}{}, r.Scan(&waiting, (*column.Time)(&oldest))
	}, selectStepBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count steps: %w", err)
	}
	return waiting, oldest, nil
}

// UpdateCheckout implements [ports.Checkouts].
func (db *DB) UpdateCheckout(ctx context.Context, id string, enqueue ports.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		c, err := one(ctx, tx, scanCheckout, selectCheckout, id)
		if err != nil {
			return fmt.Errorf("read checkout %s: %w", id, err)
		}
		change, err := decide(c)
		if err != nil {
			return err
		}
		if change.Remove {
			return tx.remove(ctx, id)
		}
		change.Next.ID = id
		if err := tx.update(ctx, c, change.Next); err != nil {
			return fmt.Errorf("update checkout %s: %w", id, err)
		}
		if err := tx.storeRest(ctx, change, enqueue); err != nil {
			return fmt.Errorf("update checkout %s: %w", id, err)
		}
		return nil
	})
}

func (tx *tx) remove(ctx context.Context, id string) error {
	if err := tx.execOne(ctx, deleteCheckout, id); err != nil {
		return fmt.Errorf("remove checkout %s: %w", id, err)
	}
	return nil
}

// update stores the next state of a checkout.
func (tx *tx) update(ctx context.Context, c, next checkout.Checkout) error {
	if _, err := tx.exec(ctx, updateCheckout, append(column.State.Values(&next), next.ID)...); err != nil {
		return err
	}
	lookups := column.Lookups.Values(&next)
	if slices.Equal(lookups, column.Lookups.Values(&c)) {
		return nil
	}
	_, err := tx.exec(ctx, updateLookups, append(lookups, next.ID)...)
	return err
}

// storeRest stores what a change holds beside the checkout.
func (tx *tx) storeRest(ctx context.Context, change checkout.Change, enqueue ports.Enqueue) error {
	if change.Agreement != nil {
		if err := tx.storeAgreement(ctx, *change.Agreement); err != nil {
			return err
		}
	}
	if change.Document != nil {
		if err := tx.storeDocument(ctx, change.Next.ID, *change.Document); err != nil {
			return err
		}
	}
	if err := tx.storeEvidenceIf(ctx, change.Evidence); err != nil {
		return err
	}
	if err := tx.storeNotices(ctx, change.Notices); err != nil {
		return err
	}
	return tx.storeEvents(ctx, change.Events, enqueue)
}
