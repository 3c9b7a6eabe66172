package postgres

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// beginMigration waits for locks, and lets statements run, as long as ctx lasts.
var beginMigration = []string{`BEGIN ISOLATION LEVEL READ COMMITTED`,
	`SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)`, setDurable}

const (
	countSchemas = `SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = ?`
	// The migrations that the store has run, with the SHA-256 of their scripts. Whoever migrates locks the table.
	makeVersions = `CREATE TABLE IF NOT EXISTS @.provider_checkout_schema (
		version bigint PRIMARY KEY, checksum text NOT NULL)`
	lockVersions    = `LOCK TABLE @.provider_checkout_schema IN SHARE ROW EXCLUSIVE MODE`
	selectRan       = `SELECT checksum FROM @.provider_checkout_schema ORDER BY version`
	countRan        = `SELECT count(*) FROM @.provider_checkout_schema`
	insertMigration = `INSERT INTO @.provider_checkout_schema (version, checksum) VALUES (?, ?)`
	writeStore      = `UPDATE @.store SET environment = environment WHERE id = 1`
)

// migrate runs every migration that the store has not run, or changes nothing. Of processes that start at once, one migrates and
// the others then have nothing to run. A store that is up to date is only read.
func (db *DB) migrate(ctx context.Context, own []migration.Migration, mustExist bool) error {
	ran, err := db.ranMigrations(ctx)
	if err != nil {
		return err
	}
	pending, err := migration.Pending(own, ran)
	switch {
	case err != nil || len(pending) == 0:
		return err
	case len(ran) == 0 && mustExist:
		return ErrNoStore
	}
	return db.do(ctx, func(ctx context.Context, t *attempt) error { return t.migrate(ctx, own) })
}

// ranMigrations returns the checksums of the migrations that the store has run, in their order.
func (db *DB) ranMigrations(ctx context.Context) ([]string, error) {
	ran, err := sqlstore.All(ctx, engine{db}, sqlstore.ScanValue[string], selectRan)
	switch {
	case is(err, undefinedTable, invalidSchemaName):
		return nil, nil
	case is(err, undefinedColumn):
		return nil, migration.ErrDevelopment
	case err != nil:
		return nil, fmt.Errorf("read version: %w", err)
	}
	return ran, nil
}

// migrate makes the schema if it does not exist, and runs the migrations that it has not run, all in one transaction, so that
// a start that fails leaves nothing behind. It waits for another process that migrates.
func (t *attempt) migrate(ctx context.Context, own []migration.Migration) error {
	if err := t.run(ctx, beginMigration...); err != nil {
		return err
	}
	if err := t.makeSchema(ctx); is(err, uniqueViolation, duplicateSchema, duplicateTable, duplicateObject) {
		return &retryableError{err: err, pause: conflictPause} // another process made it meanwhile, in spite of IF NOT EXISTS
	} else if err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	ran, err := sqlstore.All(ctx, t, sqlstore.ScanValue[string], selectRan)
	if err != nil {
		return fmt.Errorf("read version: %w", err)
	}
	pending, err := migration.Pending(own, ran)
	if err != nil {
		return err
	}
	b := t.batch()
	for _, m := range pending {
		if err := t.run(ctx, statements(m.Script)...); err != nil {
			return fmt.Errorf("migration %d: %w", m.Number, err)
		}
		b.queue(insertMigration, m.Number, m.Checksum)
	}
	return t.commit(ctx, b)
}

// makeSchema makes the schema and the table of its versions, unless they exist, and locks that table. A role that may not
// make schemas can use an existing schema.
func (t *attempt) makeSchema(ctx context.Context) error {
	if s := t.db.schema; s.name != "" {
		found, err := sqlstore.All(ctx, t, sqlstore.ScanValue[int], countSchemas, s.name)
		if err != nil {
			return err
		}
		if found[0] == 0 {
			if err := t.run(ctx, `CREATE SCHEMA IF NOT EXISTS `+s.quoted()); err != nil {
				return err
			}
		}
		// The migrations name no schema.
		if err := t.run(ctx, `SET LOCAL search_path = `+s.quoted()); err != nil {
			return err
		}
	}
	return t.run(ctx, t.db.schema.qualify(makeVersions), t.db.schema.qualify(lockVersions))
}

// run runs statements, each by a message of its own: an engine may not take several.
func (t *attempt) run(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if err := run(ctx, t.conn.PgConn(), statement); err != nil {
			return err
		}
	}
	return nil
}

// statements returns the statements of a script. Neither a text nor a name in it has a semicolon or two hyphens.
func statements(script string) (list []string) {
	var text strings.Builder
	for line := range strings.Lines(script) {
		code, _, _ := strings.Cut(line, "--")
		text.WriteString(strings.TrimRight(code, "\n") + "\n")
	}
	for statement := range strings.SplitSeq(text.String(), ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			list = append(list, statement)
		}
	}
	return list
}

// Ready implements [ports.Store]. It writes the store's stamp again and commits that. It only reads the version,
// whose table may be locked by a newer program that migrates while this one goes on serving.
func (db *DB) Ready(ctx context.Context) error {
	var version int
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		var b sqlstore.Batch
		b.Write(writeStore)
		sqlstore.Get(&b, sqlstore.ScanValue[int], func(n int) { version = n }, countRan)
		return t.Commit(ctx, &b)
	})
	switch {
	case err != nil:
		return fmt.Errorf("write to the store: %w", err)
	case version < db.newest:
		return fmt.Errorf("version %d of the schema is older than this program's %d", version, db.newest)
	}
	return nil
}

// run runs a statement.
func run(ctx context.Context, conn *pgconn.PgConn, statement string) error {
	_, err := conn.Exec(ctx, statement).ReadAll()
	return err
}
