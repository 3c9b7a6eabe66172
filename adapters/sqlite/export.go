package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
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
	moment := snapshot{tx: sqlTx, prepared: map[string]*sql.Stmt{}}
	for _, query := range []string{selectCourses, selectEvents, selectAgreementOfCheckout, selectDocumentInfo} {
		if moment.prepared[query], err = sqlTx.PrepareContext(ctx, query); err != nil { // the transaction closes it
			return fmt.Errorf("export: prepare: %w", meaning(err))
		}
	}
	if err := db.eachConfiguration(ctx, moment, visit.Configuration); err != nil {
		return err
	}
	if err := each(ctx, moment, scanKey, visit.Key, selectAPIKeys); err != nil {
		return err
	}
	return each(ctx, moment, scanCheckout, func(c checkout.Checkout) error {
		d, err := moment.dossier(ctx, c)
		if err != nil {
			return fmt.Errorf("export checkout %s: %w", c.ID, err)
		}
		return visit.Checkout(d)
	}, selectAllCheckouts)
}

// snapshot is the store at one moment.
type snapshot struct {
	tx       *sql.Tx
	prepared map[string]*sql.Stmt // in the transaction: what is asked for each provider and checkout
}

func (s snapshot) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, ok := s.prepared[query]; ok {
		return stmt.QueryContext(ctx, args...)
	}
	return s.tx.QueryContext(ctx, query, args...)
}

func (s snapshot) dossier(ctx context.Context, c checkout.Checkout) (d ports.Dossier, err error) {
	d.Checkout = c
	if d.Events, err = all(ctx, s, scanEventRecord, selectEvents, c.ID); err != nil {
		return d, err
	}
	a, err := one(ctx, s, scanAgreement, selectAgreementOfCheckout, c.ID)
	if errors.Is(err, ports.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.Agreement = &a
	info, err := one(ctx, s, scanDocumentInfo, selectDocumentInfo, a.Number)
	if errors.Is(err, ports.ErrNotFound) {
		return d, nil
	}
	d.Document = &info
	return d, err
}

func scanDocumentInfo(r row) (i ports.DocumentInfo, err error) {
	err = r.Scan(&i.ID, column.SHA256(&i.SHA256), &i.Size)
	return i, err
}
