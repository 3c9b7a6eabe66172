package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var insertAPIKey = `INSERT INTO api_keys (` + sqlstore.Key.Names() + `) VALUES (` + sqlstore.Key.Marks() + `)`

const (
	revokeAPIKey     = `UPDATE api_keys SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL`
	selectRevokedKey = `SELECT id FROM api_keys WHERE id = ? AND revoked_ms IS NOT NULL`
)

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, k catalogue.Key, did *evidence.Entry) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		if _, err := tx.exec(ctx, insertAPIKey, sqlstore.Key.Values(&k)...); err != nil {
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
		switch err := tx.execOne(ctx, revokeAPIKey, sqlstore.Millis(at), id); {
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
