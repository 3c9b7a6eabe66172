package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The identity of a checkout never changes; its state may.
const (
	checkoutState = `request_id, created_ms, status, first_name, last_name, email,
		course_code, course_name, price_cents, upfront_cents, principal_cents,
		payment_frequency, number_of_instalments, instalment_cents, final_instalment_cents, first_payment_date,
		contact_id, opportunity_id, dda_id, setup_tokens,
		setup_try, billing_request_id, billing_request_status, mandate_status, authorisation_status,
		account_holder, account_tail, setup_completed_ms,
		confirmed_ms, confirmed_by_request_id, agreed_first_date, agreement_id, agreement_number, document_id, consent`
	stateValues = `?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?,  ?, ?, ?, ?,  ?, ?, ?, ?, ?,  ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?`

	insertCheckout = `INSERT INTO checkouts (id, provider_code, provider_order_id, idempotency_key, ` + checkoutState + `)
		VALUES (?, ?, ?, nullif(?, ''), ` + stateValues + `)`
	updateCheckout = `UPDATE checkouts SET (` + checkoutState + `) = (` + stateValues + `) WHERE id = ?`

	// A checkout is read as one JSON array, for one value of a row costs a quarter of forty.
	checkouts = `SELECT json_array(id, provider_code, provider_order_id, coalesce(idempotency_key, ''), ` + checkoutState + `)
		FROM checkouts`
	selectCheckout = checkouts + ` WHERE id = ?`
	selectByOrder  = checkouts + ` WHERE provider_code = ? AND provider_order_id = ?`
	selectByKey    = checkouts + ` WHERE provider_code = ? AND idempotency_key = ?`
)

func identityOf(c checkout.Checkout) []any {
	return []any{c.ID, c.ProviderCode, c.OrderID, c.IdempotencyKey}
}

func stateOf(c checkout.Checkout) []any {
	price, plan, setup, done := c.Intent.Pricing, c.Intent.Plan, c.Setup, c.Confirmation
	return []any{
		c.RequestID, column.Millis(c.CreatedAt), c.Status, c.Student.FirstName, c.Student.LastName, c.Student.Email,
		c.CourseCode, c.Intent.CourseName, price.Price, price.Upfront, price.Principal,
		plan.Frequency, plan.Number, plan.Regular, plan.Final, column.Day(plan.First),
		c.Records.ContactID, c.Records.OpportunityID, c.Records.DDAID, column.TokensText(c.Tokens),
		setup.Try, setup.BillingRequestID, setup.BillingRequest, setup.Mandate, setup.Authorisation,
		setup.AccountHolder, setup.AccountTail, column.Millis(setup.CompletedAt),
		column.Millis(done.At), done.RequestID, column.Day(done.FirstPayment), done.AgreementID, done.AgreementNumber, done.DocumentID,
		column.ConsentText(setup.Consent),
	}
}

func scanCheckout(r row) (c checkout.Checkout, err error) {
	var array []byte
	if err := r.Scan((*sql.RawBytes)(&array)); err != nil {
		return c, err
	}
	price, plan, setup, done := &c.Intent.Pricing, &c.Intent.Plan, &c.Setup, &c.Confirmation
	read := newArray(array)
	read.texts(&c.ID, &c.ProviderCode, &c.OrderID, &c.IdempotencyKey, &c.RequestID)
	read.time(&c.CreatedAt)
	read.texts((*string)(&c.Status), &c.Student.FirstName, &c.Student.LastName, &c.Student.Email,
		&c.CourseCode, &c.Intent.CourseName)
	read.numbers((*int64)(&price.Price), (*int64)(&price.Upfront), (*int64)(&price.Principal))
	read.texts((*string)(&plan.Frequency))
	read.int(&plan.Number)
	read.numbers((*int64)(&plan.Regular), (*int64)(&plan.Final))
	read.date(&plan.First)
	read.texts(&c.Records.ContactID, &c.Records.OpportunityID, &c.Records.DDAID)
	read.scan(column.Tokens(&c.Tokens))
	read.int(&setup.Try)
	read.texts(&setup.BillingRequestID, (*string)(&setup.BillingRequest), (*string)(&setup.Mandate),
		(*string)(&setup.Authorisation), &setup.AccountHolder, &setup.AccountTail)
	read.time(&setup.CompletedAt)
	read.time(&done.At)
	read.texts(&done.RequestID)
	read.date(&done.FirstPayment)
	read.texts(&done.AgreementID, &done.AgreementNumber, &done.DocumentID)
	read.scan(column.Consent(&setup.Consent))
	return c, read.end()
}

// InsertCheckout implements [ports.Checkouts].
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, queued ports.Queued) error {
	c := change.Next
	err := db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		if _, err := tx.exec(ctx, insertCheckout, append(identityOf(c), stateOf(c)...)...); err != nil {
			return err
		}
		return tx.storeRest(ctx, change, queued)
	})
	if err != nil {
		return fmt.Errorf("insert checkout %s: %w", c.ID, err)
	}
	return nil
}

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectCheckout, id)
	if err != nil {
		return c, fmt.Errorf("read checkout %s: %w", id, err)
	}
	return c, nil
}

// CheckoutByOrder implements [ports.Checkouts].
func (db *DB) CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectByOrder, provider, order)
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by order: %w", provider, err)
	}
	return c, nil
}

// CheckoutByKey implements [ports.Checkouts].
func (db *DB) CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error) {
	c, err := one(ctx, &db.readers, scanCheckout, selectByKey, provider, key)
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by idempotency key: %w", provider, err)
	}
	return c, nil
}

// UpdateCheckout implements [ports.Checkouts].
func (db *DB) UpdateCheckout(ctx context.Context, id string, queued ports.Queued,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		c, err := one(ctx, tx, scanCheckout, selectCheckout, id)
		if err != nil {
			return fmt.Errorf("read checkout %s: %w", id, err)
		}
		change, err := decide(c)
		if err != nil {
			return err
		}
		change.Next.ID = id
		if _, err := tx.exec(ctx, updateCheckout, append(stateOf(change.Next), id)...); err != nil {
			return fmt.Errorf("update checkout %s: %w", id, err)
		}
		if err := tx.storeRest(ctx, change, queued); err != nil {
			return fmt.Errorf("update checkout %s: %w", id, err)
		}
		return nil
	})
}

// storeRest stores what comes with a checkout.
func (tx *tx) storeRest(ctx context.Context, change checkout.Change, queued ports.Queued) error {
	if change.Agreement != nil {
		if err := tx.storeAgreement(ctx, *change.Agreement); err != nil {
			return err
		}
	}
	if change.Document != nil {
		if err := tx.storeDocument(ctx, change.Next.ID, *change.Document); err != nil {
			return err
		}
	}
	return tx.enqueue(ctx, change.Events, queued)
}
