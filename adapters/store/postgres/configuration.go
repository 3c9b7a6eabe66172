package postgres

import (
	"context"
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

	selectProviders = `SELECT ` + providerColumns + ` FROM @.providers ORDER BY code`
	selectSome      = `SELECT ` + providerColumns + ` FROM @.providers WHERE code = ANY($1) ORDER BY code`
	selectCourses   = `SELECT ` + courseColumns + ` FROM @.courses ORDER BY provider_code, position`
	selectCourse    = `SELECT ` + courseColumns + ` FROM @.courses WHERE provider_code = $1 AND code = $2`
	selectKeys      = `SELECT ` + keyColumns + ` FROM @.api_keys ORDER BY created_ms, id`
	selectKey       = `SELECT ` + keyColumns + ` FROM @.api_keys WHERE hash = $1`
	selectRevoked   = `SELECT revoked_ms FROM @.api_keys WHERE id = $1`
	revokeKey       = `UPDATE @.api_keys SET revoked_ms = $2 WHERE id = $1`
)

var (
	insertProvider = insert("providers", providerColumns)
	insertCourse   = insert("courses", courseColumns)
	insertKey      = insert("api_keys", keyColumns)
)

// Providers implements [ports.Configuration].
func (db *DB) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	found, err := read(ctx, db, func(ctx context.Context, c *conn) ([]rows.Provider, error) {
		if len(codes) == 0 {
			return all[rows.Provider](ctx, c, selectProviders)
		}
		return all[rows.Provider](ctx, c, selectSome, codes)
	})
	if err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	var list []catalogue.Provider
	for _, r := range found {
		p, err := r.Provider(db.encrypter)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// Course implements [ports.Configuration].
func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return read(ctx, db, func(ctx context.Context, c *conn) (v catalogue.Course, err error) {
		r, err := one[rows.Course](ctx, c, selectCourse, provider, code)
		if err != nil {
			return v, fmt.Errorf("course %s of provider %s: %w", code, provider, err)
		}
		return r.Course()
	})
}

// Key implements [ports.Configuration].
func (db *DB) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return read(ctx, db, func(ctx context.Context, c *conn) (k catalogue.Key, err error) {
		r, err := one[rows.Key](ctx, c, selectKey, hash[:])
		if err != nil {
			return k, fmt.Errorf("API key: %w", err)
		}
		return r.Key()
	})
}

// Keys implements [ports.Configurer].
func (db *DB) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return read(ctx, db, func(ctx context.Context, c *conn) ([]catalogue.Key, error) { return c.keys(ctx) })
}

func (c *conn) keys(ctx context.Context) (list []catalogue.Key, err error) {
	found, err := all[rows.Key](ctx, c, selectKeys)
	for _, r := range found {
		k, err := r.Key()
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, err
}

// AddKey implements [ports.Configurer].
func (db *DB) AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error {
	err := db.write(ctx, func(b *batch) {
		row := rows.OfKey(key)
		b.add(insertKey, bound(row.Fields())...)
		b.act(act)
	})
	if err != nil {
		return fmt.Errorf("add API key %s: %w", key.ID, err)
	}
	return nil
}

// RevokeKey implements [ports.Configurer].
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time, act checkout.Act) error {
	err := db.locked(ctx, func(ctx context.Context, c *conn, b *batch) error {
		revoked, err := one[value[int64]](ctx, c, selectRevoked, id)
		if err == nil && revoked.v == 0 {
			b.add(revokeKey, id, rows.Millis(at))
			b.act(act)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return nil
}

// ReplaceProviders implements [ports.Configurer].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	return db.locked(ctx, func(ctx context.Context, c *conn, b *batch) error {
		before, err := c.configurations(ctx)
		if err != nil {
			return err
		}
		after, acts, err := decide(before)
		if err != nil {
			return err
		}
		if twice := catalogue.Twice(after); twice != "" {
			return fmt.Errorf("%s: %w", twice, ports.ErrDuplicate)
		}
		b.add(`DELETE FROM @.courses`)
		b.add(`DELETE FROM @.providers`)
		for _, v := range after {
			row, err := rows.OfProvider(v.Provider, db.encrypter)
			if err != nil {
				return err
			}
			b.add(insertProvider, bound(row.Fields())...)
			for i, course := range v.Courses {
				row := rows.OfCourse(v.Provider.Code, i, course)
				b.add(insertCourse, bound(row.Fields())...)
			}
		}
		for _, a := range acts {
			b.act(a)
		}
		return nil
	})
}

// configurations returns every configuration.
func (c *conn) configurations(ctx context.Context) (list []catalogue.Configuration, err error) {
	providers, err := all[rows.Provider](ctx, c, selectProviders)
	courses, coursesErr := all[rows.Course](ctx, c, selectCourses)
	if err := errors.Join(err, coursesErr); err != nil {
		return nil, err
	}
	of := map[string][]catalogue.Course{}
	for _, r := range courses {
		course, err := r.Course()
		if err != nil {
			return nil, err
		}
		of[r.ProviderCode] = append(of[r.ProviderCode], course)
	}
	for _, r := range providers {
		p, err := r.Provider(c.db.encrypter)
		if err != nil {
			return nil, err
		}
		list = append(list, catalogue.Configuration{Provider: p, Courses: of[p.Code]})
	}
	return list, nil
}
