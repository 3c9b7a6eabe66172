package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	providerColumns = `code, name, account_id, environment, active, api_enabled, mode, enrolment_origins, success_url, cancel_url,
		rate_limit, display_name, primary_colour, logo_url, support_email, webhook_url, webhook_secret`
	courseColumns = `provider_code, code, position, name, price_cents, upfront_cents, active, environment, options, prices`
	keyColumns    = `id, provider_code, environment, hash, created_ms, revoked_ms, label, expires_ms, last_used`

	selectProviders = `SELECT ` + providerColumns + ` FROM providers ORDER BY code`
	selectSome      = `SELECT ` + providerColumns + ` FROM providers WHERE code IN (SELECT value FROM json_each(?)) ORDER BY code`
	selectCourse    = `SELECT ` + courseColumns + ` FROM courses WHERE provider_code = ? AND code = ?`
	selectCourses   = `SELECT ` + courseColumns + ` FROM courses ORDER BY provider_code, position`
	selectKey       = `SELECT ` + keyColumns + ` FROM api_keys WHERE hash = ?`
	selectKeys      = `SELECT ` + keyColumns + ` FROM api_keys ORDER BY created_ms, id`

	selectChanges   = `SELECT configuration FROM store`
	countChange     = `UPDATE store SET configuration = configuration + 1 WHERE configuration = ?`
	deleteProviders = `DELETE FROM providers`
	deleteCourses   = `DELETE FROM courses`
	insertProvider  = `INSERT INTO providers (` + providerColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertCourse    = `INSERT INTO courses (` + courseColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	insertKey = `INSERT INTO api_keys (` + keyColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	revokeKey = `UPDATE api_keys SET revoked_ms = ? WHERE id = ? AND revoked_ms = 0`
	existsKey = `SELECT EXISTS (SELECT 1 FROM api_keys WHERE id = ?)`
)

// Providers implements [ports.Configuration].
func (db *DB) Providers(ctx context.Context, codes ...string) (list []catalogue.Provider, err error) {
	query, args := selectProviders, []any(nil)
	if len(codes) > 0 {
		query, args = selectSome, []any{jsonList(codes)}
	}
	err = db.read(ctx, func(c *conn) error {
		list, err = collect(ctx, c, db.provider, query, args...)
		return err
	})
	return list, wrap(err, "providers")
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
func (db *DB) configurations(ctx context.Context, c *conn) (list []catalogue.Configuration, err error) {
	providers, err := collect(ctx, c, db.provider, selectProviders)
	if err != nil {
		return nil, err
	}
	found, err := all[rows.Course](ctx, c, selectCourses)
	courses := map[string][]catalogue.Course{}
	for _, r := range found {
		course, parseErr := r.Course()
		courses[r.ProviderCode], err = append(courses[r.ProviderCode], course), errors.Join(err, parseErr)
	}
	for _, p := range providers {
		list = append(list, catalogue.Configuration{Provider: p, Courses: courses[p.Code]})
	}
	return list, err
}

// errChanged: the configuration was changed meanwhile.
var errChanged = errors.New("the configuration was changed meanwhile")

// ReplaceProviders implements [ports.Configurer].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	if db.writer == nil {
		return errReadOnly
	}
	for {
		var changes value[int64]
		var before []catalogue.Configuration
		err := db.snapshot(ctx, func(c *conn) (err error) {
			if changes, err = one[value[int64]](ctx, c, selectChanges); err == nil {
				before, err = db.configurations(ctx, c)
			}
			return err
		})
		if err != nil {
			return err
		}
		after, acts, err := decide(before)
		if err != nil {
			return err
		}
		if err = db.replaceProviders(ctx, changes.v, after, acts); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// replaceProviders stores a configuration over the change that it was decided on.
func (db *DB) replaceProviders(ctx context.Context, over int64, list []catalogue.Configuration, acts []checkout.Act) error {
	if twice := catalogue.Twice(list); twice != "" {
		return fmt.Errorf("%s: %w", twice, ports.ErrDuplicate)
	}
	var providers []rows.Provider
	var courses []rows.Course
	for _, of := range list {
		row, err := rows.OfProvider(of.Provider, db.encrypter)
		if err != nil {
			return err
		}
		providers = append(providers, row)
		for i, c := range of.Courses {
			courses = append(courses, rows.OfCourse(of.Provider.Code, i, c))
		}
	}
	return db.write(ctx, "replace providers", func(t *tx) {
		if t.exec(countChange, over) == 0 {
			t.fail(errChanged)
		}
		t.exec(deleteCourses)
		t.exec(deleteProviders)
		insert(t, insertProvider, providers...)
		insert(t, insertCourse, courses...)
		t.record(acts...)
	})
}

// record stores acts.
func (t *tx) record(acts ...checkout.Act) {
	for _, a := range acts {
		insert(t, insertAct, rows.OfAct(a))
	}
}

// Keys implements [ports.Configurer].
func (db *DB) Keys(ctx context.Context) (list []catalogue.Key, err error) {
	err = db.read(ctx, func(c *conn) error {
		list, err = collect(ctx, c, rows.Key.Key, selectKeys)
		return err
	})
	return list, wrap(err, "API keys")
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
		} else if exists, _ := find[value[int64]](t, existsKey, id); exists.v == 0 {
			t.fail(ports.ErrNotFound)
		}
	})
}
