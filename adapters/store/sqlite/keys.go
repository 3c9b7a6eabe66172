package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertAPIKey  = `INSERT INTO api_keys (` + column.Key.Names() + `) VALUES (` + column.Key.Marks() + `)`
	apiKeys       = `SELECT ` + column.Key.Names() + ` FROM api_keys`
	selectAPIKey  = apiKeys + ` WHERE hash = ?`
	selectAPIKeys = apiKeys + ` ORDER BY seq`
)

const (
	revokeAPIKey     = `UPDATE api_keys SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL`
	selectRevokedKey = `SELECT id FROM api_keys WHERE id = ? AND revoked_ms IS NOT NULL`
)

// Key implements [ports.Configuration].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	k, err := one(ctx, &db.readers, scanColumns(column.Key), selectAPIKey, hash[:])
	if err != nil {
		return k, fmt.Errorf("read API key: %w", err)
	}
	return k, nil
}

// Keys implements [ports.Configurer].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	keys, err := all(ctx, &db.readers, scanColumns(column.Key), selectAPIKeys)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return keys, nil
}

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, k catalogue.Key, did *evidence.Entry) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		if _, err := tx.exec(ctx, insertAPIKey, column.Key.Values(&k)...); err != nil {
			return err
		}
		return tx.storeEvidenceIf(ctx, did)
	})
	if err != nil {
		return fmt.Errorf("add API key %s: %w", k.ID, err)
	}
	return nil
}

// RevokeKey implements [ports.Configurer].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, did *evidence.Entry) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		switch err := tx.execOne(ctx, revokeAPIKey, column.Millis(at), id); {
		case errors.Is(err, ports.ErrNotFound):
			_, err := one(ctx, tx, scanValue[string], selectRevokedKey, id)
			return err
		case err != nil:
			return err
		}
		return tx.storeEvidenceIf(ctx, did)
	})
	if err != nil {
		return fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return nil
}
