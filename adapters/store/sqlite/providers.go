package sqlite

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

var insertProvider = `INSERT INTO providers (` + sqlstore.Provider.Names() + `) VALUES (` + sqlstore.Provider.Marks() + `)`

const (
	insertCourse = `INSERT INTO courses (provider_code, code, position, name, price_cents, upfront_cents, active, environment)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	insertOption = `INSERT INTO plan_options
		(provider_code, course_code, position, payment_frequency, number_of_instalments, instalment_cents)
		VALUES (?, ?, ?, ?, ?, ?)`
)

// ReplaceProviders implements [ports.Configurer].
func (db *DB) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		before, err := sqlstore.Configurations(ctx, tx, db.encrypter)
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
	row, err := sqlstore.NewProviderRow(conf.Provider, db.encrypter)
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, insertProvider, sqlstore.Provider.Values(&row)...); err != nil {
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
