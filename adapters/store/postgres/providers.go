package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertProvider = `INSERT INTO @.providers (` + sqlstore.Provider.Names() + `)
		VALUES (` + sqlstore.Provider.Numbers(1) + `)`
	providers       = `SELECT ` + sqlstore.Provider.Names() + ` FROM @.providers`
	selectProvider  = providers + ` WHERE code = $1`
	selectProviders = providers + ` ORDER BY code`

	courses = `SELECT ` + sqlstore.Course.Names() + ` FROM @.courses AS c
		LEFT JOIN @.plan_options AS o ON o.provider_code = c.provider_code AND o.course_code = c.code`
	selectCourse  = courses + ` WHERE c.provider_code = $1 AND c.code = $2 ORDER BY o.position`
	selectCourses = courses + ` ORDER BY c.provider_code, c.position, o.position`
)

const (
	insertCourse = `INSERT INTO @.courses (provider_code, code, position, name, price_cents, upfront_cents, active, environment)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	insertOption = `INSERT INTO @.plan_options
		(provider_code, course_code, position, payment_frequency, number_of_instalments, instalment_cents)
		VALUES ($1, $2, $3, $4, $5, $6)`
)

// Provider implements [ports.Configuration].
func (db *DB) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := one(ctx, db, db.scanProvider, selectProvider, code)
	if err != nil {
		return p, fmt.Errorf("read provider %s: %w", code, err)
	}
	return p, nil
}

// Providers implements [ports.Configuration].
func (db *DB) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	list, err := all(ctx, db, db.scanProvider, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	return list, nil
}

func (db *DB) scanProvider(r pgx.CollectableRow) (catalogue.Provider, error) {
	p, err := scanColumns(sqlstore.Provider)(r)
	if err != nil {
		return catalogue.Provider{}, err
	}
	return p.Provider(db.encrypter)
}

// Course implements [ports.Configuration].
func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	list, err := all(ctx, db, scanColumns(sqlstore.Course), selectCourse, provider, code)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return catalogue.Course{}, fmt.Errorf("read course of provider %s: %w", provider, err)
	}
	return sqlstore.Courses(list)[provider][0], nil
}

// configurations returns every configuration in the order of the codes.
func (db *DB) configurations(ctx context.Context, src source) ([]catalogue.Configuration, error) {
	providers, err := rows(ctx, src, db.scanProvider, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	list, err := rows(ctx, src, scanColumns(sqlstore.Course), selectCourses)
	if err != nil {
		return nil, fmt.Errorf("read courses: %w", err)
	}
	courses := sqlstore.Courses(list)
	var all []catalogue.Configuration
	for _, p := range providers {
		all = append(all, catalogue.Configuration{Provider: p, Courses: courses[p.Code]})
	}
	return all, nil
}

// ReplaceProviders implements [ports.Configurer]. The lock on the store's row makes replacements wait for each other, and
// for a rotation of the secret.
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error)) error {
	var refusal error
	var after []catalogue.Configuration // of the latest attempt
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		if err := t.begin(ctx, new(stamp).read, lockStore); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		before, err := db.configurations(ctx, t)
		if err != nil {
			return err
		}
		if t.outcomeUnknown && len(catalogue.Diff(before, after)) == 0 {
			return nil // an earlier attempt was committed
		}
		var did *evidence.Entry
		if after, did, refusal = decide(before); refusal != nil {
			return nil // nothing was written, and the transaction is rolled back
		}
		b := t.batch()
		for _, table := range []string{`@.plan_options`, `@.courses`, `@.providers`} {
			b.queue(`DELETE FROM ` + table)
		}
		for _, c := range after {
			if err := db.queueConfiguration(b, c); err != nil {
				return fmt.Errorf("provider %s: %w", c.Provider.Code, err)
			}
		}
		b.queueEvidence(did)
		return t.commit(ctx, b)
	})
	switch {
	case err != nil:
		return fmt.Errorf("replace providers: %w", err)
	case refusal != nil:
		return refusal
	}
	return nil
}

func (db *DB) queueConfiguration(b *batch, conf catalogue.Configuration) error {
	row, err := sqlstore.NewProviderRow(conf.Provider, db.encrypter)
	if err != nil {
		return err
	}
	provider := conf.Provider.Code
	b.queue(insertProvider, sqlstore.Provider.Values(&row)...)
	for i, c := range conf.Courses {
		b.queue(insertCourse, provider, c.Code, i, c.Name, int64(c.Price), int64(c.Upfront), c.Active, string(c.Environment))
		for j, o := range c.Options {
			b.queue(insertOption, provider, c.Code, j, string(o.Frequency), o.Number, int64(o.Amount))
		}
	}
	return nil
}
