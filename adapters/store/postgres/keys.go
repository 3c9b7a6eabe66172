package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

var insertAPIKey = `INSERT INTO @.api_keys (` + sqlstore.Key.Names() + `) VALUES (` + sqlstore.Key.Numbers(1) + `)`

const (
	lockAPIKey   = `SELECT revoked_ms FROM @.api_keys WHERE id = $1 FOR UPDATE`
	revokeAPIKey = `UPDATE @.api_keys SET revoked_ms = $2 WHERE id = $1`
	takenAPIKey  = `SELECT 1 FROM @.api_keys WHERE id = ? OR hash = ?`
)

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, k catalogue.Key, did *evidence.Entry) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		b := t.batch()
		b.queue(insertAPIKey, sqlstore.Key.Values(&k)...)
		b.queueEvidence(did)
		err := t.commitUnless(ctx, b, func() (bool, error) {
			if taken, err := has(ctx, t, takenAPIKey, k.ID, k.Hash[:]); taken || err != nil {
				return taken, err
			}
			return t.recorded(ctx, did)
		})
		if t.outcomeUnknown && is(err, uniqueViolation) {
			t.rollback(ctx)
			stored, err := all(ctx, t, sqlstore.Scan(sqlstore.Key), sqlstore.SelectKey, k.Hash[:])
			if err != nil || len(stored) == 1 && stored[0].ID == k.ID {
				return err // nil if an earlier attempt stored it
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add API key %s: %w", k.ID, err)
	}
	return nil
}

// RevokeKey implements [ports.Configurer].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, did *evidence.Entry) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		var revoked time.Time
		err := t.begin(ctx, func(b *batch) {
			b.queue(lockAPIKey, id).QueryRow(func(r pgx.Row) error { return r.Scan((*sqlstore.Time)(&revoked)) })
		})
		if err != nil || !revoked.IsZero() {
			return err // a key that is revoked stays as it is, also if it was an earlier attempt that revoked it
		}
		b := t.batch()
		b.queue(revokeAPIKey, id, sqlstore.Millis(at))
		b.queueEvidence(did)
		return t.commitUnless(ctx, b, func() (bool, error) { return t.recorded(ctx, did) })
	})
	if err != nil {
		return fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return nil
}
