package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/column"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var selectAllCheckouts = `SELECT id, ` + jsonCheckout + ` FROM checkouts ORDER BY seq`

const selectDocumentInfo = `SELECT id, sha256, length(bytes) FROM documents WHERE agreement_number = ?`

// Export implements [ports.Exporter]. It reads in one transaction, which is a snapshot from its first read on.
func (db *DB) Export(ctx context.Context, visit ports.Visitor) error {
	return db.inSnapshot(ctx, func(s snapshot) error {
		configurations, err := db.configurations(ctx, s)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		for _, c := range configurations {
			if err := visit.Configuration(c); err != nil {
				return err
			}
		}
		if err := each(ctx, s, scanColumns(column.Key), visit.Key, selectAPIKeys); err != nil {
			return err
		}
		return each(ctx, s, scanExported, func(e exported) error { return s.visit(ctx, e, visit) }, selectAllCheckouts)
	})
}

// inSnapshot calls read with the store as it is at its first read.
func (db *DB) inSnapshot(ctx context.Context, read func(snapshot) error) error {
	sqlTx, err := db.readers.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	defer sqlTx.Rollback() // it wrote nothing
	s := snapshot{tx: sqlTx, prepared: map[string]*sql.Stmt{}}
	for _, query := range []string{selectEvents, selectNotices, selectAgreementOfCheckout, selectDocumentInfo} {
		if s.prepared[query], err = sqlTx.PrepareContext(ctx, query); err != nil { // the transaction closes it
			return fmt.Errorf("export: prepare: %w", mapError(err))
		}
	}
	return read(s)
}

// snapshot is the store at one time.
type snapshot struct {
	tx       *sql.Tx
	prepared map[string]*sql.Stmt // what is read for each checkout
}

func (s snapshot) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, ok := s.prepared[query]; ok {
		return stmt.QueryContext(ctx, args...)
	}
	return s.tx.QueryContext(ctx, query, args...)
}

// exported is a checkout that is exported, or why it cannot be read.
type exported struct {
	id       string
	checkout checkout.Checkout
	err      error
}

func scanExported(r row) (e exported, err error) {
	var array sql.RawBytes
	if err := r.Scan(&e.id, &array); err != nil {
		return e, err
	}
	e.err = readArray(array, column.Checkout, &e.checkout)
	return e, nil
}

// visit calls visit with everything on record about the checkout.
func (s snapshot) visit(ctx context.Context, e exported, visit ports.Visitor) error {
	if e.err != nil {
		return visit.Unreadable(e.id, fmt.Errorf("read checkout: %w", e.err))
	}
	r, err := s.record(ctx, e.checkout)
	if bad, ok := errors.AsType[rowError](err); ok {
		return visit.Unreadable(e.id, bad.error)
	}
	if err != nil {
		return fmt.Errorf("export checkout %s: %w", e.id, err)
	}
	return visit.Checkout(r)
}

// record returns everything on record about the checkout.
func (s snapshot) record(ctx context.Context, c checkout.Checkout) (r ports.CheckoutRecord, err error) {
	r.Checkout = c
	if r.Events, err = all(ctx, s, scanColumns(column.EventRecord), selectEvents, c.ID); err != nil {
		return r, fmt.Errorf("read events: %w", err)
	}
	if r.Notices, err = all(ctx, s, scanColumns(column.NoticeRecord), selectNotices, c.ID); err != nil {
		return r, fmt.Errorf("read notices: %w", err)
	}
	a, err := one(ctx, s, scanColumns(column.Agreement), selectAgreementOfCheckout, c.ID)
	if errors.Is(err, ports.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read agreement: %w", err)
	}
	r.Agreement = &a
	info, err := one(ctx, s, scanDocumentInfo, selectDocumentInfo, a.Number)
	if errors.Is(err, ports.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read document: %w", err)
	}
	r.Document = &info
	return r, nil
}

func scanDocumentInfo(r row) (i ports.DocumentInfo, err error) {
	err = r.Scan(&i.ID, (*column.SHA256)(&i.SHA256), &i.Size)
	return i, err
}
