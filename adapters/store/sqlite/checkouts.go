package sqlite

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	insertCheckout = `INSERT INTO checkouts (place, ` + rows.CheckoutColumns + `)
		VALUES (coalesce((SELECT max(place) + 1 FROM checkouts WHERE place BETWEEN ? AND ?), ?),
			?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateCheckout = `UPDATE checkouts SET (` + rows.StateColumns + `) =
		(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		WHERE provider_code = ? AND id = ? AND revision = ?`
	selectCheckout  = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts WHERE provider_code = ? AND id = ?`
	selectByOrder   = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts WHERE provider_code = ? AND provider_order_id = ?`
	selectByKey     = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts WHERE provider_code = ? AND idempotency_key = ?`
	selectByBilling = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts WHERE billing_request_id = ? AND billing_request_id <> '' LIMIT 1`
	selectByMandate = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts WHERE mandate_id = ? AND mandate_id <> '' LIMIT 1`
	selectByNumber  = `SELECT ` + rows.CheckoutColumns + ` FROM checkouts
		WHERE (provider_code, id) = (SELECT provider_code, checkout_id FROM agreements WHERE number = ? LIMIT 1)`

	insertAgreement = `INSERT INTO agreements (` + rows.AgreementColumns + `) VALUES (?, ?, ?, ?)`
	insertDocument  = `INSERT INTO documents (` + rows.DocumentColumns + `) VALUES (?, ?, ?, ?)`
	selectAgreement = `SELECT ` + rows.AgreementColumns + ` FROM agreements WHERE provider_code = ? AND checkout_id = ?`
	selectDocument  = `SELECT ` + rows.DocumentColumns + ` FROM documents WHERE provider_code = ? AND checkout_id = ?`

	eraseAgreement = `UPDATE agreements SET facts = ? WHERE provider_code = ? AND checkout_id = ?`
	eraseDocument  = `UPDATE documents SET bytes = x'' WHERE provider_code = ? AND checkout_id = ?`
	eraseJobs      = `UPDATE jobs SET receipt = '', failure = '' WHERE provider_code = ? AND checkout_id = ?`
)

// placeBits is the number of bits of a checkout's place behind the milliseconds of its creation.
const placeBits = 16

func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) (leases []checkout.Lease, err error) {
	change = change.Numbered(checkout.Checkout{})
	row, now := rows.OfCheckout(change.Next), db.now()
	first := rows.Millis(row.CreatedAt) << placeBits
	args := append([]any{first, first | (1<<placeBits - 1), first}, rows.Values(row.Fields())...)
	err = db.write(ctx, "insert checkout "+change.Next.ID, func(t *tx) {
		t.exec(insertCheckout, args...)
		leases = t.change(change, true, now, hold)
	})
	return leases, err
}

func (db *DB) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	return rows.Update(known, decide, func(known checkout.Checkout, change checkout.Change) (leases []checkout.Lease, err error) {
		row, now := rows.OfCheckout(change.Next), db.now()
		args := append(rows.Values(row.UpdateFields()), known.ProviderCode, known.ID, known.Revision)
		err = db.write(ctx, "update checkout "+known.ID, func(t *tx) {
			t.mustExec(updateCheckout, args...)
			leases = t.change(change, false, now, hold)
			if change.Next.Erased() && !known.Erased() {
				t.erase(known.ProviderCode, known.ID)
			}
		})
		return leases, err
	}, func(id string) (checkout.Checkout, error) { return db.Checkout(ctx, id) })
}

// change writes what a change of a checkout, new or not, brings besides the checkout, and returns the leases of its caller.
func (t *tx) change(change checkout.Change, isNew bool, now time.Time, hold time.Duration) []checkout.Lease {
	provider, id := change.Next.ProviderCode, change.Next.ID
	if a := change.Agreement; a != nil {
		insert(t, insertAgreement, rows.OfAgreement(provider, id, *a))
	}
	if d := change.Document; d != nil {
		insert(t, insertDocument, rows.OfDocument(provider, id, *d))
	}
	if change.Act != nil {
		t.record(*change.Act)
	}
	insert(t, insertMoment, rows.OfMoments(provider, id, change.Moments)...)
	return t.enter(change.Jobs, isNew, now, hold)
}

// erase empties the records of a checkout.
func (t *tx) erase(provider, id string) {
	if row, found := first[rows.Agreement](t, selectAgreement, provider, id); found {
		a, err := row.Agreement()
		if err != nil {
			t.fail(err)
		}
		t.exec(eraseAgreement, rows.OfAgreement(provider, id, a.Erased()).Facts, provider, id)
	}
	t.exec(eraseDocument, provider, id)
	t.exec(eraseJobs, provider, id)
}

func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return get(ctx, db, "checkout "+id, rows.Checkout.Checkout, selectCheckout, checkout.ProviderOf(id), id)
}

func (db *DB) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	query, args := selectByNumber, []any{by.AgreementNumber}
	switch {
	case by.OrderID != "":
		query, args = selectByOrder, []any{by.ProviderCode, by.OrderID}
	case by.Key != "":
		query, args = selectByKey, []any{by.ProviderCode, by.Key}
	case by.BillingRequestID != "":
		query, args = selectByBilling, []any{by.BillingRequestID}
	case by.MandateID != "":
		query, args = selectByMandate, []any{by.MandateID}
	}
	return get(ctx, db, "checkout by a reference", rows.Checkout.Checkout, query, args...)
}

func (db *DB) Agreement(ctx context.Context, checkoutID string) (agreement.Agreement, error) {
	return get(ctx, db, "agreement of "+checkoutID, rows.Agreement.Agreement, selectAgreement, checkout.ProviderOf(checkoutID), checkoutID)
}

func (db *DB) Document(ctx context.Context, checkoutID string) (agreement.Document, error) {
	return get(ctx, db, "document of "+checkoutID, rows.Document.Document, selectDocument, checkout.ProviderOf(checkoutID), checkoutID)
}
