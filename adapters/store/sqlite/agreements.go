package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	insertAgreement = `INSERT INTO agreements (` + column.Agreement.Names() + `)
		VALUES (` + column.Agreement.Marks() + `)`
	agreements                = `SELECT ` + column.Agreement.Names() + ` FROM agreements`
	selectAgreement           = agreements + ` WHERE number = ?`
	selectAgreementOfCheckout = agreements + ` WHERE checkout_id = ?`
)

const (
	insertDocument = `INSERT INTO documents (agreement_number, id, sha256, bytes)
		SELECT number, ?, ?, ? FROM agreements WHERE checkout_id = ?`
	selectDocument = `SELECT id, sha256, bytes FROM documents WHERE agreement_number = ?`
)

// Agreement implements [ports.Agreements].
func (db *DB) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	a, err := one(ctx, &db.readers, scanColumns(column.Agreement), selectAgreement, number)
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
	err = r.Scan(&d.ID, (*column.SHA256)(&d.SHA256), &d.Bytes)
	return d, err
}

func (tx *tx) storeAgreement(ctx context.Context, a agreement.Agreement) error {
	if _, err := tx.exec(ctx, insertAgreement, column.Agreement.Values(&a)...); err != nil {
		return fmt.Errorf("insert agreement %s: %w", a.Number, err)
	}
	return nil
}

// storeDocument stores the document of the checkout's agreement.
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
