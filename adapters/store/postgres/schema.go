package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

//go:embed schema.sql
var schemaSQL string

// version is that of schema.sql.
const version = 1

const (
	hasSchema         = `SELECT count(*) > 0 FROM pg_catalog.pg_namespace WHERE nspname = $1`
	selectVersion     = `SELECT current_setting('server_encoding'), (SELECT version FROM @.store WHERE id = 1)`
	selectEnvironment = `SELECT environment FROM @.store WHERE id = 1`
	selectStamp       = `SELECT environment, secret_fingerprint, own_secret FROM @.store WHERE id = 1`
	updateStamp       = `UPDATE @.store SET environment = $1, secret_fingerprint = $2, own_secret = $3 WHERE id = 1`
	updateSecret      = `UPDATE @.providers SET webhook_secret = $2 WHERE code = $1`
)

// made is the state of a store in the database.
type made struct {
	encoding string
	version  int64
}

func (m *made) Fields() []any { return []any{&m.encoding, &m.version} }

// checkSchema checks the version of the store, and makes it if it is missing.
func (db *DB) checkSchema(ctx context.Context, mayMake bool) error {
	return db.call(ctx, func(ctx context.Context, c *conn) error {
		found, err := one[made](ctx, c, selectVersion)
		if is(err, noTable, noSchema) && mayMake {
			if err = c.make(ctx); err == nil || is(err, duplicateSchema, duplicateTable, duplicateObject, duplicateFunction, uniqueViolation) {
				again, missing := one[made](ctx, c, selectVersion) // another process may have made it
				if found = again; missing == nil || err == nil {
					err = missing
				}
			}
		}
		switch {
		case is(err, noTable, noSchema):
			return ErrNoStore
		case err != nil:
			return err
		case found.encoding != "UTF8":
			return fmt.Errorf("the database's encoding is %s, not UTF8", found.encoding)
		case found.version != version:
			return fmt.Errorf("the store has version %d of the schema, and this program knows version %d", found.version, version)
		}
		return nil
	})
}

// make makes the store in one transaction.
func (c *conn) make(ctx context.Context) error {
	script := c.db.sql(schemaSQL)
	exists, err := one[value[bool]](ctx, c, hasSchema, c.db.schema)
	if err != nil {
		return err
	}
	if c.db.schema != "" && !exists.v { // to make one a role needs a privilege, also if it is there
		script = "CREATE SCHEMA IF NOT EXISTS " + pgx.Identifier{c.db.schema}.Sanitize() + ";\n" + script
	}
	_, err = c.PgConn().Exec(ctx, "BEGIN;\n"+script+"COMMIT").ReadAll()
	c.rollback(ctx)
	return err
}

// stamp is the record of the servers that may open a store.
type stamp struct{ environment, fingerprint, ownSecret string }

func (s *stamp) Fields() []any { return []any{&s.environment, &s.fingerprint, &s.ownSecret} }

var errSecretGone = errors.New("it is encrypted under the operator's secret, and none was given")

// authorize grants the request to open the store, and records it.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return db.locked(ctx, func(ctx context.Context, c *conn, b *batch) error {
		s, err := one[stamp](ctx, c, selectStamp)
		if err != nil {
			return err
		}
		next := s
		was := secrets.Stamp{Environment: catalogue.Environment(s.environment), Fingerprint: s.fingerprint}
		grant, err := request.Authorize(was, func(isNew bool) ([]byte, error) {
			var err error
			switch {
			case next.ownSecret == "" && !isNew:
				err = errSecretGone
			case next.ownSecret == "":
				next.ownSecret, err = secrets.NewSecret(request.Rand)
			}
			return []byte(next.ownSecret), err
		})
		if err != nil {
			return err
		}
		db.environment, db.secrets, db.encrypter = grant.Stamp.Environment, grant.Secrets, grant.Encrypter
		if grant.Stamp.Environment == catalogue.Production || string(grant.Secrets[0]) != next.ownSecret {
			next.ownSecret = "" // nobody needs it any more
		}
		if next.environment, next.fingerprint = string(grant.Stamp.Environment), grant.Stamp.Fingerprint; next != s {
			b.add(updateStamp, next.environment, next.fingerprint, next.ownSecret)
		}
		if !grant.Reencrypt {
			return nil
		}
		return c.reencrypt(ctx, b)
	})
}

// readEnvironment reads the environment that is recorded.
func (db *DB) readEnvironment(ctx context.Context) error {
	return db.call(ctx, func(ctx context.Context, c *conn) error {
		environment, err := one[value[string]](ctx, c, selectEnvironment)
		db.environment = catalogue.Environment(environment.v)
		return err
	})
}

// reencrypt encrypts the webhook secrets under the first secret.
func (c *conn) reencrypt(ctx context.Context, b *batch) error {
	list, err := all[rows.Provider](ctx, c, selectProviders)
	for _, r := range list {
		p, err := r.Provider(c.db.encrypter)
		if err == nil {
			r, err = rows.OfProvider(p, c.db.encrypter)
		}
		if err != nil {
			return err
		}
		b.add(updateSecret, p.Code, r.WebhookSecret)
	}
	return err
}

const lockStore = `SELECT 1 FROM @.store WHERE id = 1 FOR UPDATE`

// locked runs f in a transaction that holds the store's own row, and commits what f adds to the batch.
func (db *DB) locked(ctx context.Context, f func(context.Context, *conn, *batch) error) error {
	return db.call(ctx, func(ctx context.Context, c *conn) error {
		begin := db.batch()
		begin.add(lockStore)
		if err := c.SendBatch(ctx, &begin.Batch).Close(); err != nil {
			return err
		}
		rest := &batch{db: db, timeout: db.commitTimeout}
		if err := f(ctx, c, rest); err != nil {
			return err
		}
		return c.commit(ctx, rest)
	})
}

// Ready implements [ports.Store].
func (db *DB) Ready(ctx context.Context) error {
	return db.write(ctx, func(b *batch) { b.add(`UPDATE @.store SET version = version WHERE id = 1`) })
}
