package sqlite

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

var (
	insertEvidence = `INSERT INTO evidence (` + sqlstore.Entry.Names() + `) VALUES (` + sqlstore.Entry.Marks() + `)`
	updateHead     = `UPDATE evidence_head SET (` + sqlstore.Head.Names() + `) = (` + sqlstore.Head.Marks() + `)`
)

const placeEvidence = `UPDATE evidence SET position = ?, nodes = ? WHERE id = ? AND position IS NULL`

func (tx *tx) storeEvidence(ctx context.Context, e evidence.Entry) error {
	if _, err := tx.exec(ctx, insertEvidence, sqlstore.Entry.Values(&e)...); err != nil {
		return fmt.Errorf("insert evidence %s: %w", e.ID, err)
	}
	return nil
}

// storeEvidenceIf stores the entry, if there is one.
func (tx *tx) storeEvidenceIf(ctx context.Context, e *evidence.Entry) error {
	if e == nil {
		return nil
	}
	return tx.storeEvidence(ctx, *e)
}

// RecordEvidence implements [ports.Operations].
func (db *DB) RecordEvidence(ctx context.Context, e evidence.Entry) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error { return tx.storeEvidence(ctx, e) })
}

// SealEvidence implements [ports.Evidence].
func (db *DB) SealEvidence(ctx context.Context, limit int,
	decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		head, err := one(ctx, tx, sqlstore.Scan(sqlstore.Head), sqlstore.SelectHead)
		if err != nil {
			return fmt.Errorf("read the head of the evidence log: %w", err)
		}
		entries, err := all(ctx, tx, sqlstore.Scan(sqlstore.Entry), sqlstore.SelectUnsealed, limit)
		if err != nil {
			return fmt.Errorf("read unsealed evidence: %w", err)
		}
		sealing, err := decide(head, entries)
		if err != nil {
			return err
		}
		for _, p := range sealing.Places {
			if err := tx.execOne(ctx, placeEvidence, sqlstore.PlaceValues(p)...); err != nil {
				return fmt.Errorf("seal evidence %s: %w", p.ID, err)
			}
		}
		if _, err := tx.exec(ctx, updateHead, sqlstore.Head.Values(&sealing.Head)...); err != nil {
			return fmt.Errorf("write the head of the evidence log: %w", err)
		}
		return nil
	})
}
