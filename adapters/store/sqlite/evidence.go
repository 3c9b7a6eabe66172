package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

var (
	insertEvidence = `INSERT INTO evidence (` + column.Entry.Names() + `) VALUES (` + column.Entry.Marks() + `)`
	selectEvidence = `SELECT ` + column.Entry.Names() + `, position FROM evidence WHERE id = ?`
	selectUnsealed = `SELECT ` + column.Entry.Names() + ` FROM evidence WHERE position IS NULL ORDER BY recorded_ms, seq LIMIT ?`
	selectSealed   = `SELECT ` + column.Entry.Names() + ` FROM evidence WHERE position >= ? ORDER BY position LIMIT ?`
	selectHead     = `SELECT ` + column.Head.Names() + ` FROM evidence_head`
	updateHead     = `UPDATE evidence_head SET (` + column.Head.Names() + `) = (` + column.Head.Marks() + `)`
)

const (
	placeEvidence = `UPDATE evidence SET position = ?, nodes = ? WHERE id = ? AND position IS NULL`
	// It is read from the index of what is not sealed alone.
	selectEvidenceBacklog = `SELECT count(*), min(recorded_ms) FROM evidence WHERE position IS NULL`
	selectNodes           = `SELECT nodes FROM evidence WHERE position = ?`
)

// positioned is an entry with its position.
type positioned struct {
	evidence.Entry
	position int64
}

func scanPositioned(r row) (p positioned, err error) {
	var position sql.NullInt64
	err = r.Scan(append(column.Entry.Destinations(&p.Entry), &position)...)
	if p.position = evidence.Unsealed; position.Valid {
		p.position = position.Int64
	}
	return p, err
}

func scanNodes(r row) (nodes []evidence.Hash, err error) {
	err = r.Scan((*column.Hashes)(&nodes))
	return nodes, err
}

func (tx *tx) storeEvidence(ctx context.Context, e evidence.Entry) error {
	if _, err := tx.exec(ctx, insertEvidence, column.Entry.Values(&e)...); err != nil {
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

// RecordEvidence implements [ports.Evidence].
func (db *DB) RecordEvidence(ctx context.Context, e evidence.Entry) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error { return tx.storeEvidence(ctx, e) })
}

// SealEvidence implements [ports.Evidence].
func (db *DB) SealEvidence(ctx context.Context, limit int,
	decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		head, err := one(ctx, tx, scanColumns(column.Head), selectHead)
		if err != nil {
			return fmt.Errorf("read the head of the evidence log: %w", err)
		}
		entries, err := all(ctx, tx, scanColumns(column.Entry), selectUnsealed, limit)
		if err != nil {
			return fmt.Errorf("read unsealed evidence: %w", err)
		}
		sealing, err := decide(head, entries)
		if err != nil {
			return err
		}
		for _, p := range sealing.Places {
			if err := tx.execOne(ctx, placeEvidence, column.PlaceValues(p)...); err != nil {
				return fmt.Errorf("seal evidence %s: %w", p.ID, err)
			}
		}
		if _, err := tx.exec(ctx, updateHead, column.Head.Values(&sealing.Head)...); err != nil {
			return fmt.Errorf("write the head of the evidence log: %w", err)
		}
		return nil
	})
}

// EvidenceHead implements [ports.Evidence].
func (db *DB) EvidenceHead(ctx context.Context) (evidence.Head, error) {
	head, err := one(ctx, &db.readers, scanColumns(column.Head), selectHead)
	if err != nil {
		return head, fmt.Errorf("read the head of the evidence log: %w", err)
	}
	return head, nil
}

// EvidenceEntry implements [ports.Evidence].
func (db *DB) EvidenceEntry(ctx context.Context, id string) (evidence.Entry, int64, error) {
	p, err := one(ctx, &db.readers, scanPositioned, selectEvidence, id)
	if err != nil {
		return p.Entry, evidence.Unsealed, fmt.Errorf("read evidence %s: %w", id, err)
	}
	return p.Entry, p.position, nil
}

// SealedEvidence implements [ports.Evidence].
func (db *DB) SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error) {
	entries, err := all(ctx, &db.readers, scanColumns(column.Entry), selectSealed, from, limit)
	if err != nil {
		return nil, fmt.Errorf("read sealed evidence from %d: %w", from, err)
	}
	return entries, nil
}

// UnsealedEvidence implements [ports.Evidence].
func (db *DB) UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error) {
	entries, err := all(ctx, &db.readers, scanColumns(column.Entry), selectUnsealed, limit)
	if err != nil {
		return nil, fmt.Errorf("read unsealed evidence: %w", err)
	}
	return entries, nil
}

// EvidenceBacklog implements [ports.Evidence].
func (db *DB) EvidenceBacklog(ctx context.Context) (unsealed int, oldest time.Time, err error) {
	b, err := one(ctx, &db.readers, scanBacklog, selectEvidenceBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count unsealed evidence: %w", err)
	}
	return b.pending, b.oldest, nil
}

// EvidenceNodes implements [ports.Evidence].
func (db *DB) EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error) {
	nodes := make([][]evidence.Hash, len(positions))
	for i, position := range positions {
		found, err := all(ctx, &db.readers, scanNodes, selectNodes, position)
		if err != nil {
			return nil, fmt.Errorf("read nodes of evidence %d: %w", position, err)
		}
		if len(found) > 0 {
			nodes[i] = found[0]
		}
	}
	return nodes, nil
}
