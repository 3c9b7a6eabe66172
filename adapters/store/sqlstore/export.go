package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
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
	exported     = `SELECT provider_code, id FROM @.checkouts`
	exportOrder  = ` ORDER BY created_ms, id`
	SelectExport = exported + exportOrder
)

// SelectStudent returns the statement that reads the keys of a student's checkouts.
func (d Dialect) SelectStudent() string {
	return exported + ` WHERE ` + d.SameEmail + ` AND email <> ''` + exportOrder
}

// ExportConfiguration passes the configurations and the keys to visit.
func ExportConfiguration(ctx context.Context, src Source, e Encrypter, visit ports.Visitor) error {
	configurations, err := Configurations(ctx, src, e)
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
	return each(keys, visit.Key)
}

func each[T any](list []T, visit func(T) error) error {
	for _, v := range list {
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}

// ExportCheckouts passes everything on record about the checkouts with these keys to visit, at most PageSize. A driver may give up
// all rows of a result after a row that cannot be read: then they are read one by one.
func (d Dialect) ExportCheckouts(ctx context.Context, src Source, keys []CheckoutKey, visit ports.Visitor) error {
	records, err := d.records(ctx, src, keys)
	switch bad, unreadable := errors.AsType[Unreadable](err); {
	case unreadable && len(keys) == 1:
		return visit.Unreadable(keys[0].ID, bad.error)
	case unreadable:
		return each(keys, func(k CheckoutKey) error { return d.ExportCheckouts(ctx, src, []CheckoutKey{k}, visit) })
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

// noted is a moment of a checkout.
type noted struct {
	checkoutID string
	moment     checkout.Moment
}

// records returns everything on record about the checkouts, in the order of the keys.
func (d Dialect) records(ctx context.Context, src Source, keys []CheckoutKey) ([]checkout.CheckoutRecord, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	of := make(map[string]*checkout.CheckoutRecord, len(keys))
	records := make([]checkout.CheckoutRecord, len(keys))
	for i, k := range keys {
		of[k.ID] = &records[i]
	}
	isOne, args := ofCheckouts(`provider_code, id`, keys)
	checkouts, err := All(ctx, src, d.Scan, `SELECT `+d.Columns+` FROM @.checkouts WHERE `+isOne, args...)
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
	moments, err := All(ctx, src, func(r Row) (n noted, err error) {
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

// The entry of an agreement is looked up for erased checkouts only.
const selectOld = `SELECT id, created_ms < CASE status WHEN 'confirmed' THEN CAST(? AS bigint) ELSE CAST(? AS bigint) END AND (erased_ms IS NULL OR
		status = 'confirmed' AND EXISTS (SELECT 1 FROM @.evidence AS e
			WHERE e.id = '` + evidence.AgreementPrefix + `' || agreement_number AND length(e.salt) > 0))
	FROM @.checkouts WHERE (provider_code, id) > (?, ?) ORDER BY provider_code, id LIMIT ?`

type oldCheckout struct {
	id     string
	wanted bool
}

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (r Reads) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) (ids []string, next string, err error) {
	page, err := All(ctx, r.src, func(r Row) (o oldCheckout, err error) {
		err = r.Scan(&o.id, &o.wanted)
		return o, err
	}, selectOld, confirmed.UnixMilli(), open.UnixMilli(), checkout.ProviderOf(cursor), cursor, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read old checkouts: %w", err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].id
	}
	for _, o := range page {
		if o.wanted {
			ids = append(ids, o.id)
		}
	}
	return ids, next, nil
}
