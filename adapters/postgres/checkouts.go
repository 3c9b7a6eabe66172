package postgres

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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
	stateValues = `$5, $6, $7, $8, $9, $10,
		$11, $12, $13, $14, $15,
		$16, $17, $18, $19, $20,
		$21, $22, $23, $24,
		$25, $26, $27, $28, $29,
		$30, $31, $32,
		$33, $34, $35, $36, $37, $38, $39`

	insertCheckout = `INSERT INTO checkouts (id, provider_code, provider_order_id, idempotency_key, ` + checkoutState + `)
		VALUES ($1, $2, $3, nullif($4, ''), ` + stateValues + `)
		ON CONFLICT (provider_code, provider_order_id) DO NOTHING` // a replay that tries is no error, and leaves no dead row
	updateCheckout = `UPDATE checkouts SET (` + checkoutState + `) = (` + stateValues + `)
		WHERE id = $1 AND provider_code = $2 AND provider_order_id = $3 AND coalesce(idempotency_key, '') = $4`

	checkoutColumns = `id, provider_code, provider_order_id, coalesce(idempotency_key, ''), ` + checkoutState

	checkouts      = `SELECT ` + checkoutColumns + ` FROM checkouts`
	selectCheckout = checkouts + ` WHERE id = $1`
	lockCheckout   = selectCheckout + ` FOR UPDATE`
	selectByOrder  = checkouts + ` WHERE provider_code = $1 AND provider_order_id = $2`
	selectByKey    = checkouts + ` WHERE provider_code = $1 AND idempotency_key = $2`
)

// valuesOf are the values of insertCheckout and updateCheckout, as types that the driver knows.
func valuesOf(c checkout.Checkout) []any {
	price, plan, setup, done := c.Intent.Pricing, c.Intent.Plan, c.Setup, c.Confirmation
	return []any{
		c.ID, c.ProviderCode, c.OrderID, c.IdempotencyKey,
		c.RequestID, column.Millis(c.CreatedAt), string(c.Status), c.Student.FirstName, c.Student.LastName, c.Student.Email,
		c.CourseCode, c.Intent.CourseName, int64(price.Price), int64(price.Upfront), int64(price.Principal),
		string(plan.Frequency), plan.Number, int64(plan.Regular), int64(plan.Final), column.Day(plan.First),
		c.Records.ContactID, c.Records.OpportunityID, c.Records.DDAID, column.TokensText(c.Tokens),
		setup.Try, setup.BillingRequestID, string(setup.BillingRequest), string(setup.Mandate), string(setup.Authorisation),
		setup.AccountHolder, setup.AccountTail, column.Millis(setup.CompletedAt),
		column.Millis(done.At), done.RequestID, column.Day(done.FirstPayment),
		done.AgreementID, done.AgreementNumber, done.DocumentID, column.ConsentText(setup.Consent),
	}
}

// intoCheckout is where checkoutColumns are read to, as types that the driver knows: of those of the
// domain it finds out by reflection, value by value, what they are made of.
func intoCheckout(c *checkout.Checkout) []any {
	price, plan, setup, done := &c.Intent.Pricing, &c.Intent.Plan, &c.Setup, &c.Confirmation
	return []any{
		&c.ID, &c.ProviderCode, &c.OrderID, &c.IdempotencyKey,
		&c.RequestID, column.Time(&c.CreatedAt), (*string)(&c.Status),
		&c.Student.FirstName, &c.Student.LastName, &c.Student.Email,
		&c.CourseCode, &c.Intent.CourseName, (*int64)(&price.Price), (*int64)(&price.Upfront), (*int64)(&price.Principal),
		(*string)(&plan.Frequency), &plan.Number, (*int64)(&plan.Regular), (*int64)(&plan.Final), column.Date(&plan.First),
		&c.Records.ContactID, &c.Records.OpportunityID, &c.Records.DDAID, column.Tokens(&c.Tokens),
		&setup.Try, &setup.BillingRequestID, (*string)(&setup.BillingRequest), (*string)(&setup.Mandate), (*string)(&setup.Authorisation),
		&setup.AccountHolder, &setup.AccountTail, column.Time(&setup.CompletedAt),
		column.Time(&done.At), &done.RequestID, column.Date(&done.FirstPayment),
		&done.AgreementID, &done.AgreementNumber, &done.DocumentID, column.Consent(&setup.Consent),
	}
}

