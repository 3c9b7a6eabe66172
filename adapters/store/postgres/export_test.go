package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Setting is a setting of the store's connections, which can be asked of them alone.
func (db *DB) Setting(ctx context.Context, name string) string {
	value, err := one(ctx, db, pgx.RowTo[string], `SELECT current_setting($1)`, name)
	if err != nil {
		return err.Error()
	}
	return value
}

// GiveUpAfter sets how long the store waits for a commit.
func (db *DB) GiveUpAfter(d time.Duration) { db.commitTimeout = d }
