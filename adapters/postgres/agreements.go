package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	agreementColumns = `number, id, version, checkout_id, provider_order_id, accepted_ms,
		provider_code, provider_name, support_email, first_name, last_name, email, course_code, course_name,
		price_cents, upfront_cents, principal_cents,
		payment_frequency, number_of_instalments, instalment_cents, final_instalment_cents, first_payment_date,
		dda_id, account_holder, account_tail, authorised_ms, schedule, particulars`

	insertAgreement = `INSERT INTO agreements (` + agreementColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6,
		$7, $8, $9, $10, $11, $12, $13, $14,
		$15, $16, $17,
		$18, $19, $20, $21, $22,
		$23, $24, $25, $26, $27, $28)`
	agreements       = `SELECT ` + agreementColumns + ` FROM agreements`
	selectAgreement  = agreements + ` WHERE number = $1`
	selectAgreements = agreements + ` WHERE checkout_id = ANY ($1)`

	// A checkout without an agreement makes the number NULL, which is refused.
	insertDocument = `INSERT INTO documents (agreement_number, id, sha256, bytes)
		VALUES ((SELECT number FROM agreements WHERE checkout_id = $1), $2, $3, $4)`
	selectDocument = `SELECT id, sha256, bytes FROM documents WHERE agreement_number = $1`

	drawNumber = `UPDATE agreement_numbers SET last = last + 1 WHERE id = 1 RETURNING last`
)

// DrawNumber implements [ports.Agreements]. A number whose commit is in doubt stays unused.
func (db *DB) DrawNumber(ctx context.Context) (n int64, err error) {
	err = db.do(ctx, func(ctx context.Context, t *try) error {
		var b pgx.Batch
		b.Queue(drawNumber).QueryRow(func(r pgx.Row) error { return r.Scan(&n) })
		return t.commit(ctx, &b)
	})
	if err != nil {
		return 0, fmt.Errorf("draw agreement number: %w", err)
	}
	return n, nil
}

// Agreement implements [ports.Agreements].
func (db *DB) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	a, err := one(ctx, db, scanAgreement, selectAgreement, number)
	if err != nil {
		return a, fmt.Errorf("read agreement %s: %w", number, err)
	}
	return a, nil
}

// Document implements [ports.Agreements].
func (db *DB) Document(ctx context.Context, number string) (agreement.Document, error) {
	d, err := one(ctx, db, scanDocument, selectDocument, number)
	if err != nil {
		return d, fmt.Errorf("read document of agreement %s: %w", number, err)
	}
	return d, nil
}

func scanDocument(r pgx.CollectableRow) (d agreement.Document, err error) {
	err = r.Scan(&d.ID, column.SHA256(&d.SHA256), &d.Bytes)
	return d, err
}

// queueAgreement queues the storing of the change's agreement, and of its document, where there are any.
func queueAgreement(b *pgx.Batch, change checkout.Change) error {
	if change.Agreement != nil {
		values, err := agreementValues(*change.Agreement)
		if err != nil {
			return err
		}
		b.Queue(insertAgreement, values...)
	}
	if d := change.Document; d != nil {
		b.Queue(insertDocument, change.Next.ID, d.ID, d.SHA256[:], d.Bytes)
	}
	return nil
}

func agreementValues(a agreement.Agreement) ([]any, error) {
	schedule, err := column.ScheduleText(a.Schedule)
	if err != nil {
		return nil, fmt.Errorf("schedule of agreement %s: %w", a.Number, err)
	}
	particulars, err := column.ParticularsText(a)
	if err != nil {
		return nil, fmt.Errorf("particulars of agreement %s: %w", a.Number, err)
	}
	plan, debit := a.Plan, a.DirectDebit
	return []any{
		a.Number, a.ID, a.Version, a.CheckoutID, a.OrderID, column.Millis(a.AcceptedAt),
		a.Provider.Code, a.Provider.Name, a.Provider.SupportEmail,
		a.Student.FirstName, a.Student.LastName, a.Student.Email, a.Course.Code, a.Course.Name,
		a.Pricing.Price, a.Pricing.Upfront, a.Pricing.Principal,
		plan.Frequency, plan.Number, plan.Regular, plan.Final, column.Day(plan.First),
		debit.AuthorityID, debit.AccountHolder, debit.AccountTail, column.Millis(debit.AuthorisedAt), schedule,
		particulars,
	}, nil
}

func scanAgreement(r pgx.CollectableRow) (a agreement.Agreement, err error) {
	plan, debit := &a.Plan, &a.DirectDebit
	err = r.Scan(
		&a.Number, &a.ID, &a.Version, &a.CheckoutID, &a.OrderID, column.Time(&a.AcceptedAt),
		&a.Provider.Code, &a.Provider.Name, &a.Provider.SupportEmail,
		&a.Student.FirstName, &a.Student.LastName, &a.Student.Email, &a.Course.Code, &a.Course.Name,
		&a.Pricing.Price, &a.Pricing.Upfront, &a.Pricing.Principal,
		&plan.Frequency, &plan.Number, &plan.Regular, &plan.Final, column.Date(&plan.First),
		&debit.AuthorityID, &debit.AccountHolder, &debit.AccountTail, column.Time(&debit.AuthorisedAt),
		column.Schedule(&a.Schedule), column.Particulars(&a),
	)
	return a, err
}
