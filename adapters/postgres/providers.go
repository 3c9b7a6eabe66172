package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	providerColumns = `code, name, account_id, environment, active, api_enabled, mode, enrolment_origins,
		success_url, cancel_url, display_name, primary_colour, logo_url, support_email, webhook_url, webhook_secret, notice_days`
	insertProvider = `INSERT INTO providers (` + providerColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`
	providers       = `SELECT ` + providerColumns + ` FROM providers`
	selectProviders = providers + ` ORDER BY code`
	selectProvider  = providers + ` WHERE code = $1`

	insertCourse = `INSERT INTO courses (provider_code, code, position, name, price_cents, upfront_cents, active, environment)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	insertOption = `INSERT INTO plan_options
		(provider_code, course_code, position, payment_frequency, number_of_instalments, instalment_cents)
		VALUES ($1, $2, $3, $4, $5, $6)`

	// A course comes in as many rows as it has options, and in one where it has none.
	courses = `SELECT c.provider_code, c.code, c.name, c.price_cents, c.upfront_cents, c.active, c.environment,
			o.course_code IS NOT NULL, coalesce(o.payment_frequency, ''),
			coalesce(o.number_of_instalments, 0), coalesce(o.instalment_cents, 0)
		FROM courses AS c
		LEFT JOIN plan_options AS o ON o.provider_code = c.provider_code AND o.course_code = c.code`
	selectCourse  = courses + ` WHERE c.provider_code = $1 AND c.code = $2 ORDER BY o.position`
	selectCourses = courses + ` ORDER BY c.provider_code, c.position, o.position`

	// Configurations are replaced one after the other, and no secret is taken into use meanwhile.
	lockStore = `SELECT environment, secret_fingerprint, coalesce(own_secret, '') FROM store WHERE id = 1 FOR UPDATE`
)

// Provider implements [ports.Providers].
func (db *DB) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := one(ctx, db, db.scanProvider, selectProvider, code)
	if err != nil {
		return p, fmt.Errorf("read provider %s: %w", code, err)
	}
	return p, nil
}

// Providers implements [ports.Providers].
func (db *DB) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	list, err := all(ctx, db, db.scanProvider, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	return list, nil
}

func (db *DB) scanProvider(r pgx.CollectableRow) (p catalogue.Provider, err error) {
	var origins string
	var secret []byte
	brand, to := &p.Branding, &p.Destination
	err = r.Scan(
		&p.Code, &p.Name, &p.AccountID, &p.Environment, &p.Active, &p.APIEnabled, &p.Mode, &origins,
		&p.SuccessURL, &p.CancelURL, &brand.DisplayName, &brand.PrimaryColour, &brand.LogoURL, &brand.SupportEmail,
		&to.URL, &secret, &p.NoticeDays,
	)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(origins), &p.EnrolmentOrigins); err != nil {
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

// providerCourse is a course with one of its options at most, and whose it is.
type providerCourse struct {
	provider string
	course   catalogue.Course
}

func scanCourse(r pgx.CollectableRow) (pc providerCourse, err error) {
	var option bool
	var o catalogue.Option
	c := &pc.course
	err = r.Scan(&pc.provider, &c.Code, &c.Name, &c.Price, &c.Upfront, &c.Active, &c.Environment,
		&option, &o.Frequency, &o.Number, &o.Amount)
	if option {
		c.Options = []catalogue.Option{o}
	}
	return pc, err
}

// gather makes one course of neighbouring rows of one code, by provider.
func gather(list []providerCourse) map[string][]catalogue.Course {
	of := make(map[string][]catalogue.Course)
	for _, pc := range list {
		courses := of[pc.provider]
		if n := len(courses); n > 0 && courses[n-1].Code == pc.course.Code {
			courses[n-1].Options = append(courses[n-1].Options, pc.course.Options...)
			continue
		}
		of[pc.provider] = append(courses, pc.course)
	}
	return of
}

// Course implements [ports.Providers].
func (db *DB) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	list, err := all(ctx, db, scanCourse, selectCourse, provider, code)
	if err == nil && len(list) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return catalogue.Course{}, fmt.Errorf("read course of provider %s: %w", provider, err)
	}
	return gather(list)[provider][0], nil
}

// configurations reads all of them in the order of their codes.
func (db *DB) configurations(ctx context.Context, q querier) ([]catalogue.Configuration, error) {
	providers, err := rows(ctx, q, db.scanProvider, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	list, err := rows(ctx, q, scanCourse, selectCourses)
	if err != nil {
		return nil, fmt.Errorf("read courses: %w", err)
	}
	courses := gather(list)
	var all []catalogue.Configuration
	for _, p := range providers {
		all = append(all, catalogue.Configuration{Provider: p, Courses: courses[p.Code]})
	}
	return all, nil
}

// ReplaceProviders implements [ports.Providers].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, error)) error {
	var refusal error
	var after []catalogue.Configuration // of the latest try
	err := db.do(ctx, func(ctx context.Context, t *try) error {
		var locked stamp
		if err := t.begin(ctx, locked.read, lockStore); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		before, err := db.configurations(ctx, t.conn)
		if err != nil {
			return err
		}
		if t.doubt && len(catalogue.Diff(before, after)) == 0 {
			return nil // an earlier try did it
		}
		if after, refusal = decide(before); refusal != nil {
			return nil // which leaves nothing behind, for nothing was written
		}
		var b pgx.Batch
		for _, table := range []string{`plan_options`, `courses`, `providers`} {
			b.Queue(`DELETE FROM ` + table)
		}
		for _, c := range after {
			if err := db.queueConfiguration(&b, c); err != nil {
				return fmt.Errorf("provider %s: %w", c.Provider.Code, err)
			}
		}
		return t.commit(ctx, &b)
	})
	switch {
	case err != nil:
		return fmt.Errorf("replace providers: %w", err)
	case refusal != nil:
		return refusal
	}
	return nil
}

func (db *DB) queueConfiguration(b *pgx.Batch, conf catalogue.Configuration) error {
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
	b.Queue(insertProvider,
		p.Code, p.Name, p.AccountID, p.Environment, p.Active, p.APIEnabled, p.Mode, string(origins),
		p.SuccessURL, p.CancelURL, brand.DisplayName, brand.PrimaryColour, brand.LogoURL, brand.SupportEmail,
		p.Destination.URL, secret, p.NoticeDays)
	for i, c := range conf.Courses {
		b.Queue(insertCourse, p.Code, c.Code, i, c.Name, c.Price, c.Upfront, c.Active, c.Environment)
		for j, o := range c.Options {
			b.Queue(insertOption, p.Code, c.Code, j, o.Frequency, o.Number, o.Amount)
		}
	}
	return nil
}
