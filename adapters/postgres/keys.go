package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	apiKeyColumns = `id, provider_code, environment, hash, created_ms, revoked_ms`
	insertAPIKey  = `INSERT INTO api_keys (` + apiKeyColumns + `) VALUES ($1, $2, $3, $4, $5, $6)`
	revokeAPIKey  = `UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, $2) WHERE id = $1`
	apiKeys       = `SELECT ` + apiKeyColumns + ` FROM api_keys`
	selectAPIKey  = apiKeys + ` WHERE hash = $1`
	selectAPIKeys = apiKeys + ` ORDER BY seq`
)

func scanKey(r pgx.CollectableRow) (k catalogue.Key, err error) {
	err = r.Scan(&k.ID, &k.Provider, &k.Environment, column.SHA256(&k.Hash),
		column.Time(&k.CreatedAt), column.Time(&k.RevokedAt))
	return k, err
}

// Key implements [ports.Keys].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	k, err := one(ctx, db, scanKey, selectAPIKey, hash[:])
	if err != nil {
		return k, fmt.Errorf("read API key: %w", err)
	}
	return k, nil
}

// Keys implements [ports.Keys].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	keys, err := all(ctx, db, scanKey, selectAPIKeys)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return keys, nil
}

// AddKey implements [ports.Keys].
func (db *DB) AddKey(ctx context.Context, k catalogue.Key) error {
	err := db.do(ctx, func(ctx context.Context, t *try) error {
		_, err := t.exec(ctx, insertAPIKey,
			k.ID, k.Provider, k.Environment, k.Hash[:], column.Millis(k.CreatedAt), column.Millis(k.RevokedAt))
		if t.doubt && is(err, uniqueViolation) {
			stored, err := rows(ctx, t.conn, scanKey, selectAPIKey, k.Hash[:])
			if err != nil || len(stored) == 1 && stored[0].ID == k.ID {
				return err // nil where an earlier try did it
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add API key %s: %w", k.ID, err)
	}
	return nil
}

// RevokeKey implements [ports.Keys].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time) error {
	err := db.do(ctx, func(ctx context.Context, t *try) error {
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
