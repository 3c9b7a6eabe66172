package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
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
func (s *Store) Export(ctx context.Context, visit checkout.Visitor) error {
	return s.engine.Snapshot(ctx, func(src Snapshot) error {
		configurations, err := configurations(ctx, src, s.encrypter)
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

// ExportStudent implements [ports.Exporter].
func (s *Store) ExportStudent(ctx context.Context, email string, visit checkout.Visitor) error {
	return s.engine.Snapshot(ctx, func(src Snapshot) error {
		return s.exportCheckouts(ctx, src, visit, exported+` WHERE `+s.dialect.SameEmail+` AND email <> ''`+exportOrder, email)
	})
}

// exportCheckouts passes everything on record about the checkouts whose keys the query returns to visit.
func (s *Store) exportCheckouts(ctx context.Context, src Snapshot, visit checkout.Visitor, query string, args ...any) error {
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
func (s *Store) exportPage(ctx context.Context, src Source, keys []CheckoutKey, visit checkout.Visitor) error {
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

// part is something that belongs to a checkout.
type part[T any] struct {
	checkoutID string
	value      T
}

func scanPart[T any](fields func(*T) []any) func(Row) (part[T], error) {
	return Fields(func(p *part[T]) []any { return append([]any{&p.checkoutID}, fields(&p.value)...) })
}

// eachRow passes each row of a query for a part of checkouts to add.
func eachRow[T any](ctx context.Context, src Source, name string, scan func(Row) (T, error), add func(T), query string, args []any) error {
	list, err := All(ctx, src, scan, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, v := range list {
		add(v)
	}
	return nil
}

// records returns everything on record about the checkouts, in the order of the keys.
func (s *Store) records(ctx context.Context, src Source, keys []CheckoutKey) ([]checkout.CheckoutRecord, error) {
	of := make(map[string]*checkout.CheckoutRecord, len(keys))
	records := make([]checkout.CheckoutRecord, len(keys))
	for i, k := range keys {
		of[k.ID] = &records[i]
	}
	isOne, args := ofCheckouts(`provider_code, id`, keys)
	isOf, _ := ofCheckouts(`provider_code, checkout_id`, keys)
	ofAgreement, _ := ofCheckouts(`a.provider_code, a.checkout_id`, keys)
	return records, cmp.Or(
		eachRow(ctx, src, "checkouts", scanCheckout, func(c checkout.Checkout) { of[c.ID].Checkout = c }, checkouts+` WHERE `+isOne, args),
		eachRow(ctx, src, "jobs", scanJob, func(row JobRow) {
			r := of[row.Job.CheckoutID]
			r.Jobs = append(r.Jobs, row.Shown(row.Until))
		}, jobs+` WHERE `+isOf+` ORDER BY position`, args),
		eachRow(ctx, src, "moments", scanPart(Moment.Destinations), func(m part[checkout.Moment]) {
			r := of[m.checkoutID]
			r.Moments = append(r.Moments, m.value)
		}, `SELECT checkout_id, `+Moment.Names()+` FROM @.moments WHERE `+isOf+` ORDER BY position`, args),
		eachRow(ctx, src, "agreements", Scan(Agreement), func(a agreement.Agreement) { of[a.CheckoutID].Agreement = &a },
			agreements+` WHERE `+isOf, args),
		eachRow(ctx, src, "documents", scanPart(func(d *checkout.DocumentInfo) []any {
			return []any{&d.ID, (*SHA256)(&d.SHA256), &d.Size}
		}), func(d part[checkout.DocumentInfo]) { of[d.checkoutID].Document = &d.value },
			`SELECT a.checkout_id, d.id, d.sha256, length(d.bytes) FROM @.agreements AS a
				JOIN @.documents AS d ON d.provider_code = a.provider_code AND d.agreement_number = a.number WHERE `+ofAgreement, args))
}
