package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

var (
	insertAgreement = `INSERT INTO @.agreements (` + sqlstore.Agreement.Names() + `)
		VALUES (` + sqlstore.Agreement.Numbers(1) + `)`
	agreements       = `SELECT ` + sqlstore.Agreement.Names() + ` FROM @.agreements`
	selectAgreement  = agreements + ` WHERE number = $1`
	selectAgreements = agreements + ` WHERE checkout_id = ANY ($1)`
)

const (
	// For a checkout without an agreement the number is NULL, which is refused.
	insertDocument = `INSERT INTO @.documents (agreement_number, id, sha256, bytes)
		VALUES ((SELECT number FROM @.agreements WHERE checkout_id = $1), $2, $3, $4)`
	selectDocument = `SELECT id, sha256, bytes FROM @.documents WHERE agreement_number = $1`
)

// Agreement implements [ports.Agreements].
func (db *DB) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	a, err := one(ctx, db, scanColumns(sqlstore.Agreement), selectAgreement, number)
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
	err = r.Scan(&d.ID, (*sqlstore.SHA256)(&d.SHA256), &d.Bytes)
	return d, err
}

// queueAgreement adds what stores the change's agreement, document and evidence, if there are any.
func (b *batch) queueAgreement(change checkout.Change) {
	if a := change.Agreement; a != nil {
		b.queue(insertAgreement, sqlstore.Agreement.Values(a)...)
	}
	if d := change.Document; d != nil {
		b.queue(insertDocument, change.Next.ID, d.ID, d.SHA256[:], d.Bytes)
	}
	b.queueEvidence(change.Evidence)
}
