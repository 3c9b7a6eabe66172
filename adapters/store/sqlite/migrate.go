package sqlite

import (
	"context"
	"embed"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ownMigrations returns the migrations of this program.
func ownMigrations() ([]migration.Migration, error) { return migration.Read(migrations, "migrations") }

const (
	countTables     = `SELECT count(*) FROM sqlite_schema`
	selectRan       = `SELECT checksum FROM provider_checkout_schema ORDER BY version`
	insertMigration = `INSERT INTO provider_checkout_schema (version, checksum) VALUES (?, ?)`
)

// ranMigrations returns the checksums of the migrations that the store has run, in their order.
func ranMigrations(ctx context.Context, src sqlstore.Source) ([]string, error) {
	if tables, err := sqlstore.One(ctx, src, sqlstore.ScanValue[int], countTables); err != nil || tables == 0 {
		return nil, err
	}
	ran, err := sqlstore.All(ctx, src, sqlstore.ScanValue[string], selectRan)
	if is(err, sqlite3.SQLITE_ERROR) { // there is no such table
		return nil, migration.ErrDevelopment
	}
	return ran, err
}

// migrate runs every migration that the store has not run, or changes nothing. Of two processes that start at once, one waits and
// then has nothing to run.
func (w *writer) migrate(ctx context.Context, own []migration.Migration) error {
	return w.alone(ctx, func(ctx context.Context, tx *tx) error {
		ran, err := ranMigrations(ctx, tx)
		if err != nil {
			return err
		}
		pending, err := migration.Pending(own, ran)
		if err != nil {
			return err
		}
		for _, m := range pending {
			if err := tx.run(ctx, m); err != nil {
				return fmt.Errorf("migration %d: %w", m.Number, err)
			}
		}
		return nil
	})
}

func (tx *tx) run(ctx context.Context, m migration.Migration) error {
	if _, err := tx.conn.ExecContext(ctx, m.Script); err != nil {
		return mapError(err)
	}
	_, err := tx.exec(ctx, insertMigration, m.Number, m.Checksum)
	return err
}
