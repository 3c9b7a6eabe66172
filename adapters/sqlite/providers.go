package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	providerColumns = `code, name, account_id, environment, active, api_enabled, mode, enrolment_origins,
		success_url, cancel_url, display_name, primary_colour, logo_url, support_email, webhook_url, webhook_secret, notice_days`
	insertProvider = `INSERT INTO providers (` + providerColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectProviders = `SELECT ` + providerColumns + ` FROM providers ORDER BY code`
	selectProvider  = `SELECT ` + providerColumns + ` FROM providers WHERE code = ?`

	insertCourse = `INSERT INTO courses (provider_code, code, position, name, price_cents, upfront_cents, active, environment)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	insertOption = `INSERT INTO plan_options
		(provider_code, course_code, position, payment_frequency, number_of_instalments, instalment_cents)
		VALUES (?, ?, ?, ?, ?, ?)`

	// A course comes in as many rows as it has options, and in one where it has none.
	courses = `SELECT c.code, c.name, c.price_cents, c.upfront_cents, c.active, c.environment,
			o.course_code IS NOT NULL, coalesce(o.payment_frequency, ''),
			coalesce(o.number_of_instalments, 0), coalesce(o.instalment_cents, 0)
		FROM courses AS c
		LEFT JOIN plan_options AS o ON o.provider_code = c.provider_code AND o.course_code = c.code`
	selectCourse  = courses + ` WHERE c.provider_code = ? AND c.code = ? ORDER BY o.position`
	selectCourses = courses + ` WHERE c.provider_code = ? ORDER BY c.position, o.position`
)

// Provider implements [ports.Providers].
func (db *DB) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := one(ctx, &db.readers, db.scanProvider, selectProvider, code)
	if err != nil {
		return p, fmt.Errorf("read provider %s: %w", code, err)
	}
	return p, nil
}

// Providers implements [ports.Providers].
func (db *DB) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	list, err := all(ctx, &db.readers, db.scanProvider, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	return list, nil
}

func (db *DB) scanProvider(r row) (p catalogue.Provider, err error) {
	var origins, secret []byte
	brand, to := &p.Branding, &p.Destination
	err = r.Scan(
		&p.Code, &p.Name, &p.AccountID, &p.Environment, &p.Active, &p.APIEnabled, &p.Mode, &origins,
		&p.SuccessURL, &p.CancelURL, &brand.DisplayName, &brand.PrimaryColour, &brand.LogoURL, &brand.SupportEmail,
		&to.URL, &secret, &p.NoticeDays,
	)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(origins, &p.EnrolmentOrigins); err != nil {
		return p, fmt.Errorf("enrolment origins of provider %s: %w", p.Code, err)
	}
	if len(p.EnrolmentOrigins) == 0 {
		p.EnrolmentOrigins = nil
	}
	if secret == nil {
		return p, nil
	}
	plain, err := db.box.Open(secret, sealedAt(p.Code))
	to.Secret = string(plain)
	return p, err
}

// sealedAt is the place that a provider's signing secret is sealed for.
func sealedAt(provider string) string { return "webhook/" + provider }

// Course implements [ports.Providers].
func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	rows, err := all(ctx, &db.readers, scanCourse, selectCourse, provider, code)
	if err == nil && len(rows) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return catalogue.Course{}, fmt.Errorf("read course of provider %s: %w", provider, err)
	}
	return gather(rows)[0], nil
}

// scanCourse reads a course with one of its options at most.
func scanCourse(r row) (c catalogue.Course, err error) {
	var option bool
	var o catalogue.Option
	err = r.Scan(&c.Code, &c.Name, &c.Price, &c.Upfront, &c.Active, &c.Environment,
		&option, &o.Frequency, &o.Number, &o.Amount)
	if option {
		c.Options = []catalogue.Option{o}
	}
	return c, err
}

// gather makes one course of neighbouring rows of one code.
func gather(rows []catalogue.Course) (list []catalogue.Course) {
	for _, c := range rows {
		if n := len(list); n > 0 && list[n-1].Code == c.Code {
			list[n-1].Options = append(list[n-1].Options, c.Options...)
			continue
		}
		list = append(list, c)
	}
	return list
}

// eachConfiguration passes the configurations to visit in the order of their codes.
func (db *DB) eachConfiguration(ctx context.Context, src source, visit func(catalogue.Configuration) error) error {
	return each(ctx, src, db.scanProvider, func(p catalogue.Provider) error {
		rows, err := all(ctx, src, scanCourse, selectCourses, p.Code)
		if err != nil {
			return fmt.Errorf("read courses of provider %s: %w", p.Code, err)
		}
		return visit(catalogue.Configuration{Provider: p, Courses: gather(rows)})
	}, selectProviders)
}

// ReplaceProviders implements [ports.Providers].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		var before []catalogue.Configuration
		err := db.eachConfiguration(ctx, tx, func(c catalogue.Configuration) error {
			before = append(before, c)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read providers: %w", err)
		}
		after, err := decide(before)
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
		return nil
	})
}

func (db *DB) storeConfiguration(ctx context.Context, tx *tx, conf catalogue.Configuration) error {
	p := conf.Provider
	origins, err := json.Marshal(append([]string{}, p.EnrolmentOrigins...))
	if err != nil {
		return err
	}
	var secret []byte // NULL where there is none
	if p.Destination.Secret != "" {
		if secret, err = db.box.Seal([]byte(p.Destination.Secret), sealedAt(p.Code)); err != nil {
			return err
		}
	}
	brand := p.Branding
	_, err = tx.exec(ctx, insertProvider,
		p.Code, p.Name, p.AccountID, p.Environment, p.Active, p.APIEnabled, p.Mode, string(origins),
		p.SuccessURL, p.CancelURL, brand.DisplayName, brand.PrimaryColour, brand.LogoURL, brand.SupportEmail,
		p.Destination.URL, secret, p.NoticeDays)
	if err != nil {
		return err
	}
	for i, c := range conf.Courses {
		if err := tx.storeCourse(ctx, p.Code, i, c); err != nil {
			return fmt.Errorf("course %s: %w", c.Code, err)
		}
	}
	return nil
}

func (tx *tx) storeCourse(ctx context.Context, provider string, position int, c catalogue.Course) error {
	_, err := tx.exec(ctx, insertCourse, provider, c.Code, position, c.Name, c.Price, c.Upfront, c.Active, c.Environment)
	if err != nil {
		return err
	}
	for i, o := range c.Options {
		if _, err := tx.exec(ctx, insertOption, provider, c.Code, i, o.Frequency, o.Number, o.Amount); err != nil {
			return err
		}
	}
	return nil
}