func scanCheckout(r pgx.CollectableRow) (c checkout.Checkout, err error) {
	err = r.Scan(intoCheckout(&c)...)
	return c, err
}

// InsertCheckout implements [ports.Checkouts]. It is one round trip and one commit.
func (db *DB) InsertCheckout(ctx context.Context, change checkout.Change, queued ports.Queued) error {
	c := change.Next
	err := db.do(ctx, func(ctx context.Context, t *try) error {
		var b pgx.Batch
		var taken error
		b.Queue(insertCheckout, valuesOf(c)...).Exec(func(stored pgconn.CommandTag) error {
			if stored.RowsAffected() == 0 {
				taken = fmt.Errorf("%w: the order is taken", ports.ErrDuplicate)
			}
			return nil
		})
		if err := queueAgreement(&b, change); err != nil {
			return err
		}
		for i, e := range change.Events {
			b.Queue(insertEvent, append(eventValues(e, queued), i+1)...)
		}
		err := t.commit(ctx, &b)
		if t.doubt && (taken != nil || is(err, uniqueViolation)) {
			if done, err := t.inserted(ctx, c); done || err != nil {
				return err
			}
		}
		return cmp.Or(taken, err)
	})
	if err != nil {
		return fmt.Errorf("insert checkout %s: %w", c.ID, err)
	}
	return nil
}

// inserted tells whether it was an earlier try that stored what this one finds taken.
func (t *try) inserted(ctx context.Context, c checkout.Checkout) (bool, error) {
	list, err := rows(ctx, t.conn, scanCheckout, selectCheckout, c.ID)
	if err != nil || len(list) == 0 {
		return false, err
	}
	return list[0].RequestID == c.RequestID && list[0].ProviderCode == c.ProviderCode && list[0].OrderID == c.OrderID, nil
}

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectCheckout, id)
	if err != nil {
		return c, fmt.Errorf("read checkout %s: %w", id, err)
	}
	return c, nil
}

// CheckoutByOrder implements [ports.Checkouts].
func (db *DB) CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectByOrder, provider, order)
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by order: %w", provider, err)
	}
	return c, nil
}

// CheckoutByKey implements [ports.Checkouts].
func (db *DB) CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error) {
	c, err := one(ctx, db, scanCheckout, selectByKey, provider, key)
	if err != nil {
		return c, fmt.Errorf("read checkout of %s by idempotency key: %w", provider, err)
	}
	return c, nil
}

// UpdateCheckout implements [ports.Checkouts]. It takes two round trips: one locks the row, the other
// writes and commits.
func (db *DB) UpdateCheckout(ctx context.Context, id string, queued ports.Queued,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var refusal error
	var change checkout.Change // of the latest try
	err := db.do(ctx, func(ctx context.Context, t *try) error {
		var c checkout.Checkout
		err := t.begin(ctx, func(r pgx.Row) error { return r.Scan(intoCheckout(&c)...) }, lockCheckout, id)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if t.doubt {
			if done, err := t.updated(ctx, c, change); done || err != nil {
				return err
			}
		}
		if change, refusal = decide(c); refusal != nil {
			return nil // which leaves nothing behind, for nothing was written
		}
		change.Next.ID, change.Next.ProviderCode = c.ID, c.ProviderCode
		change.Next.OrderID, change.Next.IdempotencyKey = c.OrderID, c.IdempotencyKey
		var b pgx.Batch
		b.Queue(updateCheckout, valuesOf(change.Next)...)
		if err := queueAgreement(&b, change); err != nil {
			return err
		}
		for _, e := range change.Events {
			b.Queue(appendEvent, eventValues(e, queued)...)
		}
		return t.commit(ctx, &b)
	})
	switch {
	case err != nil:
		return fmt.Errorf("update checkout %s: %w", id, err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// updated tells whether it was committed what an earlier try wanted to make of the checkout, which now
// is c and locked: its agreement, whose number was drawn for it alone, is on record, or else the state is
// the very one that it wanted.
func (t *try) updated(ctx context.Context, c checkout.Checkout, wanted checkout.Change) (bool, error) {
	if wanted.Agreement == nil {
		return reflect.DeepEqual(valuesOf(c), valuesOf(wanted.Next)), nil
	}
	list, err := rows(ctx, t.conn, scanAgreement, selectAgreement, wanted.Agreement.Number)
	return err == nil && len(list) == 1 && list[0].CheckoutID == c.ID, err
}
