package postgres

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertEvidence = `INSERT INTO @.evidence (` + sqlstore.Entry.Names() + `) VALUES (` + sqlstore.Entry.Numbers(1) + `)`
	lockHead       = sqlstore.SelectHead + ` FOR UPDATE`
	updateHead     = `UPDATE @.evidence_head SET (` + sqlstore.Head.Names() + `) = (` + sqlstore.Head.Numbers(1) + `) WHERE one = 1`
)

const placeEvidence = `UPDATE @.evidence SET position = $1, nodes = $2 WHERE id = $3 AND position IS NULL`

// queueEvidence adds what stores the entry, if there is one.
func (b *batch) queueEvidence(e *evidence.Entry) {
	if e != nil {
		b.queue(insertEvidence, sqlstore.Entry.Values(e)...)
	}
}

// recorded reports whether an entry with the id of this one is on record.
func (t *attempt) recorded(ctx context.Context, e *evidence.Entry) (bool, error) {
	if e == nil {
		return false, nil
	}
	return has(ctx, t, sqlstore.SelectEntry, e.ID)
}

// RecordEvidence implements [ports.Operations]. If the outcome of an attempt is not known, a further one finds the entry
// by its content.
func (db *DB) RecordEvidence(ctx context.Context, e evidence.Entry) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		b := t.batch()
		b.queueEvidence(&e)
		err := t.commitUnless(ctx, b, func() (bool, error) { return t.recorded(ctx, &e) })
		if t.outcomeUnknown && is(err, uniqueViolation) {
			t.rollback(ctx)
			found, readErr := all(ctx, t, sqlstore.Scan(sqlstore.Entry), sqlstore.SelectEntry, e.ID)
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
		if err := t.begin(ctx, func(b *batch) { b.queue(lockHead).QueryRow(into(sqlstore.Head, &head)) }); err != nil {
			return fmt.Errorf("lock the head: %w", err)
		}
		entries, err := all(ctx, t, sqlstore.Scan(sqlstore.Entry), sqlstore.SelectUnsealed, limit)
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
