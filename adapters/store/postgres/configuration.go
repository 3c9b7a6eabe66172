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

func (db *DB) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	if len(codes) == 0 {
		return list(ctx, db, "providers", db.provider, selectProviders)
	}
	return list(ctx, db, "providers", db.provider, selectSome, codes)
}

func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return get(ctx, db, "course "+code+" of provider "+provider, rows.Course.Course, selectCourse, provider, code)
}

func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return get(ctx, db, "API key", rows.Key.Key, selectKey, hash[:])
}

func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return list(ctx, db, "API keys", rows.Key.Key, selectKeys)
}

func (db *DB) AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error {
	return db.write(ctx, "add API key "+key.ID, func(b *batch) {
		insert(b, insertKey, rows.OfKey(key))
		insert(b, insertAct, rows.OfAct(act))
	})
}

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

const (
	selectMoments = `SELECT ` + rows.MomentColumns + ` FROM moments WHERE provider_code = $1 AND checkout_id = $2 ORDER BY position, id`
	noteUse       = `UPDATE api_keys SET last_used_ms = $2 WHERE id = $1 AND last_used_ms < $2`
)

func (db *DB) Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error {
	return db.write(ctx, "note moments", func(b *batch) {
		insert(b, addMoment, rows.OfNoted(moments)...)
		for _, u := range uses {
			b.Queue(noteUse, u.KeyID, rows.Millis(u.Minute))
		}
	})
}

func (db *DB) Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error) {
	return list(ctx, db, "moments of "+checkoutID, rows.Moment.Moment, selectMoments, checkout.ProviderOf(checkoutID), checkoutID)
}

const (
	selectOld = `SELECT id, status, created_ms, erased_ms, EXISTS (SELECT 1 FROM jobs AS j
			WHERE j.provider_code = c.provider_code AND j.checkout_id = c.id AND ` + oldJob + `)
		FROM checkouts AS c WHERE (provider_code, id) > ($1, $2) ORDER BY provider_code, id LIMIT $5`
	deleteOld = `DELETE FROM jobs WHERE provider_code = $1 AND checkout_id = $2 AND ` + oldJob
	// oldJob takes how long an event and another job is kept.
	oldJob = `state <> 'pending' AND kind <> 'sync'
		AND settled_ms < ` + clock + ` - CASE kind WHEN 'deliver' THEN CAST($3 AS bigint) ELSE CAST($4 AS bigint) END`
)

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (db *DB) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error) {
	events, others := checkout.EventsKept.Milliseconds(), checkout.JobsKept.Milliseconds()
	page, err := list(ctx, db, "old checkouts", itself[rows.Kept], selectOld, checkout.ProviderOf(cursor), cursor, events, others, limit+1)
	if err != nil {
		return nil, "", err
	}
	ids, withOldJobs, next := rows.Old(page, limit, confirmed, open)
	if len(withOldJobs) > 0 {
		err = db.write(ctx, "delete old jobs", func(b *batch) {
			for _, id := range withOldJobs {
				b.Queue(deleteOld, checkout.ProviderOf(id), id, events, others)
			}
		})
	}
	return ids, next, err
}

// KeepSandboxRecord stores a record of the fake processor under a name, unless there is one already: that stays.
func (db *DB) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	return db.write(ctx, "sandbox record "+name, func(b *batch) {
		b.Queue(`INSERT INTO sandbox_records (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, data)
	})
}

// SandboxRecord returns the record under a name, or ports.ErrNotFound.
func (db *DB) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	r, err := get(ctx, db, "sandbox record "+name, itself[value[[]byte]], `SELECT data FROM sandbox_records WHERE name = $1`, name)
	return r.V, err
}

// DropSandboxRecords removes the records under the names with a prefix.
func (db *DB) DropSandboxRecords(ctx context.Context, prefix string) error {
	return db.write(ctx, "sandbox records "+prefix, func(b *batch) {
		b.Queue(`DELETE FROM sandbox_records WHERE starts_with(name, $1)`, prefix)
	})
}
