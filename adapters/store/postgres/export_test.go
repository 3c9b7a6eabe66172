package postgres

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// Setting is a setting of the store's connections, which can be asked of them alone.
func (db *DB) Setting(ctx context.Context, name string) string {
	value, err := sqlstore.One(ctx, engine{db}, sqlstore.ScanValue[string], `SELECT current_setting(?)`, name)
	if err != nil {
		return err.Error()
	}
	return value
}

// GiveUpAfter sets how long the store waits for a commit.
func (db *DB) GiveUpAfter(d time.Duration) { db.commitTimeout = d }

// Next returns the options of the program of the next version, which has one more migration.
func (o Options) Next(script string) Options {
	own, err := migration.Read(migrations, "migrations")
	if err != nil {
		panic(err)
	}
	o.migrations = append(own, migration.New(len(own)+1, script))
	return o
}

// AsDistributed makes the store ask for jobs that are due as it does where they are spread over several nodes.
func AsDistributed(db *DB) { db.Distributed = true }
