package sqlite

import (
	"context"
	"fmt"
)

const (
	insertSandboxRecord = `INSERT INTO sandbox_records (name, data) VALUES (?, ?) ON CONFLICT DO NOTHING`
	dropSandboxRecords  = `DELETE FROM sandbox_records WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1`
)

// KeepSandboxRecord stores what the fake processor keeps under a name, unless there is something already: that stays.
func (db *DB) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, insertSandboxRecord, name, append([]byte{}, data...))
		return err
	})
	if err != nil {
		return fmt.Errorf("store sandbox record %s: %w", name, err)
	}
	return nil
}

// DropSandboxRecords removes what is stored under the names with this prefix.
func (db *DB) DropSandboxRecords(ctx context.Context, prefix string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, dropSandboxRecords, prefix)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove sandbox records %s: %w", prefix, err)
	}
	return nil
}
