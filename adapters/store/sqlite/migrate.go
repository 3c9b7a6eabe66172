package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// migrations are numbered from 1 without a gap, run in their order, and never changed once a store may have run
// them. Each leaves a schema that the program of the version before can use, because it may have the store open: a
// program accepts a schema that is one version newer than its own.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate runs every migration that the store has not run, or none. Of two processes that start at once, one waits and
// then has nothing to run.
func (w *writer) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	return w.alone(ctx, func(ctx context.Context, tx *tx) error {
		version, err := one(ctx, tx, scanValue[int], `PRAGMA user_version`)
		if err != nil {
			return fmt.Errorf("read version: %w", err)
		}
		if err := acceptVersion(version, len(names)); err != nil {
			return err
		}
		for n := version; n < len(names); n++ {
			if err := tx.run(ctx, names[n], n+1); err != nil {
				return fmt.Errorf("migrate: %s: %w", names[n], err)
			}
		}
		return nil
	})
}

// acceptVersion returns an error if a schema is more than one version newer than the program's own.
func acceptVersion(version, own int) error {
	if version > own+1 {
		return fmt.Errorf("version %d of the schema is too new for this program's %d: run the newer program", version, own)
	}
	return nil
}

// run runs the migration of this name, which must have this number.
func (tx *tx) run(ctx context.Context, name string, number int) error {
	if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", number)) {
		return fmt.Errorf("is not number %d", number)
	}
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, string(script)); err != nil {
		return err
	}
	_, err = tx.exec(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, number)) // a pragma takes no bound value
	return err
}
