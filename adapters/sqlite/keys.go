package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

const (
	apiKeys       = `SELECT id, provider_code, environment, hash, created_ms, revoked_ms FROM api_keys`
	selectAPIKey  = apiKeys + ` WHERE hash = ?`
	selectAPIKeys = apiKeys + ` ORDER BY seq`
)

func scanKey(r row) (k catalogue.Key, err error) {
	err = r.Scan(&k.ID, &k.Provider, &k.Environment, column.SHA256(&k.Hash), column.Time(&k.CreatedAt), column.Time(&k.RevokedAt))
	return k, err
}

// Key implements [ports.Keys].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	k, err := one(ctx, &db.readers, scanKey, selectAPIKey, hash[:])
	if err != nil {
		return k, fmt.Errorf("read API key: %w", err)
	}
	return k, nil
}

// Keys implements [ports.Keys].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	keys, err := all(ctx, &db.readers, scanKey, selectAPIKeys)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return keys, nil
}

// AddKey implements [ports.Keys].
func (db *DB) AddKey(ctx context.Context, k catalogue.Key) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, `INSERT INTO api_keys (id, provider_code, environment, hash, created_ms, revoked_ms)
			VALUES (?, ?, ?, ?, ?, ?)`,
			k.ID, k.Provider, k.Environment, k.Hash[:], column.Millis(k.CreatedAt), column.Millis(k.RevokedAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("add API key %s: %w", k.ID, err)
	}
	return nil
}

// RevokeKey implements [ports.Keys].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		return tx.execOne(ctx, `UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?`, column.Millis(at), id)
	})
	if err != nil {
		return fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return nil
}
