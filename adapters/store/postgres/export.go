package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// pageSize is how many checkouts are read at once.
const pageSize = 100

var selectCheckouts = checkouts + ` WHERE id = ANY ($1) ORDER BY seq`

const (
	selectPage         = `SELECT id, seq FROM @.checkouts WHERE seq > $1 ORDER BY seq LIMIT $2`
	selectDocumentInfo = `SELECT a.checkout_id, d.id, d.sha256, length(d.bytes)
		FROM @.documents AS d JOIN @.agreements AS a ON a.number = d.agreement_number WHERE a.checkout_id = ANY ($1)`
	// A visitor may be slow, but must not keep the snapshot for ever, which keeps the server from vacuuming.
	allowSlowVisitor = `SET LOCAL idle_in_transaction_session_timeout = '10min'`
)

// Export implements [ports.Exporter]. It reads in one transaction, which is a snapshot from its first read on.
func (db *DB) Export(ctx context.Context, visit ports.Visitor) error {
	return db.inSnapshot(ctx, func(s snapshot) error {
		configurations, err := db.configurations(ctx, s)
		if err != nil {
			return fmt.Errorf("export: %w", mapError(err))
		}
		if err := each(configurations, visit.Configuration); err != nil {
			return err
		}
		keys, err := rows(ctx, s, scanColumns(sqlstore.Key), selectAPIKeys)
		if err != nil {
			return fmt.Errorf("export API keys: %w", mapError(err))
		}
		if err := each(keys, visit.Key); err != nil {
			return err
		}
		return s.eachPage(ctx, visit, selectPage)
	})
}

// inSnapshot calls read with the store as it is at its first read.
func (db *DB) inSnapshot(ctx context.Context, read func(snapshot) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer conn.Release() // which closes a connection whose transaction is still open
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // it wrote nothing
	if _, err := tx.Exec(ctx, allowSlowVisitor); err != nil {
		return fmt.Errorf("export: %w", mapError(err))
	}
	return read(snapshot{tx, db.schema})
}

func each[T any](list []T, visit func(T) error) error {
	for _, v := range list {
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is the store at one time.
type snapshot struct {
	tx     pgx.Tx
	schema *schema
}

func (s snapshot) query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return s.tx.Query(ctx, s.schema.qualify(query), args...)
}

// place is a checkout's place in the order of creation.
type place struct {
	id  string
	seq int64
}

func scanPlace(r pgx.CollectableRow) (p place, err error) {
	err = r.Scan(&p.id, &p.seq)
	return p, err
}

// eachPage calls visit for every checkout of the query, which returns those after a place in the order of creation and at
// most as many as it is told. It reads a page of them at a time.
func (s snapshot) eachPage(ctx context.Context, visit ports.Visitor, query string, args ...any) error {
	for last := int64(0); ; {
		places, err := rows(ctx, s, scanPlace, query, append([]any{last, pageSize}, args...)...)
		if err != nil {
			return fmt.Errorf("export checkouts: %w", mapError(err))
		}
		if len(places) == 0 {
			return nil
		}
		last = places[len(places)-1].seq
		ids := make([]string, len(places))
		for i, p := range places {
			ids[i] = p.id
		}
		if err := s.visit(ctx, visit, ids...); err != nil {
			return err
		}
	}
}

// visit calls visit for these checkouts. The driver gives up all rows of a result after one that cannot be read: then
// they are read one by one.
func (s snapshot) visit(ctx context.Context, visit ports.Visitor, ids ...string) error {
	records, err := s.records(ctx, ids)
	switch bad, unreadable := errors.AsType[pgx.ScanArgError](err); {
	case unreadable && len(ids) == 1:
		return visit.Unreadable(ids[0], bad)
	case unreadable:
		return each(ids, func(id string) error { return s.visit(ctx, visit, id) })
	case err != nil:
		return fmt.Errorf("export checkouts: %w", mapError(err))
	}
	return each(records, visit.Checkout)
}

// records returns everything on record about the checkouts, in the order of their creation.
func (s snapshot) records(ctx context.Context, ids []string) ([]ports.CheckoutRecord, error) {
	checkouts, err := rows(ctx, s, scanCheckout, selectCheckouts, ids)
	if err != nil {
		return nil, fmt.Errorf("checkouts: %w", err)
	}
	events, err := rows(ctx, s, scanColumns(sqlstore.EventRecord), selectEvents, ids)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	notices, err := rows(ctx, s, scanColumns(sqlstore.NoticeRecord), selectNotices, ids)
	if err != nil {
		return nil, fmt.Errorf("notices: %w", err)
	}
	agreements, err := rows(ctx, s, scanColumns(sqlstore.Agreement), selectAgreements, ids)
	if err != nil {
		return nil, fmt.Errorf("agreements: %w", err)
	}
	documents, err := rows(ctx, s, scanDocumentInfo, selectDocumentInfo, ids)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	records, of := recordsOf(checkouts)
	for _, e := range events {
		r := of[e.Event.CheckoutID]
		r.Events = append(r.Events, e)
	}
	for _, n := range notices {
		r := of[n.Notice.CheckoutID]
		r.Notices = append(r.Notices, n)
	}
	for i, a := range agreements {
		of[a.CheckoutID].Agreement = &agreements[i]
	}
	for i, d := range documents {
		of[d.checkoutID].Document = &documents[i].info
	}
	return records, nil
}

// recordsOf returns a record for each checkout, and the same records by the ids.
func recordsOf(checkouts []checkout.Checkout) (records []ports.CheckoutRecord, of map[string]*ports.CheckoutRecord) {
	records = make([]ports.CheckoutRecord, len(checkouts))
	of = make(map[string]*ports.CheckoutRecord, len(checkouts))
	for i, c := range checkouts {
		records[i].Checkout = c
		of[c.ID] = &records[i]
	}
	return records, of
}

// documentInfo describes the document of a checkout.
type documentInfo struct {
	checkoutID string
	info       ports.DocumentInfo
}

func scanDocumentInfo(r pgx.CollectableRow) (d documentInfo, err error) {
	err = r.Scan(&d.checkoutID, &d.info.ID, (*sqlstore.SHA256)(&d.info.SHA256), &d.info.Size)
	return d, err
}
