package sqlite

import (
	"context"
	"fmt"
)

// Ready implements [ports.Store]. It writes the file's mark again, because SQLite writes nothing for an UPDATE that
// changes nothing. A store without room for further writes is not ready, nor one of which a write failed since Ready was
// last called.
func (db *DB) Ready(ctx context.Context) error {
	failed := db.writer.failure.Swap(nil)
	err := db.writer.do(ctx, func(ctx context.Context, tx *tx) error {
		ran, err := ranMigrations(ctx, tx)
		if err != nil {
			return fmt.Errorf("read version: %w", err)
		}
		if len(ran) < db.schema {
			return fmt.Errorf("version %d of the schema is older than this program's %d", len(ran), db.schema)
		}
		_, err = tx.exec(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID)) // a pragma takes no bound value
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
	return nil
}
