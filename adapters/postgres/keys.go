package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertAPIKey  = `INSERT INTO @.api_keys (` + column.Key.Names() + `) VALUES (` + column.Key.Numbers(1) + `)`
	apiKeys       = `SELECT ` + column.Key.Reads() + ` FROM @.api_keys`
	selectAPIKey  = apiKeys + ` WHERE hash = $1`
	selectAPIKeys = apiKeys + ` ORDER BY seq`
)

const revokeAPIKey = `UPDATE @.api_keys SET revoked_ms = coalesce(revoked_ms, $2) WHERE id = $1`

// Key implements [ports.Configuration].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	k, err := one(ctx, db, scanColumns(column.Key), selectAPIKey, hash[:])
	if err != nil {
		return k, fmt.Errorf("read API key: %w", err)
	}
	return k, nil
}

// Keys implements [ports.Configurer].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	keys, err := all(ctx, db, scanColumns(column.Key), selectAPIKeys)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return keys, nil
}

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, k catalogue.Key) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		_, err := t.exec(ctx, insertAPIKey, column.Key.Values(&k)...)
		if t.outcomeUnknown && is(err, uniqueViolation) {
			stored, err := rows(ctx, t, scanColumns(column.Key), selectAPIKey, k.Hash[:])
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
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		n, err := t.exec(ctx, revokeAPIKey, id, column.Millis(at))
		if err == nil && n == 0 {
			err = ports.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return nil
}
