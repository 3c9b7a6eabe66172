package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// PageSize is the number of checkouts that an export reads at once.
const PageSize = 100

// CheckoutKey is the primary key of a checkout.
type CheckoutKey struct{ ProviderCode, ID string }

// ScanCheckoutKey scans a row of a provider code and an id.
func ScanCheckoutKey(r Row) (k CheckoutKey, err error) {
	err = r.Scan(&k.ProviderCode, &k.ID)
	return k, err
}

// The checkouts that are exported, in the order of their creation: all of them, or a student's checkouts.
const (
	exported    = `SELECT provider_code, id FROM @.checkouts`
	exportOrder = ` ORDER BY created_ms, id`
)

// Export implements [ports.Exporter].
func (s *Store) Export(ctx context.Context, visit ports.Visitor) error {
	return s.engine.Snapshot(ctx, func(src Snapshot) error {
		configurations, err := configurations(ctx, src, s.Encrypter)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		keys, err := All(ctx, src, Scan(Key), selectAPIKeys)
		if err != nil {
			return fmt.Errorf("export API keys: %w", err)
		}
		if err := each(configurations, visit.Configuration); err != nil {
			return err
		}
		if err := each(keys, visit.Key); err != nil {
			return err
		}
		return s.exportCheckouts(ctx, src, visit, exported+exportOrder)
	})
}

// ExportStudent implements [ports.Privacy].
func (s *Store) ExportStudent(ctx context.Context, email string, visit ports.Visitor) error {
	return s.engine.Snapshot(ctx, func(src Snapshot) error {
		return s.exportCheckouts(ctx, src, visit, exported+` WHERE `+s.dialect.SameEmail+` AND email <> ''`+exportOrder, email)
	})
}

// exportCheckouts passes everything on record about the checkouts whose keys the query returns to visit.
func (s *Store) exportCheckouts(ctx context.Context, src Snapshot, visit ports.Visitor, query string, args ...any) error {
	return src.Pages(ctx, query, args, func(keys []CheckoutKey) error { return s.exportPage(ctx, src, keys, visit) })
}

func each[T any](list []T, visit func(T) error) error {
	for _, v := range list {
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}

// exportPage passes everything on record about the checkouts with these keys to visit, at most PageSize. A driver may give up
// all rows of a result after a row that cannot be read: then they are read one by one.
func (s *Store) exportPage(ctx context.Context, src Source, keys []CheckoutKey, visit ports.Visitor) error {
	records, err := s.records(ctx, src, keys)
	switch bad, unreadable := errors.AsType[Unreadable](err); {
	case unreadable && len(keys) == 1:
		return visit.Unreadable(keys[0].ID, bad.error)
	case unreadable:
		return each(keys, func(k CheckoutKey) error { return s.exportPage(ctx, src, []CheckoutKey{k}, visit) })
	case err != nil:
		return fmt.Errorf("export checkouts: %w", err)
	}
	return each(records, visit.Checkout)
}

// ofCheckouts returns the condition that the columns are one of the keys, with its arguments. There are as many parameters for
// every page but that of one checkout, so that there are few statements.
func ofCheckouts(columns string, keys []CheckoutKey) (condition string, args []any) {
	n := PageSize
	if len(keys) == 1 {
		n = 1
	}
	for i := range n {
		k := keys[min(i, len(keys)-1)]
		args = append(args, k.ProviderCode, k.ID)
	}
	return `(` + columns + `) IN (VALUES ` + strings.Repeat(`, (?, ?)`, n)[2:] + `)`, args
}

// documentInfo describes the document of a checkout.
type documentInfo struct {
	checkoutID string
	info       checkout.DocumentInfo
}

// momentOf is a moment of a checkout.
type momentOf struct {
	checkoutID string
	moment     checkout.Moment
}

// records returns everything on record about the checkouts, in the order of the keys.
func (s *Store) records(ctx context.Context, src Source, keys []CheckoutKey) ([]checkout.CheckoutRecord, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	of := make(map[string]*checkout.CheckoutRecord, len(keys))
	records := make([]checkout.CheckoutRecord, len(keys))
	for i, k := range keys {
		of[k.ID] = &records[i]
	}
	isOne, args := ofCheckouts(`provider_code, id`, keys)
	checkouts, err := All(ctx, src, s.dialect.Scan, `SELECT `+s.dialect.Columns+` FROM @.checkouts WHERE `+isOne, args...)
	if err != nil {
		return nil, fmt.Errorf("checkouts: %w", err)
	}
	for _, c := range checkouts {
		of[c.ID].Checkout = c
	}
	isOf, _ := ofCheckouts(`provider_code, checkout_id`, keys)
	rows, err := All(ctx, src, ScanJob, jobs+` WHERE `+isOf+` ORDER BY position`, args...)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	for _, row := range rows {
		r := of[row.Job.CheckoutID]
		r.Jobs = append(r.Jobs, row.Record())
	}
	moments, err := All(ctx, src, func(r Row) (n momentOf, err error) {
		err = r.Scan(append([]any{&n.checkoutID}, Moment.Destinations(&n.moment)...)...)
		return n, err
	}, `SELECT checkout_id, `+Moment.Names()+` FROM @.moments WHERE `+isOf+` ORDER BY position`, args...)
	if err != nil {
		return nil, fmt.Errorf("moments: %w", err)
	}
	for _, n := range moments {
		r := of[n.checkoutID]
		r.Moments = append(r.Moments, n.moment)
	}
	agreed, err := All(ctx, src, Scan(Agreement), agreements+` WHERE `+isOf, args...)
	if err != nil {
		return nil, fmt.Errorf("agreements: %w", err)
	}
	for i, a := range agreed {
		of[a.CheckoutID].Agreement = &agreed[i]
	}
	isOf, _ = ofCheckouts(`a.provider_code, a.checkout_id`, keys)
	documents, err := All(ctx, src, func(r Row) (d documentInfo, err error) {
		err = r.Scan(&d.checkoutID, &d.info.ID, (*SHA256)(&d.info.SHA256), &d.info.Size)
		return d, err
	}, `SELECT a.checkout_id, d.id, d.sha256, length(d.bytes) FROM @.agreements AS a
		JOIN @.documents AS d ON d.provider_code = a.provider_code AND d.agreement_number = a.number WHERE `+isOf, args...)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	for i, d := range documents {
		of[d.checkoutID].Document = &documents[i].info
	}
	return records, nil
}
