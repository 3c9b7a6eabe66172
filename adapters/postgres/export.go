package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// page is how many checkouts are read at once.
	page = 100

	selectPage         = `SELECT ` + checkoutColumns + `, seq FROM checkouts WHERE seq > $1 ORDER BY seq LIMIT $2`
	selectDocumentInfo = `SELECT a.checkout_id, d.id, d.sha256, length(d.bytes)
		FROM documents AS d JOIN agreements AS a ON a.number = d.agreement_number WHERE a.checkout_id = ANY ($1)`
	// A visitor may be slow, but not for ever: the snapshot keeps the server from tidying up.
	patient = `SET LOCAL idle_in_transaction_session_timeout = '10min'`
)

// Export implements [ports.Archive]. Everything is read in one transaction, which sees what
// was stored when it read first.
func (db *DB) Export(ctx context.Context, visit ports.Visitor) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer conn.Release() // which ends a connection with a transaction that is not over
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("export: %w", meaning(err))
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // it wrote nothing
	if _, err := tx.Exec(ctx, patient); err != nil {
		return fmt.Errorf("export: %w", meaning(err))
	}
	configurations, err := db.configurations(ctx, tx)
	if err != nil {
		return fmt.Errorf("export: %w", meaning(err))
	}
	if err := each(configurations, visit.Configuration); err != nil {
		return err
	}
	keys, err := rows(ctx, tx, scanKey, selectAPIKeys)
	if err != nil {
		return fmt.Errorf("export API keys: %w", meaning(err))
	}
	if err := each(keys, visit.Key); err != nil {
		return err
	}
	return eachPage(ctx, tx, func(dossiers []ports.Dossier) error { return each(dossiers, visit.Checkout) })
}

func each[T any](list []T, visit func(T) error) error {
	for _, v := range list {
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}

// eachPage passes all that is on record about checkouts to visit, a page of them at a time.
func eachPage(ctx context.Context, q querier, visit func([]ports.Dossier) error) error {
	for last := int64(0); ; {
		list, err := rows(ctx, q, scanNumbered, selectPage, last, page)
		if err != nil {
			return fmt.Errorf("export checkouts: %w", meaning(err))
		}
		if len(list) == 0 {
			return nil
		}
		last = list[len(list)-1].seq
		dossiers, err := complete(ctx, q, list)
		if err != nil {
			return fmt.Errorf("export what belongs to checkouts: %w", meaning(err))
		}
		if err := visit(dossiers); err != nil {
			return err
		}
	}
}

// numbered is a checkout with its place in the order of making.
type numbered struct {
	checkout checkout.Checkout
	seq      int64
}

func scanNumbered(r pgx.CollectableRow) (n numbered, err error) {
	err = r.Scan(append(intoCheckout(&n.checkout), &n.seq)...)
	return n, err
}

// complete adds to the checkouts what belongs to them.
func complete(ctx context.Context, q querier, list []numbered) ([]ports.Dossier, error) {
	dossiers := make([]ports.Dossier, len(list))
	ids := make([]string, len(list))
	of := make(map[string]*ports.Dossier, len(list)) // by the id of the checkout
	for i, n := range list {
		dossiers[i].Checkout, ids[i] = n.checkout, n.checkout.ID
		of[ids[i]] = &dossiers[i]
	}
	events, err := rows(ctx, q, scanEventRecord, selectEvents, ids)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	for _, e := range events {
		d := of[e.Event.CheckoutID]
		d.Events = append(d.Events, e)
	}
	agreements, err := rows(ctx, q, scanAgreement, selectAgreements, ids)
	if err != nil {
		return nil, fmt.Errorf("agreements: %w", err)
	}
	for i, a := range agreements {
		of[a.CheckoutID].Agreement = &agreements[i]
	}
	documents, err := rows(ctx, q, scanDocumentInfo, selectDocumentInfo, ids)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	for i, d := range documents {
		of[d.checkoutID].Document = &documents[i].info
	}
	return dossiers, nil
}

// documentInfo is a document's description, and the checkout whose agreement it draws.
type documentInfo struct {
	checkoutID string
	info       ports.DocumentInfo
}

func scanDocumentInfo(r pgx.CollectableRow) (d documentInfo, err error) {
	err = r.Scan(&d.checkoutID, &d.info.ID, column.SHA256(&d.info.SHA256), &d.info.Size)
	return d, err
}
