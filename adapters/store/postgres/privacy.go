package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var updatePersonal = `UPDATE @.agreements SET (` + sqlstore.Personal.Names() + `) = (` + sqlstore.Personal.Numbers(2) + `) WHERE number = $1`

const (
	// In collation C only the letters A to Z have another case.
	selectStudent = `SELECT id, seq FROM @.checkouts
		WHERE seq > $1 AND lower(email COLLATE "C") = lower($3::text COLLATE "C") AND email <> '' ORDER BY seq LIMIT $2`
	// The entry of an agreement is looked up for those that are erased only.
	selectOld = `SELECT seq, id, coalesce(created_ms < CASE status WHEN 'confirmed' THEN $1::bigint ELSE $2::bigint END, FALSE) AND (erased_ms IS NULL OR
			status = 'confirmed' AND EXISTS (SELECT 1 FROM @.evidence AS e WHERE e.id = '` + evidence.AgreementPrefix + `' || agreement_number AND length(e.salt) > 0))
		FROM @.checkouts WHERE seq > $3 ORDER BY seq LIMIT $4`
	lockCheckouts = `SELECT count(*) FROM (SELECT id FROM @.checkouts WHERE id = ANY ($1) ORDER BY id FOR UPDATE) AS locked`
	eraseDocument = `UPDATE @.documents SET bytes = '' WHERE agreement_number = $1`
	eraseSalt     = `UPDATE @.evidence SET salt = NULL WHERE id = $1`
	vacuum        = `VACUUM @.checkouts, @.agreements, @.documents, @.evidence, @.notices, @.sandbox_records`
)

// ExportStudent implements [ports.Privacy].
func (db *DB) ExportStudent(ctx context.Context, email string, visit ports.Visitor) error {
	return db.inSnapshot(ctx, func(s snapshot) error { return s.eachPage(ctx, visit, selectStudent, email) })
}

// OldCheckouts implements [ports.Privacy].
func (db *DB) OldCheckouts(ctx context.Context, from int64, limit int, confirmed, open time.Time) (ids []string, next int64, err error) {
	page, err := all(ctx, db, func(r pgx.CollectableRow) (o sqlstore.Old, err error) {
		err = r.Scan(&o.Seq, &o.ID, &o.Wanted)
		return o, err
	}, selectOld, confirmed.UnixMilli(), open.UnixMilli(), from, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("read old checkouts: %w", err)
	}
	ids, next = sqlstore.Wanted(page, limit)
	return ids, next, nil
}

// EraseCheckouts implements [ports.Privacy]. If the outcome of an attempt is not known, a further one finds the entry of the
// evidence log that it stored.
func (db *DB) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	var refusal error
	var erasure checkout.Erasure // of the latest attempt
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		var locked int
		if err := t.begin(ctx, func(r pgx.Row) error { return r.Scan(&locked) }, lockCheckouts, ids); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if t.outcomeUnknown {
			stored, err := rows(ctx, t, scanColumns(sqlstore.Entry), selectEntry, erasure.Entry.ID)
			if err != nil || len(stored) == 1 {
				return err
			}
		}
		found, err := rows(ctx, t, scanCheckout, selectCheckouts, ids)
		if err != nil {
			return err
		}
		agreements, err := rows(ctx, t, scanColumns(sqlstore.Agreement), selectAgreements, ids)
		if err != nil {
			return fmt.Errorf("read agreements: %w", err)
		}
		if erasure, refusal = decide(found); refusal != nil {
			return nil // nothing was written, and the transaction is rolled back
		}
		b := t.batch()
		b.queue(insertEvidence, sqlstore.Entry.Values(&erasure.Entry)...)
		erased := make(map[string]bool, len(erasure.Next))
		for _, next := range erasure.Next {
			b.queue(updateCheckout, changing.Values(&next, next.ID)...)
			b.queue(eraseNotices, next.ID)
			erased[next.ID] = true
		}
		for _, a := range agreements {
			if erased[a.CheckoutID] {
				a = a.Erased()
				b.queue(updatePersonal, sqlstore.Personal.Values(&a, a.Number)...)
				b.queue(eraseDocument, a.Number)
			}
		}
		for _, number := range erasure.Unsalted {
			b.queue(eraseSalt, evidence.AgreementID(number))
		}
		return t.commit(ctx, b)
	})
	switch {
	case err != nil:
		return fmt.Errorf("erase %d checkouts: %w", len(ids), err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// Scrub implements [ports.Privacy]. It vacuums the tables, so that no query and no dump sees the rows as they were. Their bytes may
// stay in free space of the tables' files until that is used again, and in the server's log of writes: see cmd/provider-checkout/docs/privacy.md.
func (db *DB) Scrub(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, db.schema.qualify(vacuum)); err != nil {
		return fmt.Errorf("vacuum: %w", mapError(err))
	}
	return nil
}
