package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const checkoutColumns = `provider_code, id, provider_order_id, idempotency_key,
	status, created_ms, search, billing_request_id, consent, mandate_id, mandate_status, mandate_since_ms, setup_completed_ms, ended, attention_ms,
	revision, request_id, created_by, first_name, last_name, email, course_code, course_name, price_cents, upfront_cents, frequency, number,
	instalment_cents, final_cents, first_payment, setup_tokens, setup_try, billing_request_status, mandate, authorisation_status,
	account_holder, account_mask, confirmed_ms, confirmed_by_request_id, agreed_first_payment, agreement_number, document_sha256, erased_ms`

const (
	insertCheckout = `INSERT INTO checkouts (place, ` + checkoutColumns + `)
		VALUES (coalesce((SELECT max(place) + 1 FROM checkouts WHERE place BETWEEN ? AND ?), ?),
			?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	updateCheckout = `UPDATE checkouts SET
			status = ?, created_ms = ?, search = ?, billing_request_id = ?, consent = ?, mandate_id = ?, mandate_status = ?,
			mandate_since_ms = ?, setup_completed_ms = ?, ended = ?, attention_ms = ?,
			revision = ?, request_id = ?, created_by = ?, first_name = ?, last_name = ?, email = ?, course_code = ?, course_name = ?,
			price_cents = ?, upfront_cents = ?, frequency = ?, number = ?, instalment_cents = ?, final_cents = ?, first_payment = ?,
			setup_tokens = ?, setup_try = ?, billing_request_status = ?, mandate = ?, authorisation_status = ?,
			account_holder = ?, account_mask = ?, confirmed_ms = ?, confirmed_by_request_id = ?, agreed_first_payment = ?,
			agreement_number = ?, document_sha256 = ?, erased_ms = ?
		WHERE provider_code = ? AND id = ? AND revision = ?`
	selectCheckout  = `SELECT ` + checkoutColumns + ` FROM checkouts WHERE provider_code = ? AND id = ?`
	selectByOrder   = `SELECT ` + checkoutColumns + ` FROM checkouts WHERE provider_code = ? AND provider_order_id = ?`
	selectByKey     = `SELECT ` + checkoutColumns + ` FROM checkouts WHERE provider_code = ? AND idempotency_key = ?`
	selectByBilling = `SELECT ` + checkoutColumns + ` FROM checkouts WHERE billing_request_id = ? AND billing_request_id <> '' LIMIT 1`
	selectByMandate = `SELECT ` + checkoutColumns + ` FROM checkouts WHERE mandate_id = ? AND mandate_id <> '' LIMIT 1`
	selectByNumber  = `SELECT ` + checkoutColumns + ` FROM checkouts
		WHERE (provider_code, id) = (SELECT provider_code, checkout_id FROM agreements WHERE number = ? LIMIT 1)`

	insertAgreement = `INSERT INTO agreements (provider_code, checkout_id, number, facts) VALUES (?, ?, ?, ?)`
	insertDocument  = `INSERT INTO documents (provider_code, checkout_id, sha256, bytes) VALUES (?, ?, ?, ?)`
	selectAgreement = `SELECT provider_code, checkout_id, number, facts FROM agreements WHERE provider_code = ? AND checkout_id = ?`
	selectDocument  = `SELECT provider_code, checkout_id, sha256, bytes FROM documents WHERE provider_code = ? AND checkout_id = ?`

	eraseAgreement = `UPDATE agreements SET facts = ? WHERE provider_code = ? AND checkout_id = ?`
	eraseDocument  = `UPDATE documents SET bytes = x'' WHERE provider_code = ? AND checkout_id = ?`
	eraseJobs      = `UPDATE jobs SET receipt = '', failure = '' WHERE provider_code = ? AND checkout_id = ?`
)

// InsertCheckout implements [ports.Checkouts].
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) (leases []checkout.Lease, err error) {
	change = change.Numbered(checkout.Checkout{})
	row, e := rows.OfCheckout(change.Next), db.entryOf(change, hold)
	first := rows.Millis(row.CreatedAt) << placeBits
	args := append([]any{first, first | (1<<placeBits - 1), first}, row.Fields()...)
	err = db.write(ctx, "insert checkout "+change.Next.ID, func(t *tx) {
		t.exec(insertCheckout, args...)
		leases = e.store(t, true)
	})
	return leases, err
}

// placeBits is the number of bits of a checkout's place behind the milliseconds of its creation.
const placeBits = 16

// errStale: the checkout on record has another revision.
var errStale = errors.New("the checkout has another revision")

// UpdateCheckout implements [ports.Checkouts].
func (db *DB) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	for {
		given := known
		given.Tokens = slices.Clone(known.Tokens) // which decide may change
		change, err := decide(given)
		if err != nil {
			return change, nil, err
		}
		if change.Changes() {
			change = change.Numbered(known)
			if leases, err := db.update(ctx, known, change, hold); !errors.Is(err, errStale) {
				return change, leases, err
			}
		}
		current, err := db.Checkout(ctx, known.ID)
		if err != nil || !change.Changes() && current.Revision == known.Revision {
			return change, nil, err
		}
		known = current
	}
}

// update stores a change over a revision, or returns errStale.
func (db *DB) update(ctx context.Context, known checkout.Checkout, change checkout.Change, hold time.Duration) (leases []checkout.Lease, err error) {
	row, e := rows.OfCheckout(change.Next), db.entryOf(change, hold)
	if e.erases = change.Next.Erased() && !known.Erased(); e.erases {
		if e.erased, err = db.erasedFacts(ctx, known.ID); err != nil {
			return nil, err
		}
	}
	args := append(row.Fields()[rows.IdentityColumns:], known.ProviderCode, known.ID, known.Revision)
	err = db.write(ctx, "update checkout "+known.ID, func(t *tx) {
		if t.exec(updateCheckout, args...) == 0 {
			t.fail(errStale)
		}
		leases = e.store(t, false)
	})
	return leases, err
}

// erasedFacts returns the facts of the agreement of a checkout as an erasure leaves them; "" without an agreement. They are changed by
// no other call than the one whose revision is compared.
func (db *DB) erasedFacts(ctx context.Context, checkoutID string) (string, error) {
	a, err := db.Agreement(ctx, checkoutID)
	if errors.Is(err, ports.ErrNotFound) {
		return "", nil
	}
	return rows.OfAgreement("", "", a.Erased()).Facts, err
}

// entry is everything that a change stores besides the checkout, as rows.
type entry struct {
	provider, checkout string
	agreement          []rows.Agreement // at most one, like document and act
	document           []rows.Document
	act                []rows.Act
	moments            []rows.Moment
	jobs               []entering
	erases             bool
	erased             string // facts of the agreement; "" without an agreement

	now  time.Time
	hold time.Duration
}

// entryOf returns the entry of a change that is numbered.
func (db *DB) entryOf(change checkout.Change, hold time.Duration) *entry {
	e := &entry{provider: change.Next.ProviderCode, checkout: change.Next.ID, now: db.now(), hold: hold}
	if a := change.Agreement; a != nil {
		e.agreement = []rows.Agreement{rows.OfAgreement(e.provider, e.checkout, *a)}
	}
	if d := change.Document; d != nil {
		e.document = []rows.Document{rows.OfDocument(e.provider, e.checkout, *d)}
	}
	if change.Act != nil {
		e.act = []rows.Act{rows.OfAct(*change.Act)}
	}
	for _, m := range change.Moments {
		e.moments = append(e.moments, rows.OfMoment(e.provider, e.checkout, m))
	}
	for _, j := range change.Jobs {
		e.jobs = append(e.jobs, entering{rows.OfJob(j, e.now), j.Kind, hold > 0 && j.Kind.Direct() && j.Due.IsZero() && !j.Unsent})
	}
	return e
}

// store writes the entry, of a new checkout or an update, and returns the leases of its caller.
func (e *entry) store(t *tx, isNew bool) []checkout.Lease {
	insert(t, insertAgreement, e.agreement...)
	insert(t, insertDocument, e.document...)
	insert(t, insertAct, e.act...)
	insert(t, insertMoment, e.moments...)
	leases := e.enter(t, isNew)
	if e.erased != "" {
		t.exec(eraseAgreement, e.erased, e.provider, e.checkout)
	}
	if e.erases {
		t.exec(eraseDocument, e.provider, e.checkout)
		t.exec(eraseJobs, e.provider, e.checkout)
	}
	if t.err != nil {
		return nil
	}
	return leases
}

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return get(ctx, db, "checkout "+id, rows.Checkout.Checkout, selectCheckout, checkout.ProviderOf(id), id)
}

// FindCheckout implements [ports.Checkouts].
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

// Agreement implements [ports.Checkouts].
func (db *DB) Agreement(ctx context.Context, checkoutID string) (agreement.Agreement, error) {
	return get(ctx, db, "agreement of "+checkoutID, rows.Agreement.Agreement, selectAgreement, checkout.ProviderOf(checkoutID), checkoutID)
}

// Document implements [ports.Checkouts].
func (db *DB) Document(ctx context.Context, checkoutID string) (agreement.Document, error) {
	return get(ctx, db, "document of "+checkoutID, rows.Document.Document, selectDocument, checkout.ProviderOf(checkoutID), checkoutID)
}
