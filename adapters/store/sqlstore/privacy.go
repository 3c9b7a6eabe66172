package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var updatePersonal = set("agreements", Personal, `provider_code = ? AND number = ?`)

const (
	eraseJobs     = `UPDATE @.jobs SET reference = '', answer = '', failure = '' WHERE ` + ofCheckout
	eraseDocument = `UPDATE @.documents SET bytes = ? WHERE provider_code = ? AND agreement_number = ?`
)

// EraseCheckouts implements [ports.Retention].
func (s *Store) EraseCheckouts(ctx context.Context, ids []string,
	decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // in their order, so that two calls do not deadlock
	return s.Do(ctx, fmt.Sprintf("erase %d checkouts", len(ids)), func(ctx context.Context, t Tx) error {
		if err := once(t); err != nil {
			return err
		}
		var b Batch
		of := make(map[string]*locked, len(ids))
		agreements := make(map[string]agreement.Agreement, len(ids))
		for _, id := range ids {
			of[id] = s.lock(&b, id)
			if !s.dialect.Server {
				of[id].readMoments(&b)
			}
			Get(&b, Scan(Agreement), func(a agreement.Agreement) { agreements[id] = a.Erased() }, selectAgreementOf, of[id].key()...)
		}
		if err := t.Lock(ctx, &b); err != nil {
			return wrap(err, "lock")
		}
		var found []checkout.Checkout
		for _, id := range ids {
			if of[id].found {
				found = append(found, of[id].checkout)
			}
		}
		erasure, err := decide(found)
		if err != nil {
			return refused{err}
		}
		b = Batch{}
		b.record(&erasure.Act)
		for _, next := range erasure.Next {
			l := of[next.ID]
			if l == nil || !l.found {
				return fmt.Errorf("checkout %s: %w", next.ID, ports.ErrNotFound)
			}
			b.update(l.checkout, next)
			b.Write(eraseJobs, l.key()...)
			b.note(l, []checkout.Moment{erasure.Moment})
			if a, ok := agreements[next.ID]; ok {
				b.Write(updatePersonal, append(Personal.Values(&a), next.ProviderCode, a.Number)...)
				b.Write(eraseDocument, []byte{}, next.ProviderCode, a.Number)
			}
		}
		return t.Commit(ctx, &b)
	})
}

const selectOld = `SELECT id, created_ms < CASE status WHEN 'confirmed' THEN CAST(? AS bigint) ELSE CAST(? AS bigint) END AND erased_ms IS NULL
	FROM @.checkouts WHERE (provider_code, id) > (?, ?) ORDER BY provider_code, id LIMIT ?`

type oldCheckout struct {
	id  string
	old bool
}

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (s *Store) OldCheckouts(ctx context.Context, cursor string, limit int,
	confirmed, open time.Time) (ids []string, next string, err error) {
	page, err := All(ctx, s.engine, Fields(func(o *oldCheckout) []any { return []any{&o.id, &o.old} }), selectOld,
		confirmed.UnixMilli(), open.UnixMilli(), checkout.ProviderOf(cursor), cursor, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read old checkouts: %w", err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].id
	}
	for _, o := range page {
		if o.old {
			ids = append(ids, o.id)
		}
	}
	return ids, next, nil
}
