package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	agreementColumns = `number, id, version, checkout_id, provider_order_id, accepted_ms,
		provider_code, provider_name, support_email, first_name, last_name, email, course_code, course_name,
		price_cents, upfront_cents, principal_cents,
		payment_frequency, number_of_instalments, instalment_cents, final_instalment_cents, first_payment_date,
		dda_id, account_holder, account_tail, authorised_ms`

	insertAgreement = `INSERT INTO agreements (schedule, particulars, ` + agreementColumns + `)
		VALUES (?, ?,  ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?, ?,  ?, ?, ?,  ?, ?, ?, ?, ?,  ?, ?, ?, ?)`
	selectAgreement           = `SELECT ` + agreementColumns + `, schedule, particulars FROM agreements WHERE number = ?`
	selectAgreementOfCheckout = `SELECT ` + agreementColumns + `, schedule, particulars FROM agreements WHERE checkout_id = ?`

	insertDocument = `INSERT INTO documents (agreement_number, id, sha256, bytes)
		SELECT number, ?, ?, ? FROM agreements WHERE checkout_id = ?`
	selectDocument = `SELECT id, sha256, bytes FROM documents WHERE agreement_number = ?`

	drawNumber = `UPDATE store SET last_agreement = last_agreement + 1 RETURNING last_agreement`
)

// DrawNumber implements [ports.Agreements].
func (db *DB) DrawNumber(ctx context.Context) (n int64, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		n, err = one(ctx, tx, scanValue[int64], drawNumber)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("draw agreement number: %w", err)
	}
	return n, nil
}

// Agreement implements [ports.Agreements].
func (db *DB) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	a, err := one(ctx, &db.readers, scanAgreement, selectAgreement, number)
	if err != nil {
		return a, fmt.Errorf("read agreement %s: %w", number, err)
	}
	return a, nil
}

// Document implements [ports.Agreements].
func (db *DB) Document(ctx context.Context, number string) (agreement.Document, error) {
	d, err := one(ctx, &db.readers, scanDocument, selectDocument, number)
	if err != nil {
		return d, fmt.Errorf("read document of agreement %s: %w", number, err)
	}
	return d, nil
}

func scanDocument(r row) (d agreement.Document, err error) {
	err = r.Scan(&d.ID, column.SHA256(&d.SHA256), &d.Bytes)
	return d, err
}

func (tx *tx) storeAgreement(ctx context.Context, a agreement.Agreement) error {
	schedule, err := column.ScheduleText(a.Schedule)
	if err != nil {
		return fmt.Errorf("schedule of agreement %s: %w", a.Number, err)
	}
	particulars, err := column.ParticularsText(a)
	if err != nil {
		return fmt.Errorf("particulars of agreement %s: %w", a.Number, err)
	}
	plan, debit := a.Plan, a.DirectDebit
	_, err = tx.exec(ctx, insertAgreement, schedule, particulars,
		a.Number, a.ID, a.Version, a.CheckoutID, a.OrderID, column.Millis(a.AcceptedAt),
		a.Provider.Code, a.Provider.Name, a.Provider.SupportEmail,
		a.Student.FirstName, a.Student.LastName, a.Student.Email, a.Course.Code, a.Course.Name,
		a.Pricing.Price, a.Pricing.Upfront, a.Pricing.Principal,
		plan.Frequency, plan.Number, plan.Regular, plan.Final, column.Day(plan.First),
		debit.AuthorityID, debit.AccountHolder, debit.AccountTail, column.Millis(debit.AuthorisedAt),
	)
	if err != nil {
		return fmt.Errorf("insert agreement %s: %w", a.Number, err)
	}
	return nil
}

func scanAgreement(r row) (a agreement.Agreement, err error) {
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

// storeDocument stores the drawing of the checkout's agreement.
func (tx *tx) storeDocument(ctx context.Context, checkoutID string, d agreement.Document) error {
	err := tx.execOne(ctx, insertDocument, d.ID, d.SHA256[:], d.Bytes, checkoutID)
	if errors.Is(err, ports.ErrNotFound) {
		return fmt.Errorf("insert document %s: the checkout has no agreement", d.ID)
	}
	if err != nil {
		return fmt.Errorf("insert document %s: %w", d.ID, err)
	}
	return nil
}
