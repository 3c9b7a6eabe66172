package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The columns of the tables, in the order of the fields of their rows.
const (
	identityColumns = `provider_code, id, provider_order_id, idempotency_key`
	changedColumns  = `status, created_ms, search, billing_request_id, consent, mandate_id, mandate_status, mandate_since_ms,
		setup_completed_ms, ended, attention_ms, revision, request_id, created_by, first_name, last_name, email, course_code, course_name,
		price_cents, upfront_cents, frequency, number, instalment_cents, final_cents, first_payment, setup_tokens, setup_try,
		billing_request_status, mandate, authorisation_status, account_holder, account_mask, confirmed_ms,
		confirmed_by_request_id, agreed_first_payment, agreement_number, document_sha256, erased_ms`
	checkoutColumns  = identityColumns + `, ` + changedColumns
	agreementColumns = `provider_code, checkout_id, number, facts`
	documentColumns  = `provider_code, checkout_id, sha256, bytes`
	momentColumns    = `provider_code, checkout_id, id, position, at_ms, kind, actor, request_id, detail, times`
	actColumns       = `provider_code, at_ms, id, operator, act, subject, reason, changes`
)

// insert returns the statement that inserts a row.
func insert(table, columns string) string {
	return `INSERT INTO @.` + table + ` (` + columns + `) VALUES (` + parameters(1, columns) + `)`
}

// parameters returns a parameter for each column, the first with this number.
func parameters(first int, columns string) string {
	list := make([]string, strings.Count(columns, ",")+1)
	for i := range list {
		list[i] = "$" + strconv.Itoa(first+i)
	}
	return strings.Join(list, ", ")
}

var (
	insertCheckout  = insert("checkouts", checkoutColumns)
	insertAgreement = insert("agreements", agreementColumns)
	insertDocument  = insert("documents", documentColumns)
	insertAct       = insert("acts", actColumns)

	// A statement that must change a row divides by the number of rows that it has changed, so that the transaction fails without.
	updateCheckout = once(`UPDATE @.checkouts SET (` + changedColumns + `) = ROW(` + parameters(4, changedColumns) + `)
		WHERE provider_code = $1 AND id = $2 AND revision = $3`)

	addMoment = `INSERT INTO @.moments AS m (` + momentColumns + `)
		SELECT provider_code, id, CAST($3 AS text), CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS text), CAST($7 AS text),
			CAST($8 AS text), CAST($9 AS text), CAST($10 AS bigint)
		FROM @.checkouts WHERE provider_code = $1 AND id = $2
		ON CONFLICT (provider_code, checkout_id, id) DO UPDATE SET times = m.times + excluded.times`
)

const (
	selectCheckouts = `SELECT ` + checkoutColumns + `, current_setting('synchronous_standby_names') <> '' FROM @.checkouts WHERE `
	byID            = selectCheckouts + `provider_code = $1 AND id = $2`
	byOrder         = selectCheckouts + `provider_code = $1 AND provider_order_id = $2`
	byKey           = selectCheckouts + `provider_code = $1 AND idempotency_key = $2`
	byRequest       = selectCheckouts + `billing_request_id = $1 AND billing_request_id <> '' LIMIT 1`
	byMandate       = selectCheckouts + `mandate_id = $1 AND mandate_id <> '' LIMIT 1`
	byAgreement     = selectCheckouts + `(provider_code, id) IN (SELECT provider_code, checkout_id FROM @.agreements WHERE number = $1) LIMIT 1`

	selectAgreement = `SELECT ` + agreementColumns + ` FROM @.agreements WHERE provider_code = $1 AND checkout_id = $2`
	selectDocument  = `SELECT ` + documentColumns + ` FROM @.documents WHERE provider_code = $1 AND checkout_id = $2`

	eraseAgreement = `UPDATE @.agreements SET facts = $3 WHERE provider_code = $1 AND checkout_id = $2`
	eraseDocument  = `UPDATE @.documents SET bytes = '' WHERE provider_code = $1 AND checkout_id = $2`
	eraseJobs      = `UPDATE @.jobs SET failure = '', receipt = '' WHERE provider_code = $1 AND checkout_id = $2`
)

// once returns an update that fails unless it changes one row.
func once(update string) string {
	return `WITH changed AS (` + update + ` RETURNING 1) SELECT 1 / count(*) FROM changed`
}

// found is a checkout that was read.
type found struct {
	rows.Checkout
	demanded bool // a standby must have it
}

func (f *found) Fields() []any { return append(f.Checkout.Fields(), &f.demanded) }

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return db.find(ctx, false, "checkout "+id, byID, checkout.ProviderOf(id), id)
}

// FindCheckout implements [ports.Checkouts].
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
	c, err := read(ctx, db, func(ctx context.Context, c *conn) (checkout.Checkout, error) {
		f, err := one[found](ctx, c, query, args...)
		if err == nil && db.serving && f.demanded && (answers || !f.Confirmation.At.IsZero()) {
			err = c.prove(ctx)
		}
		if err != nil {
			return checkout.Checkout{}, err
		}
		return f.Checkout.Checkout()
	})
	if err != nil {
		return checkout.Checkout{}, fmt.Errorf("%s: %w", what, err)
	}
	return c, nil
}

