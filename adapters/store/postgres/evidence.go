package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertEvidence = `INSERT INTO @.evidence (` + sqlstore.Entry.Names() + `) VALUES (` + sqlstore.Entry.Numbers(1) + `)`
	selectEvidence = `SELECT ` + sqlstore.Entry.Names() + `, position FROM @.evidence WHERE id = $1`
	selectEntry    = `SELECT ` + sqlstore.Entry.Names() + ` FROM @.evidence WHERE id = $1`
	selectUnsealed = `SELECT ` + sqlstore.Entry.Names() + ` FROM @.evidence WHERE position IS NULL ORDER BY recorded_ms, id LIMIT $1`
	selectSealed   = `SELECT ` + sqlstore.Entry.Names() + ` FROM @.evidence WHERE position >= $1 ORDER BY position LIMIT $2`
	selectHead     = `SELECT ` + sqlstore.Head.Names() + ` FROM @.evidence_head`
	lockHead       = selectHead + ` FOR UPDATE`
	updateHead     = `UPDATE @.evidence_head SET (` + sqlstore.Head.Names() + `) = (` + sqlstore.Head.Numbers(1) + `)`
)

const (
	placeEvidence = `UPDATE @.evidence SET position = $1, nodes = $2 WHERE id = $3 AND position IS NULL`
	// It is read from the index of what is not sealed alone.
	selectEvidenceBacklog = `SELECT count(*), min(recorded_ms) FROM @.evidence WHERE position IS NULL`
	selectNodes           = `SELECT position, nodes FROM @.evidence WHERE position = ANY ($1)`
)

// queueEvidence adds what stores the entry, if there is one.
func (b *batch) queueEvidence(e *evidence.Entry) {
	if e != nil {
		b.queue(insertEvidence, sqlstore.Entry.Values(e)...)
	}
}

// RecordEvidence implements [ports.Evidence]. If the outcome of an attempt is not known, a further one finds the entry
// by its content.
func (db *DB) RecordEvidence(ctx context.Context, e evidence.Entry) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		_, err := t.exec(ctx, insertEvidence, sqlstore.Entry.Values(&e)...)
		if t.outcomeUnknown && is(err, uniqueViolation) {
			found, readErr := rows(ctx, t, scanColumns(sqlstore.Entry), selectEntry, e.ID)
			if readErr != nil || len(found) == 1 && string(found[0].Attested()) == string(e.Attested()) {
				return readErr
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record evidence %s: %w", e.ID, err)
	}
	return nil
}

// SealEvidence implements [ports.Evidence].
func (db *DB) SealEvidence(ctx context.Context, limit int,
	decide func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	var refusal error
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		var head evidence.Head
		err := t.begin(ctx, func(r pgx.Row) error { return r.Scan(sqlstore.Head.Destinations(&head)...) }, lockHead)
		if err != nil {
			return fmt.Errorf("lock the head: %w", err)
		}
		entries, err := rows(ctx, t, scanColumns(sqlstore.Entry), selectUnsealed, limit)
		if err != nil {
			return err
		}
		var sealing evidence.Sealing
		if sealing, refusal = decide(head, entries); refusal != nil {
			return nil // nothing was written, and the transaction is rolled back
		}
		b := t.batch()
		waiting := make(map[string]bool, len(entries))
		for _, e := range entries {
			waiting[e.ID] = true
		}
		for _, p := range sealing.Places { // only a sealer places entries, and this one holds the head
			if !waiting[p.ID] {
				return fmt.Errorf("%s does not wait: %w", p.ID, ports.ErrNotFound)
			}
			b.queue(placeEvidence, sqlstore.PlaceValues(p)...)
		}
		b.queue(updateHead, sqlstore.Head.Values(&sealing.Head)...)
		return t.commit(ctx, b)
	})
	switch {
	case err != nil:
		return fmt.Errorf("seal evidence: %w", err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// EvidenceHead implements [ports.Evidence].
func (db *DB) EvidenceHead(ctx context.Context) (evidence.Head, error) {
	head, err := one(ctx, db, scanColumns(sqlstore.Head), selectHead)
	if err != nil {
		return head, fmt.Errorf("read the head of the evidence log: %w", err)
	}
	return head, nil
}

// placed is an entry with its position.
type placed struct {
	evidence.Entry
	position *int64
}

// EvidenceEntry implements [ports.Evidence].
func (db *DB) EvidenceEntry(ctx context.Context, id string) (evidence.Entry, int64, error) {
	found, err := one(ctx, db, func(r pgx.CollectableRow) (p placed, err error) {
		err = r.Scan(append(sqlstore.Entry.Destinations(&p.Entry), &p.position)...)
		return p, err
	}, selectEvidence, id)
	switch {
	case err != nil:
		return found.Entry, evidence.Unsealed, fmt.Errorf("read evidence %s: %w", id, err)
	case found.position == nil:
		return found.Entry, evidence.Unsealed, nil
	}
	return found.Entry, *found.position, nil
}

// SealedEvidence implements [ports.Evidence].
func (db *DB) SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error) {
	entries, err := all(ctx, db, scanColumns(sqlstore.Entry), selectSealed, from, limit)
	if err != nil {
		return nil, fmt.Errorf("read sealed evidence from %d: %w", from, err)
	}
	return entries, nil
}

// UnsealedEvidence implements [ports.Evidence].
func (db *DB) UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error) {
	entries, err := all(ctx, db, scanColumns(sqlstore.Entry), selectUnsealed, limit)
	if err != nil {
		return nil, fmt.Errorf("read unsealed evidence: %w", err)
	}
	return entries, nil
}

// EvidenceBacklog implements [ports.Evidence].
func (db *DB) EvidenceBacklog(ctx context.Context) (unsealed int, oldest time.Time, err error) {
	b, err := one(ctx, db, scanBacklog, selectEvidenceBacklog)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count unsealed evidence: %w", err)
	}
	return b.pending, b.oldest, nil
}

// completes is the nodes that the entry at a position completes.
type completes struct {
	position int64
	nodes    []evidence.Hash
}

// EvidenceNodes implements [ports.Evidence].
func (db *DB) EvidenceNodes(ctx context.Context, positions []int64) ([][]evidence.Hash, error) {
	list, err := all(ctx, db, func(r pgx.CollectableRow) (c completes, err error) {
		err = r.Scan(&c.position, (*sqlstore.Hashes)(&c.nodes))
		return c, err
	}, selectNodes, positions)
	if err != nil {
		return nil, fmt.Errorf("read nodes of evidence: %w", err)
	}
	at := make(map[int64][]evidence.Hash, len(list))
	for _, c := range list {
		at[c.position] = c.nodes
	}
	nodes := make([][]evidence.Hash, len(positions))
	for i, position := range positions {
		nodes[i] = at[position]
	}
	return nodes, nil
}
