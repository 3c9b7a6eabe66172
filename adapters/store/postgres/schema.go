package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

//go:embed schema.sql
var schemaSQL string

// version is that of schema.sql.
const version = 2

const (
	selectMade   = `SELECT current_setting('server_encoding'), version, environment FROM store WHERE id = 1`
	selectStamp  = `SELECT environment, secret_fingerprint, own_secret FROM store WHERE id = 1`
	updateStamp  = `UPDATE store SET environment = $1, secret_fingerprint = $2, own_secret = $3 WHERE id = 1`
	updateSecret = `UPDATE providers SET webhook_secret = $2 WHERE code = $1`
	lockStore    = `SELECT 1 FROM store WHERE id = 1 FOR UPDATE`
)

// made is the state of a store in the database.
type made struct {
	Encoding    string
	Version     int64
	Environment string
}

// checkSchema checks the version of the store, and makes it if it is missing.
func (db *DB) checkSchema(ctx context.Context, mayMake bool) error {
	return db.call(ctx, func(ctx context.Context, c *conn) error {
		found, err := one[made](ctx, c, selectMade)
		if is(err, noTable) && mayMake {
			_, failed := c.PgConn().Exec(ctx, schemaSQL).ReadAll()      // in one transaction
			if found, err = one[made](ctx, c, selectMade); err != nil { // else another process may have made it
				err = cmp.Or(failed, err)
			}
		}
		switch {
		case is(err, noTable):
			return ErrNoStore
		case err != nil:
			return err
		case found.Encoding != "UTF8":
			return fmt.Errorf("the database's encoding is %s, not UTF8", found.Encoding)
		case found.Version != version:
			return fmt.Errorf("the store has version %d of the schema, and this program knows version %d", found.Version, version)
		}
		db.environment = catalogue.Environment(found.Environment)
		return nil
	})
}

// stamp is the record of the servers that may open a store.
type stamp struct{ Environment, Fingerprint, OwnSecret string }

var errSecretGone = errors.New("it is encrypted under the operator's secret, and none was given")

// authorize grants the request to open the store, and records it.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return db.locked(ctx, func(ctx context.Context, c *conn, b *batch) error {
		s, err := one[stamp](ctx, c, selectStamp)
		if err != nil {
			return err
		}
		next := s
		was := secrets.Stamp{Environment: catalogue.Environment(s.Environment), Fingerprint: s.Fingerprint}
		grant, err := request.Authorize(was, func(isNew bool) ([]byte, error) {
			var err error
			switch {
			case next.OwnSecret == "" && !isNew:
				err = errSecretGone
			case next.OwnSecret == "":
				next.OwnSecret, err = secrets.NewSecret(request.Rand)
			}
			return []byte(next.OwnSecret), err
		})
		if err != nil {
			return err
		}
		db.environment, db.secrets, db.encrypter = grant.Stamp.Environment, grant.Secrets, grant.Encrypter
		if grant.Stamp.Environment == catalogue.Production || string(grant.Secrets[0]) != next.OwnSecret {
			next.OwnSecret = "" // nobody needs it any more
		}
		if next.Environment, next.Fingerprint = string(grant.Stamp.Environment), grant.Stamp.Fingerprint; next != s {
			b.Queue(updateStamp, next.Environment, next.Fingerprint, next.OwnSecret)
		}
		if !grant.Reencrypt {
			return nil
		}
		return c.reencrypt(ctx, b)
	})
}

// reencrypt encrypts the webhook secrets under the first secret.
func (c *conn) reencrypt(ctx context.Context, b *batch) error {
	providers, err := all(ctx, c, c.db.provider, selectProviders)
	for _, p := range providers {
		r, err := rows.OfProvider(p, c.db.encrypter)
		if err != nil {
			return err
		}
		b.Queue(updateSecret, p.Code, r.WebhookSecret)
	}
	return err
}

// locked runs f in a transaction that holds the store's own row, and commits what f adds to the batch.
func (db *DB) locked(ctx context.Context, f func(context.Context, *conn, *batch) error) error {
	return db.call(ctx, func(ctx context.Context, c *conn) error {
		begin := db.batch()
		begin.Queue(lockStore)
		if err := c.SendBatch(ctx, &begin.Batch).Close(); err != nil {
			return err
		}
		rest := &batch{timeout: db.commitTimeout}
		if err := f(ctx, c, rest); err != nil {
			return err
		}
		return c.commit(ctx, rest)
	})
}

// Ready implements [ports.Store].
func (db *DB) Ready(ctx context.Context) error {
	return db.write(ctx, func(b *batch) { b.Queue(`UPDATE store SET version = version WHERE id = 1`) })
}
