package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	selectProviders = `SELECT ` + rows.ProviderColumns + ` FROM providers ORDER BY code`
	selectSome      = `SELECT ` + rows.ProviderColumns + ` FROM providers WHERE code IN (SELECT value FROM json_each(?)) ORDER BY code`
	selectCourse    = `SELECT ` + rows.CourseColumns + ` FROM courses WHERE provider_code = ? AND code = ?`
	selectCourses   = `SELECT ` + rows.CourseColumns + ` FROM courses ORDER BY provider_code, position`
	selectKey       = `SELECT ` + rows.KeyColumns + ` FROM api_keys WHERE hash = ?`
	selectKeys      = `SELECT ` + rows.KeyColumns + ` FROM api_keys ORDER BY created_ms, id`

	deleteProviders = `DELETE FROM providers`
	deleteCourses   = `DELETE FROM courses`
	insertProvider  = `INSERT INTO providers (` + rows.ProviderColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertCourse    = `INSERT INTO courses (` + rows.CourseColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	insertKey = `INSERT INTO api_keys (` + rows.KeyColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	revokeKey = `UPDATE api_keys SET revoked_ms = ? WHERE id = ? AND revoked_ms = 0`
	existsKey = `SELECT EXISTS (SELECT 1 FROM api_keys WHERE id = ?)`
)

// Providers implements [ports.Configuration].
func (db *DB) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	if len(codes) == 0 {
		return list(ctx, db, "providers", db.provider, selectProviders)
	}
	return list(ctx, db, "providers", db.provider, selectSome, jsonList(codes))
}

func (db *DB) provider(r rows.Provider) (catalogue.Provider, error) { return r.Provider(db.encrypter) }

// jsonList returns texts as the statements take a list.
func jsonList[T ~string](list []T) string {
	text, err := json.Marshal(append([]T{}, list...))
	if err != nil {
		panic(err) // a text always marshals
	}
	return string(text)
}

// Course implements [ports.Configuration].
func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return get(ctx, db, "course of provider "+provider, rows.Course.Course, selectCourse, provider, code)
}

// Key implements [ports.Configuration].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return get(ctx, db, "API key", rows.Key.Key, selectKey, hash[:])
}

// configurations returns everything that is configured.
func (db *DB) configurations(ctx context.Context, c *conn) ([]catalogue.Configuration, error) {
	providers, err := all(ctx, c, db.provider, selectProviders)
	courses, coursesErr := all(ctx, c, itself[rows.Course], selectCourses)
	if err := errors.Join(err, coursesErr); err != nil {
		return nil, err
	}
	return rows.Configurations(providers, courses)
}

// ReplaceProviders implements [ports.Configurer].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	return db.do(ctx, false, func(t *tx) {
		if err := db.replace(ctx, t, decide); err != nil {
			t.fail(err)
		}
	})
}

// replace replaces all configurations, and encrypts the webhook secrets anew.
func (db *DB) replace(ctx context.Context, t *tx,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	before, err := db.configurations(ctx, t.conn)
	if err != nil {
		return err
	}
	after, acts, err := decide(before)
	if err != nil {
		return err
	}
	providers, courses, err := rows.OfConfigurations(after, db.encrypter)
	if err != nil {
		return err
	}
	t.exec(deleteCourses)
	t.exec(deleteProviders)
	insert(t, insertProvider, providers...)
	insert(t, insertCourse, courses...)
	t.record(acts...)
	return nil
}

// record stores acts.
func (t *tx) record(acts ...checkout.Act) {
	for _, a := range acts {
		insert(t, insertAct, rows.OfAct(a))
	}
}

// Keys implements [ports.Configurer].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return list(ctx, db, "API keys", rows.Key.Key, selectKeys)
}

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error {
	return db.write(ctx, "API key "+key.ID, func(t *tx) {
		insert(t, insertKey, rows.OfKey(key))
		t.record(act)
	})
}

// RevokeKey implements [ports.Configurer].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, act checkout.Act) error {
	return db.write(ctx, "API key "+id, func(t *tx) {
		if t.exec(revokeKey, rows.Millis(at), id) > 0 {
			t.record(act)
		} else if !t.reports(existsKey, id) {
			t.fail(ports.ErrNotFound)
		}
	})
}
