package sqlite

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
)

var (
	insertMoment = `INSERT INTO moments (provider_code, checkout_id, ` + sqlstore.Moment.Names() + `)
		VALUES (?, ?, (SELECT coalesce(max(position), 0) + 1 FROM moments WHERE provider_code = ? AND checkout_id = ?), ` + sqlstore.Moment[1:].Marks() + `)
		ON CONFLICT (provider_code, checkout_id, once) WHERE once <> '' DO UPDATE SET times = times + excluded.times`
	countRefusal = `INSERT INTO refusals (` + sqlstore.Refusal.Names() + `) VALUES (` + sqlstore.Refusal.Marks() + `)
		ON CONFLICT (provider_code, day, code, fields) DO UPDATE SET times = times + excluded.times`
)

const (
	hasCheckout    = `SELECT id FROM checkouts WHERE provider_code = ? AND id = ?`
	deleteRefusals = `DELETE FROM refusals WHERE provider_code = ? AND day < ?`
)

// note appends moments to the journal of a checkout.
func (tx *tx) note(ctx context.Context, provider, id string, moments []checkout.Moment) error {
	for _, m := range moments {
		m.Times = max(m.Times, 1)
		if _, err := tx.exec(ctx, insertMoment, sqlstore.Moment[1:].Values(&m, provider, id, provider, id)...); err != nil {
			return fmt.Errorf("append a moment to checkout %s: %w", id, err)
		}
	}
	return nil
}

// Note implements [ports.Journal].
func (db *DB) Note(ctx context.Context, noted []checkout.Noted, refused []checkout.Refusal) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		for _, n := range noted {
			provider := checkout.ProviderOf(n.CheckoutID)
			found, err := all(ctx, tx, scanValue[string], hasCheckout, provider, n.CheckoutID)
			if err == nil && len(found) > 0 {
				err = tx.note(ctx, provider, n.CheckoutID, []checkout.Moment{n.Moment})
			}
			if err != nil {
				return err
			}
		}
		for _, r := range refused {
			if _, err := tx.exec(ctx, countRefusal, sqlstore.Refusal.Values(&r)...); err != nil {
				return fmt.Errorf("count a refusal of %s: %w", r.ProviderCode, err)
			}
			if oldest, ok := sqlstore.OldestRefusal(r.Day); ok {
				if _, err := tx.exec(ctx, deleteRefusals, r.ProviderCode, oldest); err != nil {
					return fmt.Errorf("remove old refusals of %s: %w", r.ProviderCode, err)
				}
			}
		}
		return nil
	})
}
