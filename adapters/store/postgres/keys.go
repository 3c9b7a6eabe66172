package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertAPIKey  = `INSERT INTO @.api_keys (` + sqlstore.Key.Names() + `) VALUES (` + sqlstore.Key.Numbers(1) + `)`
	apiKeys       = `SELECT ` + sqlstore.Key.Names() + ` FROM @.api_keys`
	selectAPIKey  = apiKeys + ` WHERE hash = $1`
	selectAPIKeys = apiKeys + ` ORDER BY seq`

	// recordRevocation stores an entry of the evidence log if the key is not revoked yet, and keeps others from revoking it.
	recordRevocation = `INSERT INTO @.evidence (` + sqlstore.Entry.Names() + `)
		SELECT ` + sqlstore.Entry.TypedNumbers(2) + ` FROM @.api_keys WHERE id = $1 AND revoked_ms IS NULL FOR UPDATE`
)

const revokeAPIKey = `UPDATE @.api_keys SET revoked_ms = coalesce(revoked_ms, $2) WHERE id = $1`

// Key implements [ports.Configuration].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	k, err := one(ctx, db, scanColumns(sqlstore.Key), selectAPIKey, hash[:])
	if err != nil {
		return k, fmt.Errorf("read API key: %w", err)
	}
	return k, nil
}

// Keys implements [ports.Configurer].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	keys, err := all(ctx, db, scanColumns(sqlstore.Key), selectAPIKeys)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return keys, nil
}

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, k catalogue.Key, did *evidence.Entry) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		b := t.batch()
		b.queue(insertAPIKey, sqlstore.Key.Values(&k)...)
		b.queueEvidence(did)
		err := t.commit(ctx, b)
		if t.outcomeUnknown && is(err, uniqueViolation) {
			stored, err := rows(ctx, t, scanColumns(sqlstore.Key), selectAPIKey, k.Hash[:])
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
		b := t.batch()
		if did != nil {
			b.queue(recordRevocation, sqlstore.Entry.Values(did, id)...)
		}
		found := false
		b.queue(revokeAPIKey, id, sqlstore.Millis(at)).Exec(func(tag pgconn.CommandTag) error {
			found = tag.RowsAffected() > 0
			return nil
		})
		err := t.commit(ctx, b)
		if err == nil && !found {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return nil
}
