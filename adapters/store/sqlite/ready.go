package sqlite

import (
	"context"
	"fmt"
	"io/fs"
)

// Ready implements [ports.Store]. It writes the schema's version again, because SQLite writes nothing for an UPDATE that
// changes nothing. A store in which damage was found is not ready, nor one without room for further writes, nor one of which
// a write failed since Ready was last called.
func (db *DB) Ready(ctx context.Context) error {
	failed := db.writer.failure.Swap(nil)
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	err = db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		version, err := one(ctx, tx, scanValue[int], `PRAGMA user_version`)
		if err != nil {
			return fmt.Errorf("read version: %w", err)
		}
		if version < len(names) {
			return fmt.Errorf("version %d of the schema is older than this program's %d", version, len(names))
		}
		_, err = tx.exec(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)) // a pragma takes no bound value
		return err
	})
	if err != nil {
		db.writer.failure.Store(nil) // it is this one, which is returned
		return fmt.Errorf("write to store %s: %w", db.path, err)
	}
	if failed != nil {
		return fmt.Errorf("a write to store %s has failed: %w", db.path, *failed)
	}
	if err := checkRoom(db.writer.place.folder); err != nil {
		return fmt.Errorf("store %s: %w", db.path, err)
	}
	if err := db.check.damage(); err != nil {
		return fmt.Errorf("store %s: %w", db.path, err)
	}
	return nil
}
