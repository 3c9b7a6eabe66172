package sqlite

import (
	"context"
	"math"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const momentColumns = `provider_code, checkout_id, id, position, at_ms, kind, actor, request_id, detail, times`

const (
	insertMoment = `INSERT INTO moments (` + momentColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (provider_code, checkout_id, id) DO UPDATE SET times = times + excluded.times`
	// noteMoment adds a moment of a checkout that is on record.
	noteMoment = `INSERT INTO moments (` + momentColumns + `)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE EXISTS (SELECT 1 FROM checkouts WHERE provider_code = ?1 AND id = ?2)
		ON CONFLICT (provider_code, checkout_id, id) DO UPDATE SET times = times + excluded.times`
	selectMoments = `SELECT ` + momentColumns + ` FROM moments WHERE provider_code = ? AND checkout_id = ? ORDER BY position, id`

	noteUse = `UPDATE api_keys SET last_used = ?2 WHERE id = ?1 AND last_used < ?2`

	actColumns = `provider_code, at_ms, id, operator, act, subject, reason, changes`
	insertAct  = `INSERT INTO acts (` + actColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	selectActs = `SELECT ` + actColumns + ` FROM acts
		WHERE (?1 = '' OR provider_code = ?1) AND (?2 = '' OR subject = ?2) AND at_ms >= ?3 ORDER BY at_ms DESC, id DESC LIMIT ?4`
)

// Note implements [ports.Journal].
func (db *DB) Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error {
	var list []rows.Moment
	for i, n := range moments {
		m := checkout.NumberMoments([]checkout.Moment{n.Moment}, checkout.FirstPosition(n.Moment.At)+int64(i))[0]
		list = append(list, rows.OfMoment(checkout.ProviderOf(n.CheckoutID), n.CheckoutID, m))
	}
	return db.write(ctx, "note moments", func(t *tx) {
		insert(t, noteMoment, list...)
		for _, u := range uses {
			t.exec(noteUse, u.KeyID, u.Day)
		}
	})
}

// Moments implements [ports.Journal].
func (db *DB) Moments(ctx context.Context, checkoutID string) (list []checkout.Moment, err error) {
	err = db.read(ctx, func(c *conn) error {
		list, err = momentsOf(ctx, c, checkoutID)
		return err
	})
	return list, wrap(err, "moments of "+checkoutID)
}

func momentsOf(ctx context.Context, c *conn, checkoutID string) ([]checkout.Moment, error) {
	return collect(ctx, c, func(r rows.Moment) (checkout.Moment, error) { return r.Moment(), nil }, selectMoments,
		checkout.ProviderOf(checkoutID), checkoutID)
}

// Acts implements [ports.Desk].
func (db *DB) Acts(ctx context.Context, f checkout.ActFilter, limit int) (list []checkout.Act, err error) {
	err = db.ask(ctx, func(ctx context.Context, c *conn) error {
		list, err = collect(ctx, c, rows.Act.Record, selectActs, f.ProviderCode, f.Subject, since(f.Since), limit)
		return err
	})
	return list, wrap(err, "acts")
}

// since returns the first time that a filter admits, as a column has it.
func since(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return rows.Millis(t)
}
