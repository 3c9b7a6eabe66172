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

// migrations are numbered from 1 without a gap, run in their order, and never changed once a store may have run
// them. While the processes of a store are replaced one by one, programs of two versions run on it: each migration
// leaves a schema that the program of the version before can use, and a program accepts a schema that is one
// version newer than its own.
//
//go:embed migrations/*.sql
var migrations embed.FS

// beginMigration waits for locks, and lets statements run, as long as ctx lasts.
var beginMigration = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; ` + setDurable

const (
	countSchemas = `SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1`
	// The one row of this table is the version of the schema. A migration locks it.
	makeVersion = `CREATE TABLE IF NOT EXISTS @.provider_checkout_schema (
		id bigint PRIMARY KEY CHECK (id = 1), version bigint NOT NULL)`
	insertVersion = `INSERT INTO @.provider_checkout_schema (id, version) VALUES (1, 0) ON CONFLICT DO NOTHING`
	selectVersion = `SELECT version FROM @.provider_checkout_schema WHERE id = 1`
	lockVersion   = selectVersion + ` FOR UPDATE`
	updateVersion = `UPDATE @.provider_checkout_schema SET version = $1 WHERE id = 1`
	writeStore    = `UPDATE @.store SET environment = environment WHERE id = 1`
)

// migrate runs every migration that the store has not run, or none. Of processes that start at once, one migrates and
// the others then have nothing to run. A store that is up to date is only read.
func (db *DB) migrate(ctx context.Context, mustExist bool) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	newest := len(names)
	version, err := one(ctx, db, pgx.RowTo[int], selectVersion)
	switch {
	case is(err, undefinedTable, invalidSchemaName), errors.Is(err, ports.ErrNotFound):
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
	}
	return db.do(ctx, func(ctx context.Context, t *attempt) error { return t.migrate(ctx, names) })
}

// migrate makes the schema if there is none, and runs the migrations that it has not run, all in one transaction, so that
// a start that fails leaves nothing behind. It waits for another process that migrates.
func (t *attempt) migrate(ctx context.Context, names []string) error {
	if err := t.script(ctx, beginMigration); err != nil {
		return err
	}
	if err := t.makeSchema(ctx); is(err, uniqueViolation, duplicateSchema, duplicateTable, duplicateObject) {
		return &retryableError{err: err, pause: conflictPause} // another process made it meanwhile, in spite of IF NOT EXISTS
	} else if err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	list, err := rows(ctx, t, pgx.RowTo[int], lockVersion)
	if err != nil {
		return fmt.Errorf("lock version: %w", err)
	}
	version := list[0]
	for n := version; n < len(names); n++ {
		if err := t.runMigration(ctx, names[n], n+1); err != nil {
			return fmt.Errorf("migrate: %s: %w", names[n], err)
		}
	}
	b := t.batch()
	b.queue(updateVersion, max(version, len(names)))
	return t.commit(ctx, b)
}

// makeSchema makes the schema, unless it exists, and the table of its version. A role that may not make schemas can
// use one that exists.
func (t *attempt) makeSchema(ctx context.Context) error {
	if s := t.db.schema; s.name != "" {
		found, err := rows(ctx, t, pgx.RowTo[int], countSchemas, s.name)
		if err != nil {
			return err
		}
		if found[0] == 0 {
			if err := t.script(ctx, `CREATE SCHEMA IF NOT EXISTS `+s.quoted()); err != nil {
				return err
			}
		}
		// The migrations name no schema.
		if err := t.script(ctx, `SET LOCAL search_path = `+s.quoted()); err != nil {
			return err
		}
	}
	if err := t.script(ctx, t.db.schema.qualify(makeVersion)); err != nil {
		return err
	}
	return t.script(ctx, t.db.schema.qualify(insertVersion))
}

// runMigration runs the migration of this name, which must have this number.
func (t *attempt) runMigration(ctx context.Context, name string, number int) error {
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
func (t *attempt) script(ctx context.Context, text string) error {
	_, err := t.conn.PgConn().Exec(ctx, text).ReadAll()
	return err
}

// Ready implements [ports.Store]. It writes the store's stamp again and commits that. It does not write the version,
// whose row may be locked by a newer program that migrates while this one goes on serving.
func (db *DB) Ready(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var version int
	err = db.do(ctx, func(ctx context.Context, t *attempt) error {
		b := t.batch()
		b.queue(writeStore)
		b.queue(selectVersion).QueryRow(func(r pgx.Row) error { return r.Scan(&version) })
		return mapNoRows(t.commit(ctx, b))
	})
	switch {
	case err != nil:
		return fmt.Errorf("write to the store: %w", err)
	case version < len(names):
		return fmt.Errorf("version %d of the schema is older than this program's %d", version, len(names))
	}
	return nil
}