// Agreement implements [ports.Checkouts].
func (db *DB) Agreement(ctx context.Context, checkoutID string) (agreement.Agreement, error) {
	return read(ctx, db, func(ctx context.Context, c *conn) (a agreement.Agreement, err error) {
		r, err := one[rows.Agreement](ctx, c, selectAgreement, checkout.ProviderOf(checkoutID), checkoutID)
		if err != nil {
			return a, fmt.Errorf("agreement of %s: %w", checkoutID, err)
		}
		return r.Agreement()
	})
}

// Document implements [ports.Checkouts].
func (db *DB) Document(ctx context.Context, checkoutID string) (agreement.Document, error) {
	return read(ctx, db, func(ctx context.Context, c *conn) (d agreement.Document, err error) {
		r, err := one[rows.Document](ctx, c, selectDocument, checkout.ProviderOf(checkoutID), checkoutID)
		if err != nil {
			return d, fmt.Errorf("document of %s: %w", checkoutID, err)
		}
		return r.Document()
	})
}

// InsertCheckout implements [ports.Checkouts].
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) (leases []checkout.Lease, err error) {
	change = change.Numbered(checkout.Checkout{})
	err = db.write(ctx, func(b *batch) {
		row := rows.OfCheckout(change.Next)
		b.add(insertCheckout, bound(row.Fields())...)
		leases = b.change(change, hold)
	})
	if err != nil {
		return nil, fmt.Errorf("insert checkout %s: %w", change.Next.ID, err)
	}
	return entered(leases), nil
}

// maxDecisions is the largest number of times for which a change is decided.
const maxDecisions = 20

// UpdateCheckout implements [ports.Checkouts].
func (db *DB) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (change checkout.Change, leases []checkout.Lease, err error) {
	id := known.ID
	for range maxDecisions {
		given := known
		given.Tokens = slices.Clone(known.Tokens) // which decide may change
		if change, err = decide(given); err != nil {
			return change, nil, err
		}
		if change.Changes() {
			change = change.Numbered(known)
			erases := change.Next.Erased() && !known.Erased()
			if leases, err = db.update(ctx, change, known.Revision, hold, erases); err == nil {
				return change, leases, nil
			}
			if !is(err, divisionByZero) { // which says that it has another revision
				return change, nil, fmt.Errorf("update checkout %s: %w", id, err)
			}
		}
		current, err := db.Checkout(ctx, id)
		if err != nil || !change.Changes() && current.Revision == known.Revision {
			return change, nil, err
		}
		known = current
	}
	return change, nil, fmt.Errorf("update checkout %s: %w: it was changed %d times meanwhile", id, ports.ErrBusy, maxDecisions)
}

// update stores a change over a revision.
func (db *DB) update(ctx context.Context, change checkout.Change, over int64, hold time.Duration, erases bool) (leases []checkout.Lease, err error) {
	row := rows.OfCheckout(change.Next)
	err = db.call(ctx, func(ctx context.Context, c *conn) error {
		b := db.batch()
		b.add(updateCheckout, append([]any{row.ProviderCode, row.ID, over}, bound(row.Fields()[rows.IdentityColumns:])...)...)
		leases = b.change(change, hold)
		if erases {
			if err := c.erase(ctx, b, row.ProviderCode, row.ID); err != nil {
				return err
			}
		}
		return c.commit(ctx, b)
	})
	return entered(leases), err
}

// change adds what a change brings besides the checkout, and returns the places of the leases.
func (b *batch) change(change checkout.Change, hold time.Duration) []checkout.Lease {
	provider, id := change.Next.ProviderCode, change.Next.ID
	if a := change.Agreement; a != nil {
		row := rows.OfAgreement(provider, id, *a)
		b.add(insertAgreement, bound(row.Fields())...)
	}
	if d := change.Document; d != nil {
		row := rows.OfDocument(provider, id, *d)
		b.add(insertDocument, bound(row.Fields())...)
	}
	b.moments(provider, id, change.Moments)
	if change.Act != nil {
		b.act(*change.Act)
	}
	return b.enter(change.Jobs, hold)
}

// erase adds what empties the records of a checkout.
func (c *conn) erase(ctx context.Context, b *batch, provider, id string) error {
	list, err := all[rows.Agreement](ctx, c, selectAgreement, provider, id)
	if err != nil {
		return err
	}
	for _, r := range list {
		a, err := r.Agreement()
		if err != nil {
			return err
		}
		b.add(eraseAgreement, provider, id, rows.OfAgreement(provider, id, a.Erased()).Facts)
	}
	b.add(eraseDocument, provider, id)
	b.add(eraseJobs, provider, id)
	return nil
}

// moments adds moments of a checkout, which are left out if there is no such checkout.
func (b *batch) moments(provider, id string, moments []checkout.Moment) {
	for _, m := range moments {
		row := rows.OfMoment(provider, id, m)
		b.add(addMoment, bound(row.Fields())...)
	}
}

// act adds an operator's act.
func (b *batch) act(a checkout.Act) {
	row := rows.OfAct(a)
	b.add(insertAct, bound(row.Fields())...)
}
