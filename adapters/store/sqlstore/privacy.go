package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var updatePersonal = set("agreements", Personal, `provider_code = ? AND number = ?`)

const (
	eraseJobs     = `UPDATE @.jobs SET reference = '', answer = '', failure = '', attempt_log = '' WHERE ` + ofCheckout
	eraseDocument = `UPDATE @.documents SET bytes = ? WHERE provider_code = ? AND agreement_number = ?`
	eraseSalt     = `UPDATE @.evidence SET salt = NULL WHERE id = ?`
)

// EraseCheckouts implements [ports.Retention]. If the outcome of an attempt is not known, a further one finds the entry of the
// evidence log that it stored.
func (s *Store) EraseCheckouts(ctx context.Context, ids []string,
	decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // in their order, so that two calls do not deadlock
	var erasure checkout.Erasure                            // of the latest attempt
	return s.Do(ctx, fmt.Sprintf("erase %d checkouts", len(ids)), func(ctx context.Context, t Tx) error {
		if found, err := recordedBefore(ctx, t, &erasure.Entry); found || err != nil {
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
		var err error
		if erasure, err = decide(found); err != nil {
			return refused{err}
		}
		b = Batch{}
		if err := s.record(ctx, t, &b, &erasure.Entry); err != nil { // first, because it may be refused
			return err
		}
		for _, next := range erasure.Next {
			l := of[next.ID]
			if l == nil || !l.found {
				return fmt.Errorf("checkout %s: %w", next.ID, ports.ErrNotFound)
			}
			b.update(l.checkout, next, next.ErasedAt)
			b.Write(eraseJobs, l.key()...)
			b.note(l, []checkout.Moment{erasure.MomentOf(next)})
			if a, ok := agreements[next.ID]; ok {
				b.Write(updatePersonal, append(Personal.Values(&a), next.ProviderCode, a.Number)...)
				b.Write(eraseDocument, []byte{}, next.ProviderCode, a.Number)
			}
		}
		for _, number := range erasure.Unsalted {
			b.Write(eraseSalt, evidence.AgreementID(number))
		}
		return t.Commit(ctx, &b)
	})
}

const (
	selectOld = `SELECT id, created_ms < CASE status WHEN 'confirmed' THEN CAST(? AS bigint) ELSE CAST(? AS bigint) END, erased_ms IS NULL,
		CASE status WHEN 'confirmed' THEN agreement_number ELSE '' END
	FROM @.checkouts WHERE (provider_code, id) > (?, ?) ORDER BY provider_code, id LIMIT ?`
	selectSalted = `SELECT id FROM @.evidence WHERE length(salt) > 0 AND id IN (`
)

type oldCheckout struct {
	id          string
	old, intact bool
	number      string
}

// OldCheckouts implements [ports.Retention]. The cursor is the id of the checkout that was looked at last.
func (s *Store) OldCheckouts(ctx context.Context, cursor string, limit int,
	confirmed, open time.Time) (ids []string, next string, err error) {
	page, err := All(ctx, s.engine, Fields(func(o *oldCheckout) []any { return []any{&o.id, &o.old, &o.intact, &o.number} }), selectOld,
		confirmed.UnixMilli(), open.UnixMilli(), checkout.ProviderOf(cursor), cursor, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("read old checkouts: %w", err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].id
	}
	salted, err := s.salted(ctx, page)
	if err != nil {
		return nil, "", fmt.Errorf("read the evidence of old checkouts: %w", err)
	}
	for _, o := range page {
		if o.old && (o.intact || slices.Contains(salted, evidence.AgreementID(o.number))) {
			ids = append(ids, o.id)
		}
	}
	return ids, next, nil
}

// salted returns the ids of the entries of erased checkouts that still have a salt. It is a question of its own: the evidence log may be
// on another node than the checkouts.
func (s *Store) salted(ctx context.Context, page []oldCheckout) (ids []string, err error) {
	var of []any
	for _, o := range page {
		if o.old && !o.intact && o.number != "" {
			of = append(of, evidence.AgreementID(o.number))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return All(ctx, s.engine, ScanValue[string], selectSalted+marks(len(of))+`)`, of...)
}
