package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Migrations are numbered from 1 without a gap, run in their order, and are never changed once a
// store may have run them. While the processes of a store are replaced one by one, programs of two
// versions run on it: each migration leaves the schema fit for the program of the version before
// it, and a program accepts a schema that is one version newer than its own.
//
//go:embed migrations/*.sql
var migrations embed.FS

// The one row of this table says how far the schema is. Who locks it migrates.
const (
	makeVersion = `CREATE TABLE IF NOT EXISTS provider_checkout_schema (
		id bigint PRIMARY KEY CHECK (id = 1), version bigint NOT NULL)`
	insertVersion = `INSERT INTO provider_checkout_schema (id, version) VALUES (1, 0) ON CONFLICT DO NOTHING`
	patientBegin  = `BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0`
	selectVersion = `SELECT version FROM provider_checkout_schema WHERE id = 1`
	lockVersion   = selectVersion + ` FOR UPDATE`
	updateVersion = `UPDATE provider_checkout_schema SET version = $1 WHERE id = 1`
	writeStore    = `UPDATE store SET environment = environment WHERE id = 1`
)

// migrate brings the store to the newest schema: every migration that it has not run, or none.
// Of processes that start at once, one migrates and the others find it done. A store that is up to
// date is only looked at.
func (db *DB) migrate(ctx context.Context, mustExist bool) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	newest := len(names)
	version, err := one(ctx, db, pgx.RowTo[int], selectVersion)
	switch {
	case is(err, undefinedTable), errors.Is(err, ports.ErrNotFound):
		version = 0
	case err != nil:
		return fmt.Errorf("read version: %w", err)
	}
	switch {
	case version > newest+1:
		return fmt.Errorf("version %d of the schema is too new for this program's %d: run the newer program", version, newest)
	case version >= newest:
		return nil
	case version == 0 && mustExist:
		return errors.New("there is no store in this database; apply and serve make one")
	case version == 0:
		if err := db.makeVersion(ctx); err != nil {
			return fmt.Errorf("make the table of the version: %w", err)
		}
	}
	return db.run(ctx, names)
}

// makeVersion makes the table that the version stands in. IF NOT EXISTS does not keep two from making
// it at once: one of them is refused, and finds it made when it tries again.
func (db *DB) makeVersion(ctx context.Context) error {
	return db.do(ctx, func(ctx context.Context, t *try) error {
		if _, err := t.exec(ctx, makeVersion); is(err, uniqueViolation, duplicateTable, duplicateObject) {
			return &trouble{err: err, pause: conflictPause}
		} else if err != nil {
			return err
		}
		_, err := t.exec(ctx, insertVersion)
		return err
	})
}

// run runs the migrations that the store has not run. It waits for another process that does, as long
// as ctx lasts.
func (db *DB) run(ctx context.Context, names []string) error {
	return db.do(ctx, func(ctx context.Context, t *try) error {
		if err := t.script(ctx, patientBegin); err != nil {
			return err
		}
		var version int
		if err := t.conn.QueryRow(ctx, lockVersion).Scan(&version); err != nil {
			return fmt.Errorf("lock version: %w", found(err))
		}
		for n := version; n < len(names); n++ {
			if err := t.migration(ctx, names[n], n+1); err != nil {
				return fmt.Errorf("migrate: %s: %w", names[n], err)
			}
		}
		var b pgx.Batch
		b.Queue(updateVersion, max(version, len(names)))
		return t.commit(ctx, &b)
	})
}

// migration runs the migration of that name, which must bear that number.
func (t *try) migration(ctx context.Context, name string, number int) error {
	if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", number)) {
		return fmt.Errorf("is not number %d", number)
	}
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	return t.script(ctx, string(script))
}

// script runs several statements.
func (t *try) script(ctx context.Context, text string) error {
	_, err := t.conn.PgConn().Exec(ctx, text).ReadAll()
	return err
}

// Ready implements [ports.Store]. It writes the store's stamp as it is and commits that: the row of the
// version may be locked by a newer program that migrates, while this one goes on serving.
func (db *DB) Ready(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var version int
	err = db.do(ctx, func(ctx context.Context, t *try) error {
		var b pgx.Batch
		b.Queue(writeStore)
		b.Queue(selectVersion).QueryRow(func(r pgx.Row) error { return r.Scan(&version) })
		return found(t.commit(ctx, &b))
	})
	switch {
	case err != nil:
		return fmt.Errorf("write to the store: %w", err)
	case version < len(names):
		return fmt.Errorf("version %d of the schema is older than this program's %d", version, len(names))
	}
	return nil
}
