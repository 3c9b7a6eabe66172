package postgres

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

var insertProvider = `INSERT INTO @.providers (` + sqlstore.Provider.Names() + `) VALUES (` + sqlstore.Provider.Numbers(1) + `)`

const (
	insertCourse = `INSERT INTO @.courses (provider_code, code, position, name, price_cents, upfront_cents, active, environment)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	insertOption = `INSERT INTO @.plan_options
		(provider_code, course_code, position, payment_frequency, number_of_instalments, instalment_cents)
		VALUES ($1, $2, $3, $4, $5, $6)`
)

// ReplaceProviders implements [ports.Configurer]. The lock on the store's row makes replacements wait for each other, and
// for a rotation of the secret.
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error)) error {
	var refusal error
	var after []catalogue.Configuration // of the latest attempt
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		if err := t.begin(ctx, func(b *batch) { b.queue(lockStore).QueryRow(new(stamp).read) }); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		before, err := sqlstore.Configurations(ctx, t, db.encrypter)
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
		if err := checkNames(after); err != nil {
			return err
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
		return t.commitUnless(ctx, b, func() (bool, error) { return t.recorded(ctx, did) })
	})
	switch {
	case err != nil:
		return fmt.Errorf("replace providers: %w", err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// checkNames returns ErrDuplicate if a provider's code comes twice, or a course's within a provider.
func checkNames(all []catalogue.Configuration) error {
	providers := map[string]bool{}
	for _, c := range all {
		courses := map[string]bool{}
		for _, course := range c.Courses {
			if courses[course.Code] {
				return fmt.Errorf("course %s of provider %s: %w", course.Code, c.Provider.Code, ports.ErrDuplicate)
			}
			courses[course.Code] = true
		}
		if providers[c.Provider.Code] {
			return fmt.Errorf("provider %s: %w", c.Provider.Code, ports.ErrDuplicate)
		}
		providers[c.Provider.Code] = true
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
