package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	// The parameters have no numbers, for which the driver would look up each one's name.
	insertCheckout = `INSERT INTO checkouts (` + sqlstore.Checkout.Names() + `) VALUES (` + sqlstore.Checkout.Marks() + `)`
	updateCheckout = `UPDATE checkouts SET (` + sqlstore.State.Names() + `) = (` + sqlstore.State.Marks() + `) WHERE provider_code = ? AND id = ?`
	// SQLite writes the index entries of every column that an UPDATE names, changed or not: a page for each index.
	updateLookups = `UPDATE checkouts SET (` + sqlstore.Lookups.Names() + `) = (` + sqlstore.Lookups.Marks() + `) WHERE provider_code = ? AND id = ?`

	insertAgreement = `INSERT INTO agreements (` + sqlstore.Agreement.Names() + `) VALUES (` + sqlstore.Agreement.Marks() + `)`
)

const insertDocument = `INSERT INTO documents (provider_code, agreement_number, id, sha256, bytes)
	SELECT provider_code, number, ?, ?, ? FROM agreements WHERE provider_code = ? AND checkout_id = ?`

// removeCheckout removes a checkout and what belongs to it.
var removeCheckout = []string{
	`DELETE FROM redeliveries WHERE provider_code = ?1 AND event_id IN (SELECT id FROM jobs WHERE provider_code = ?1 AND checkout_id = ?2)`,
	`DELETE FROM jobs WHERE provider_code = ? AND checkout_id = ?`,
	`DELETE FROM moments WHERE provider_code = ? AND checkout_id = ?`,
	`DELETE FROM checkouts WHERE provider_code = ? AND id = ?`,
}

// InsertCheckout implements [ports.Checkouts].
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, enqueue checkout.Enqueue) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, insertCheckout, sqlstore.Checkout.Values(&change.Next)...)
		if isCode(err, sqlite3.SQLITE_CONSTRAINT_TRIGGER) {
			return fmt.Errorf("%w: %w", ports.ErrDuplicate, err)
		}
		if err != nil {
			return err
		}
		return tx.storeRest(ctx, change, enqueue, true)
	})
	if err != nil {
		return fmt.Errorf("insert checkout %s: %w", change.Next.ID, err)
	}
	return nil
}

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return dialect.Checkout(ctx, db.readers, id)
}

// FindCheckout implements [ports.Checkouts].
func (db *DB) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	return dialect.FindCheckout(ctx, db.readers, by)
}

// UpdateCheckout implements [ports.Checkouts].
func (db *DB) UpdateCheckout(ctx context.Context, id string, enqueue checkout.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		_, err := tx.update(ctx, id, enqueue, decide)
		return err
	})
}

// update stores the change that decide makes of a checkout. It reports whether the change removed the checkout.
func (tx *tx) update(ctx context.Context, id string, enqueue checkout.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) (removed bool, err error) {
	c, err := dialect.Checkout(ctx, tx, id)
	if err != nil {
		return false, err
	}
	change, err := decide(c)
	if err != nil {
		return false, err
	}
	next := &change.Next
	next.ID, next.ProviderCode, next.OrderID, next.IdempotencyKey = c.ID, c.ProviderCode, c.OrderID, c.IdempotencyKey
	if change.Remove {
		err = tx.remove(ctx, c)
	} else if err = tx.store(ctx, c, *next); err == nil {
		err = tx.storeRest(ctx, change, enqueue, false)
	}
	if err != nil {
		return false, fmt.Errorf("update checkout %s: %w", id, err)
	}
	return change.Remove, nil
}

func (tx *tx) remove(ctx context.Context, c checkout.Checkout) error {
	for _, statement := range removeCheckout {
		if _, err := tx.exec(ctx, statement, c.ProviderCode, c.ID); err != nil {
			return err
		}
	}
	return nil
}

// store stores the next state of a checkout.
func (tx *tx) store(ctx context.Context, c, next checkout.Checkout) error {
	if _, err := tx.exec(ctx, updateCheckout, append(sqlstore.State.Values(&next), next.ProviderCode, next.ID)...); err != nil {
		return err
	}
	lookups := sqlstore.Lookups.Values(&next)
	if slices.Equal(lookups, sqlstore.Lookups.Values(&c)) {
		return nil
	}
	_, err := tx.exec(ctx, updateLookups, append(lookups, next.ProviderCode, next.ID)...)
	return err
}

// storeRest stores what a change holds beside the checkout.
func (tx *tx) storeRest(ctx context.Context, change checkout.Change, enqueue checkout.Enqueue, isNew bool) error {
	if change.Agreement != nil {
		if _, err := tx.exec(ctx, insertAgreement, sqlstore.Agreement.Values(change.Agreement)...); err != nil {
			return fmt.Errorf("insert agreement %s: %w", change.Agreement.Number, err)
		}
	}
	if change.Document != nil {
		if err := tx.storeDocument(ctx, change.Next, *change.Document); err != nil {
			return fmt.Errorf("insert document %s: %w", change.Document.ID, err)
		}
	}
	if err := tx.storeEvidenceIf(ctx, change.Evidence); err != nil {
		return err
	}
	if err := tx.enter(ctx, change, enqueue, isNew); err != nil {
		return err
	}
	return tx.note(ctx, change.Next.ProviderCode, change.Next.ID, change.Moments)
}

// storeDocument stores the document of the checkout's agreement.
func (tx *tx) storeDocument(ctx context.Context, c checkout.Checkout, d agreement.Document) error {
	err := tx.execOne(ctx, insertDocument, d.ID, d.SHA256[:], d.Bytes, c.ProviderCode, c.ID)
	if errors.Is(err, ports.ErrNotFound) {
		return errors.New("the checkout has no agreement")
	}
	return err
}
