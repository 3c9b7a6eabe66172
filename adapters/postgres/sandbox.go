package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	insertSandboxRecord = `INSERT INTO @.sandbox_records (name, data) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	selectSandboxRecord = `SELECT data FROM @.sandbox_records WHERE name = $1`
)

// KeepSandboxRecord stores what the fake processor keeps under a name, unless there is something already: that stays.
func (db *DB) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		_, err := t.exec(ctx, insertSandboxRecord, name, append([]byte{}, data...))
		return err
	})
	switch {
	case errors.Is(err, errCommitUnknown): // the same call may be made again: whatever is stored stays
		return fmt.Errorf("%w: store sandbox record %s: %w", ports.ErrBusy, name, err)
	case err != nil:
		return fmt.Errorf("store sandbox record %s: %w", name, err)
	}
	return nil
}

// SandboxRecord returns what is stored under the name, or ports.ErrNotFound.
func (db *DB) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	data, err := one(ctx, db, pgx.RowTo[[]byte], selectSandboxRecord, name)
	if err != nil {
		return nil, fmt.Errorf("read sandbox record %s: %w", name, err)
	}
	return data, nil
}
