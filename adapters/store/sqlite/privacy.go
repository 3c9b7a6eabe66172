package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	selectStudent  = `SELECT id, ` + jsonCheckout + ` FROM checkouts WHERE lower(email) = lower(?) AND email <> '' ORDER BY seq`
	updatePersonal = `UPDATE agreements SET (` + column.Personal.Names() + `) = (` + column.Personal.Marks() + `) WHERE number = ?`
)

const (
	// The entry of an agreement is looked up for those that are erased only.
	selectOld = `SELECT seq, id, coalesce(created_ms < iif(status = 'confirmed', ?, ?), FALSE) AND (erased_ms IS NULL OR
			status = 'confirmed' AND EXISTS (SELECT 1 FROM evidence AS e WHERE e.id = '` + evidence.AgreementPrefix + `' || agreement_number AND length(e.salt) > 0))
		FROM checkouts WHERE seq > ? ORDER BY seq LIMIT ?`
	eraseSalt     = `UPDATE evidence SET salt = NULL WHERE id = ?`
	eraseDocument = `UPDATE documents SET bytes = x'' WHERE agreement_number = ?`
)

// ExportStudent implements [ports.Privacy].
func (db *DB) ExportStudent(ctx context.Context, email string, visit ports.Visitor) error {
	return db.inSnapshot(ctx, func(s snapshot) error {
		return each(ctx, s, scanExported, func(e exported) error { return s.visit(ctx, e, visit) }, selectStudent, email)
	})
}

func scanOld(r row) (o column.Old, err error) {
	err = r.Scan(&o.Seq, &o.ID, &o.Wanted)
	return o, err
}

// OldCheckouts implements [ports.Privacy].
func (db *DB) OldCheckouts(ctx context.Context, from int64, limit int, confirmed, open time.Time) (ids []string, next int64, err error) {
	page, err := all(ctx, &db.readers, scanOld, selectOld, confirmed.UnixMilli(), open.UnixMilli(), from, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("read old checkouts: %w", err)
	}
	ids, next = column.Wanted(page, limit)
	return ids, next, nil
}

// EraseCheckouts implements [ports.Privacy].
func (db *DB) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		var found []checkout.Checkout
		for _, id := range ids {
			list, err := all(ctx, tx, scanCheckout, selectCheckout, id)
			if err != nil {
				return fmt.Errorf("read checkout %s: %w", id, err)
			}
			found = append(found, list...)
		}
		erasure, err := decide(found)
		if err != nil {
			return err
		}
		if err := tx.storeEvidence(ctx, erasure.Entry); err != nil { // first, because it is what may be refused
			return err
		}
		for _, next := range erasure.Next {
			if err := tx.erase(ctx, next); err != nil {
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
func (tx *tx) erase(ctx context.Context, next checkout.Checkout) error {
	for _, columns := range []struct {
		update string
		values []any
	}{{updateCheckout, column.State.Values(&next)}, {updateLookups, column.Lookups.Values(&next)}} {
		if err := tx.execOne(ctx, columns.update, append(columns.values, next.ID)...); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx, eraseNotices, next.ID); err != nil {
		return fmt.Errorf("erase its notices: %w", err)
	}
	a, err := one(ctx, tx, scanColumns(column.Agreement), selectAgreementOfCheckout, next.ID)
	if errors.Is(err, ports.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read its agreement: %w", err)
	}
	a = a.Erased()
	if err := tx.execOne(ctx, updatePersonal, append(column.Personal.Values(&a), a.Number)...); err != nil {
		return err
	}
	_, err = tx.exec(ctx, eraseDocument, a.Number)
	return err
}

// scrubTimeout is how long Scrub waits for a lock of another process. SQLite's own wait does not end with a context.
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
