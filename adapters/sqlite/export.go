package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	selectAllCheckouts = checkouts + ` ORDER BY seq`
	selectDocumentInfo = `SELECT id, sha256, length(bytes) FROM documents WHERE agreement_number = ?`
)

// Export implements [ports.Archive]. Everything is read in one transaction, which sees what
// was stored when it read first.
func (db *DB) Export(ctx context.Context, visit ports.Visitor) error {
	sqlTx, err := db.readers.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("export: %w", meaning(err))
	}
	defer sqlTx.Rollback() // it wrote nothing
	tx := tx{sqlTx, db.readers.prepared}
	if err := db.eachConfiguration(ctx, tx, visit.Configuration); err != nil {
		return err
	}
	if err := each(ctx, tx, scanKey, visit.Key, selectAPIKeys); err != nil {
		return err
	}
	return each(ctx, tx, scanCheckout, func(c checkout.Checkout) error {
		d, err := tx.dossier(ctx, c)
		if err != nil {
			return fmt.Errorf("export checkout %s: %w", c.ID, err)
		}
		return visit.Checkout(d)
	}, selectAllCheckouts)
}

func (tx tx) dossier(ctx context.Context, c checkout.Checkout) (d ports.Dossier, err error) {
	d.Checkout = c
	if d.Events, err = all(ctx, tx, scanEventRecord, selectEvents, c.ID); err != nil {
		return d, err
	}
	a, err := one(ctx, tx, scanAgreement, selectAgreementOfCheckout, c.ID)
	if errors.Is(err, ports.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.Agreement = &a
	info, err := one(ctx, tx, scanDocumentInfo, selectDocumentInfo, a.Number)
	if errors.Is(err, ports.ErrNotFound) {
		return d, nil
	}
	d.Document = &info
	return d, err
}

func scanDocumentInfo(r row) (i ports.DocumentInfo, err error) {
	err = r.Scan(&i.ID, readHash{&i.SHA256}, &i.Size)
	return i, err
}
