package postgres

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	insertCheckout = `INSERT INTO checkouts (` + rows.CheckoutColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
		$16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43)`
	insertAgreement = `INSERT INTO agreements (` + rows.AgreementColumns + `) VALUES ($1, $2, $3, $4)`
	insertDocument  = `INSERT INTO documents (` + rows.DocumentColumns + `) VALUES ($1, $2, $3, $4)`
	insertAct       = `INSERT INTO acts (` + rows.ActColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	// addMoment adds a moment, unless its checkout is unknown.
	addMoment = `INSERT INTO moments AS m (` + rows.MomentColumns + `)
		SELECT provider_code, id, CAST($3 AS text), CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS text), CAST($7 AS text),
			CAST($8 AS text), CAST($9 AS text), CAST($10 AS bigint)
		FROM checkouts WHERE provider_code = $1 AND id = $2
		ON CONFLICT (provider_code, checkout_id, id) DO UPDATE SET times = m.times + excluded.times`

	selectCheckouts = `SELECT ` + rows.CheckoutColumns + `, current_setting('synchronous_standby_names') <> '' FROM checkouts WHERE `
	byID            = selectCheckouts + `provider_code = $1 AND id = $2`
	byOrder         = selectCheckouts + `provider_code = $1 AND provider_order_id = $2`
	byKey           = selectCheckouts + `provider_code = $1 AND idempotency_key = $2`
	byRequest       = selectCheckouts + `billing_request_id = $1 AND billing_request_id <> '' LIMIT 1`
	byMandate       = selectCheckouts + `mandate_id = $1 AND mandate_id <> '' LIMIT 1`
	byAgreement     = selectCheckouts + `(provider_code, id) IN (SELECT provider_code, checkout_id FROM agreements WHERE number = $1) LIMIT 1`

	selectAgreement = `SELECT ` + rows.AgreementColumns + ` FROM agreements WHERE provider_code = $1 AND checkout_id = $2`
	selectDocument  = `SELECT ` + rows.DocumentColumns + ` FROM documents WHERE provider_code = $1 AND checkout_id = $2`

	eraseAgreement = `UPDATE agreements SET facts = $3 WHERE provider_code = $1 AND checkout_id = $2`
	eraseDocument  = `UPDATE documents SET bytes = '' WHERE provider_code = $1 AND checkout_id = $2`
	eraseJobs      = `UPDATE jobs SET failure = '', receipt = '' WHERE provider_code = $1 AND checkout_id = $2`
)

var updateCheckout = once(`UPDATE checkouts SET (` + rows.StateColumns + `) = ROW($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
	$18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42)
	WHERE provider_code = $1 AND id = $2 AND revision = $3`)

// once returns an update that is ErrNotFound unless it changes one row: it divides by the number of rows that it has changed.
func once(update string) string {
	return `WITH changed AS (` + update + ` RETURNING 1) SELECT 1 / count(*) FROM changed`
}

// found is a checkout that was read.
type found struct {
	rows.Checkout
	demanded bool // a standby must have it
}

func (f *found) Fields() []any { return append(f.Checkout.Fields(), &f.demanded) }

func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return db.find(ctx, false, "checkout "+id, byID, checkout.ProviderOf(id), id)
}

func (db *DB) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	const what = "checkout by a reference"
	switch {
	case by.OrderID != "":
		return db.find(ctx, true, what, byOrder, by.ProviderCode, by.OrderID)
	case by.Key != "":
		return db.find(ctx, true, what, byKey, by.ProviderCode, by.Key)
	case by.BillingRequestID != "":
		return db.find(ctx, false, what, byRequest, by.BillingRequestID)
	case by.MandateID != "":
		return db.find(ctx, false, what, byMandate, by.MandateID)
	}
	return db.find(ctx, false, what, byAgreement, by.AgreementNumber)
}

// find returns a checkout. A repeated create or confirm is answered from a checkout that is read by its order or key, or is confirmed:
// there it is proven each time, because an administrator may have broken a wait without a restart.
func (db *DB) find(ctx context.Context, answers bool, what, query string, args ...any) (checkout.Checkout, error) {
	return read(ctx, db, what, readTimeout, func(ctx context.Context, c *conn) (checkout.Checkout, error) {
		f, err := one(ctx, c, itself[found], query, args...)
		if err == nil && db.doubts.Load() > 0 && f.demanded && (answers || !f.Confirmation.At.IsZero()) {
			err = c.prove(ctx)
		}
		if err != nil {
			return checkout.Checkout{}, err
		}
		return f.Checkout.Checkout()
	})
}

func (db *DB) Agreement(ctx context.Context, checkoutID string) (agreement.Agreement, error) {
	return get(ctx, db, "agreement of "+checkoutID, rows.Agreement.Agreement, selectAgreement, checkout.ProviderOf(checkoutID), checkoutID)
}

func (db *DB) Document(ctx context.Context, checkoutID string) (agreement.Document, error) {
	return get(ctx, db, "document of "+checkoutID, rows.Document.Document, selectDocument, checkout.ProviderOf(checkoutID), checkoutID)
}

func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) (leases []checkout.Lease, err error) {
	change = change.Numbered(checkout.Checkout{})
	err = db.write(ctx, "insert checkout "+change.Next.ID, func(b *batch) {
		insert(b, insertCheckout, rows.OfCheckout(change.Next))
		b.change(change, hold, &leases)
	})
	return leases, err
}

func (db *DB) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	return rows.Update(known, decide, func(known checkout.Checkout, change checkout.Change) (leases []checkout.Lease, err error) {
		provider, id := known.ProviderCode, known.ID
		row, erases := rows.OfCheckout(change.Next), change.Next.Erased() && !known.Erased()
		var agreements []agreement.Agreement
		if erases {
			agreements, err = list(ctx, db, "erase checkout "+id, rows.Agreement.Agreement, selectAgreement, provider, id)
		}
		if err != nil {
			return nil, err
		}
		err = db.write(ctx, "update checkout "+id, func(b *batch) {
			b.Queue(updateCheckout, append([]any{provider, id, known.Revision}, rows.Values(row.UpdateFields())...)...)
			b.change(change, hold, &leases)
			if erases {
				for _, a := range agreements {
					b.Queue(eraseAgreement, provider, id, rows.OfAgreement(provider, id, a.Erased()).Facts)
				}
				b.Queue(eraseDocument, provider, id)
				b.Queue(eraseJobs, provider, id)
			}
		})
		return leases, err
	}, func(id string) (checkout.Checkout, error) { return db.Checkout(ctx, id) })
}

// change adds what a change brings besides the checkout, and the leases that its caller gets.
func (b *batch) change(change checkout.Change, hold time.Duration, leases *[]checkout.Lease) {
	provider, id := change.Next.ProviderCode, change.Next.ID
	if a := change.Agreement; a != nil {
		insert(b, insertAgreement, rows.OfAgreement(provider, id, *a))
	}
	if d := change.Document; d != nil {
		insert(b, insertDocument, rows.OfDocument(provider, id, *d))
	}
	insert(b, addMoment, rows.OfMoments(provider, id, change.Moments)...)
	if change.Act != nil {
		insert(b, insertAct, rows.OfAct(*change.Act))
	}
	b.enter(change.Jobs, hold, leases)
}
