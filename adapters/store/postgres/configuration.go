package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	selectProviders = `SELECT ` + rows.ProviderColumns + ` FROM providers ORDER BY code`
	selectSome      = `SELECT ` + rows.ProviderColumns + ` FROM providers WHERE code = ANY($1) ORDER BY code`
	selectCourses   = `SELECT ` + rows.CourseColumns + ` FROM courses ORDER BY provider_code, position`
	selectCourse    = `SELECT ` + rows.CourseColumns + ` FROM courses WHERE provider_code = $1 AND code = $2`
	selectKeys      = `SELECT ` + rows.KeyColumns + ` FROM api_keys ORDER BY created_ms, id`
	selectKey       = `SELECT ` + rows.KeyColumns + ` FROM api_keys WHERE hash = $1`
	selectRevoked   = `SELECT revoked_ms FROM api_keys WHERE id = $1`
	revokeKey       = `UPDATE api_keys SET revoked_ms = $2 WHERE id = $1`

	insertProvider = `INSERT INTO providers (` + rows.ProviderColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`
	insertCourse = `INSERT INTO courses (` + rows.CourseColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertKey    = `INSERT INTO api_keys (` + rows.KeyColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
)

// provider returns the provider of a row.
func (db *DB) provider(r rows.Provider) (catalogue.Provider, error) { return r.Provider(db.encrypter) }

// Providers implements [ports.Configuration].
func (db *DB) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	if len(codes) == 0 {
		return list(ctx, db, "providers", db.provider, selectProviders)
	}
	return list(ctx, db, "providers", db.provider, selectSome, codes)
}

// Course implements [ports.Configuration].
func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return get(ctx, db, "course "+code+" of provider "+provider, rows.Course.Course, selectCourse, provider, code)
}

// Key implements [ports.Configuration].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return get(ctx, db, "API key", rows.Key.Key, selectKey, hash[:])
}

// Keys implements [ports.Configurer].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return list(ctx, db, "API keys", rows.Key.Key, selectKeys)
}

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error {
	return db.write(ctx, "add API key "+key.ID, func(b *batch) {
		insert(b, insertKey, rows.OfKey(key))
		insert(b, insertAct, rows.OfAct(act))
	})
}

// RevokeKey implements [ports.Configurer].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, act checkout.Act) error {
	return db.locked(ctx, "revoke API key "+id, func(ctx context.Context, c *conn, b *batch) error {
		revoked, err := one(ctx, c, itself[value[int64]], selectRevoked, id)
		if err == nil && revoked.V == 0 {
			b.Queue(revokeKey, id, rows.Millis(at))
			insert(b, insertAct, rows.OfAct(act))
		}
		return err
	})
}

// ReplaceProviders implements [ports.Configurer].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	return db.locked(ctx, "", func(ctx context.Context, c *conn, b *batch) error { return c.replace(ctx, b, decide) })
}

// replace adds what replaces all configurations, and encrypts the webhook secrets anew.
func (c *conn) replace(ctx context.Context, b *batch,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	before, err := c.configurations(ctx)
	if err != nil {
		return err
	}
	after, acts, err := decide(before)
	if err != nil {
		return err
	}
	providers, courses, err := rows.OfConfigurations(after, c.db.encrypter)
	if err != nil {
		return err
	}
	b.Queue(`DELETE FROM courses`)
	b.Queue(`DELETE FROM providers`)
	insert(b, insertProvider, providers...)
	insert(b, insertCourse, courses...)
	for _, a := range acts {
		insert(b, insertAct, rows.OfAct(a))
	}
	return nil
}

// configurations returns every configuration.
func (c *conn) configurations(ctx context.Context) ([]catalogue.Configuration, error) {
	providers, err := all(ctx, c, c.db.provider, selectProviders)
	courses, coursesErr := all(ctx, c, itself[rows.Course], selectCourses)
	if err := errors.Join(err, coursesErr); err != nil {
		return nil, err
	}
	return rows.Configurations(providers, courses)
}
