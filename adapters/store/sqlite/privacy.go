package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var updatePersonal = `UPDATE agreements SET (` + sqlstore.Personal.Names() + `) = (` + sqlstore.Personal.Marks() + `) WHERE provider_code = ? AND number = ?`

const (
	eraseJobs     = `UPDATE jobs SET reference = '', answer = '', failure = '' WHERE provider_code = ? AND checkout_id = ?`
	eraseSalt     = `UPDATE evidence SET salt = NULL WHERE id = ?`
	eraseDocument = `UPDATE documents SET bytes = x'' WHERE provider_code = ? AND agreement_number = ?`
)

// EraseCheckouts implements [ports.Privacy].
func (db *DB) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		var found []checkout.Checkout
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			switch c, err := dialect.Checkout(ctx, tx, id); {
			case err == nil:
				found = append(found, c)
			case !errors.Is(err, ports.ErrNotFound):
				return err
			}
		}
		erasure, err := decide(found)
		if err != nil {
			return err
		}
		if err := tx.storeEvidence(ctx, erasure.Entry); err != nil { // first, because it is what may be refused
			return err
		}
		for _, next := range erasure.Next {
			if err := tx.erase(ctx, next, erasure.Moment); err != nil {
				return fmt.Errorf("erase checkout %s: %w", next.ID, err)
			}
		}
		for _, number := range erasure.Unsalted {
			if _, err := tx.exec(ctx, eraseSalt, evidence.AgreementID(number)); err != nil {
				return fmt.Errorf("erase the salt of agreement %s: %w", number, err)
			}
		}
		return nil
	})
}

// erase stores a checkout that was erased, with what belongs to it.
func (tx *tx) erase(ctx context.Context, next checkout.Checkout, m checkout.Moment) error {
	for _, columns := range []struct {
		update string
		values []any
	}{{updateCheckout, sqlstore.State.Values(&next)}, {updateLookups, sqlstore.Lookups.Values(&next)}} {
		if err := tx.execOne(ctx, columns.update, append(columns.values, next.ProviderCode, next.ID)...); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx, eraseJobs, next.ProviderCode, next.ID); err != nil {
		return fmt.Errorf("erase its jobs: %w", err)
	}
	if err := tx.note(ctx, next.ProviderCode, next.ID, []checkout.Moment{m}); err != nil {
		return err
	}
	a, err := one(ctx, tx, sqlstore.Scan(sqlstore.Agreement), sqlstore.SelectAgreementOf, next.ProviderCode, next.ID)
	if errors.Is(err, ports.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read its agreement: %w", err)
	}
	a = a.Erased()
	if err := tx.execOne(ctx, updatePersonal, append(sqlstore.Personal.Values(&a), next.ProviderCode, a.Number)...); err != nil {
		return err
	}
	_, err = tx.exec(ctx, eraseDocument, next.ProviderCode, a.Number)
	return err
}

// scrubTimeout bounds the time that Scrub waits for a lock of another process. SQLite's own wait does not end with a context.
const scrubTimeout = 10 * time.Second

// Scrub implements [ports.Privacy]. It writes the file anew, and empties the log. What was deleted is overwritten when it
// is deleted; but SQLite leaves bytes behind where it moves rows between pages.
func (db *DB) Scrub(ctx context.Context) error {
	conn, err := openDB(db.writer.place, "rw", fmt.Sprintf("busy_timeout(%d)", scrubTimeout.Milliseconds()),
		"secure_delete(ON)", "synchronous(FULL)", "trusted_schema(OFF)")
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetMaxOpenConns(1)
	if _, err := conn.ExecContext(ctx, `VACUUM`); err != nil {
		return fmt.Errorf("write the file anew: %w", mapError(err))
	}
	var busy, pages, copied int
	err = conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &copied)
	if is(err, sqlite3.SQLITE_BUSY) || err == nil && busy != 0 {
		return fmt.Errorf("empty the log: another process reads: %w", ports.ErrBusy)
	}
	if err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	return db.writer.place.check()
}
