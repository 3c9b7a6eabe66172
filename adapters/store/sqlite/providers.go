package sqlite

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertProvider = `INSERT INTO providers (` + column.Provider.Names() + `)
		VALUES (` + column.Provider.Marks() + `)`
	providers       = `SELECT ` + column.Provider.Names() + ` FROM providers`
	selectProvider  = providers + ` WHERE code = ?`
	selectProviders = providers + ` ORDER BY code`

	courses = `SELECT ` + column.Course.Names() + ` FROM courses AS c
		LEFT JOIN plan_options AS o ON o.provider_code = c.provider_code AND o.course_code = c.code`
	selectCourse  = courses + ` WHERE c.provider_code = ? AND c.code = ? ORDER BY o.position`
	selectCourses = courses + ` ORDER BY c.provider_code, c.position, o.position`
)

const (
	insertCourse = `INSERT INTO courses (provider_code, code, position, name, price_cents, upfront_cents, active, environment)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	insertOption = `INSERT INTO plan_options
		(provider_code, course_code, position, payment_frequency, number_of_instalments, instalment_cents)
		VALUES (?, ?, ?, ?, ?, ?)`
)

// Provider implements [ports.Configuration].
func (db *DB) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := one(ctx, &db.readers, db.scanProvider, selectProvider, code)
	if err != nil {
		return p, fmt.Errorf("read provider %s: %w", code, err)
	}
	return p, nil
}

// Providers implements [ports.Configuration].
func (db *DB) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	list, err := all(ctx, &db.readers, db.scanProvider, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	return list, nil
}

func (db *DB) scanProvider(r row) (catalogue.Provider, error) {
	p, err := scanColumns(column.Provider)(r)
	if err != nil {
		return catalogue.Provider{}, err
	}
	return p.Provider(db.encrypter)
}

// Course implements [ports.Configuration].
func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	rows, err := all(ctx, &db.readers, scanColumns(column.Course), selectCourse, provider, code)
	if err == nil && len(rows) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return catalogue.Course{}, fmt.Errorf("read course of provider %s: %w", provider, err)
	}
	return column.Courses(rows)[provider][0], nil
}

// configurations returns every configuration in the order of the codes.
func (db *DB) configurations(ctx context.Context, src source) ([]catalogue.Configuration, error) {
	providers, err := all(ctx, src, db.scanProvider, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	rows, err := all(ctx, src, scanColumns(column.Course), selectCourses)
	if err != nil {
		return nil, fmt.Errorf("read courses: %w", err)
	}
	courses := column.Courses(rows)
	var list []catalogue.Configuration
	for _, p := range providers {
		list = append(list, catalogue.Configuration{Provider: p, Courses: courses[p.Code]})
	}
	return list, nil
}

// ReplaceProviders implements [ports.Configurer].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		before, err := db.configurations(ctx, tx)
		if err != nil {
			return err
		}
		after, did, err := decide(before)
		if err != nil {
			return err
		}
		for _, table := range []string{`plan_options`, `courses`, `providers`} {
			if _, err := tx.exec(ctx, `DELETE FROM `+table); err != nil {
				return fmt.Errorf("replace %s: %w", table, err)
			}
		}
		for _, c := range after {
			if err := db.storeConfiguration(ctx, tx, c); err != nil {
				return fmt.Errorf("store provider %s: %w", c.Provider.Code, err)
			}
		}
		return tx.storeEvidenceIf(ctx, did)
	})
}

func (db *DB) storeConfiguration(ctx context.Context, tx *tx, conf catalogue.Configuration) error {
	row, err := column.NewProviderRow(conf.Provider, db.encrypter)
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, insertProvider, column.Provider.Values(&row)...); err != nil {
		return err
	}
	for i, c := range conf.Courses {
		if err := tx.storeCourse(ctx, conf.Provider.Code, i, c); err != nil {
			return fmt.Errorf("course %s: %w", c.Code, err)
		}
	}
	return nil
}

func (tx *tx) storeCourse(ctx context.Context, provider string, position int, c catalogue.Course) error {
	_, err := tx.exec(ctx, insertCourse, provider, c.Code, position, c.Name, int64(c.Price), int64(c.Upfront), c.Active, string(c.Environment))
	if err != nil {
		return err
	}
	for i, o := range c.Options {
		_, err := tx.exec(ctx, insertOption, provider, c.Code, i, string(o.Frequency), o.Number, int64(o.Amount))
		if err != nil {
			return err
		}
	}
	return nil
}
