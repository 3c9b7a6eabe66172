package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	insertSandboxRecord = `INSERT INTO @.sandbox_records (name, data) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	dropSandboxRecords  = `DELETE FROM @.sandbox_records WHERE starts_with(name, $1)`
)

// KeepSandboxRecord stores what the fake processor keeps under a name, unless there is something already: that stays.
func (db *DB) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		_, err := t.exec(ctx, insertSandboxRecord, name, append([]byte{}, data...))
		return err
	})
	return sandboxError("store sandbox record", name, err)
}

// DropSandboxRecords removes what is stored under the names with this prefix.
func (db *DB) DropSandboxRecords(ctx context.Context, prefix string) error {
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		_, err := t.exec(ctx, dropSandboxRecords, prefix)
		return err
	})
	return sandboxError("remove sandbox records", prefix, err)
}

// sandboxError returns the error of a call that may be made again if its outcome is not known: it leads to the same.
func sandboxError(doing, name string, err error) error {
	switch {
	case errors.Is(err, errCommitUnknown):
		return fmt.Errorf("%w: %s %s: %w", ports.ErrBusy, doing, name, err)
	case err != nil:
		return fmt.Errorf("%s %s: %w", doing, name, err)
	}
	return nil
}
