package postgres

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var updatePersonal = `UPDATE @.agreements SET (` + sqlstore.Personal.Names() + `) = (` + sqlstore.Personal.Numbers(3) + `)
	WHERE provider_code = $1 AND number = $2`

const (
	eraseJobs     = `UPDATE @.jobs SET reference = '', answer = '', failure = '' WHERE provider_code = $1 AND checkout_id = $2`
	eraseDocument = `UPDATE @.documents SET bytes = '' WHERE provider_code = $1 AND agreement_number = $2`
	eraseSalt     = `UPDATE @.evidence SET salt = NULL WHERE id = $1`
)

// vacuumed are the tables that may have had personal data.
var vacuumed = []string{"checkouts", "agreements", "documents", "evidence", "jobs", "sandbox_records"}

// EraseCheckouts implements [ports.Retention]. If the outcome of an attempt is not known, a further one finds the entry of the
// evidence log that it stored.
func (db *DB) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	var refusal error
	var erasure checkout.Erasure // of the latest attempt
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		if t.outcomeUnknown {
			if found, err := t.recorded(ctx, &erasure.Entry); found || err != nil {
				return err
			}
		}
		list, err := t.lockAll(ctx, ids)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		var found []checkout.Checkout
		of := make(map[string]*locked, len(list))
		for _, l := range list {
			found, of[l.id] = append(found, l.checkout), l
		}
		if erasure, refusal = decide(found); refusal != nil {
			return nil // nothing was written, and the transaction is rolled back
		}
		agreements := make(map[string]agreement.Agreement, len(list))
		for _, next := range erasure.Next {
			if of[next.ID] == nil {
				return fmt.Errorf("checkout %s: %w", next.ID, ports.ErrNotFound)
			}
			agreed, err := all(ctx, t, sqlstore.Scan(sqlstore.Agreement), sqlstore.SelectAgreementOf, next.ProviderCode, next.ID)
			if err != nil {
				return fmt.Errorf("read the agreement of checkout %s: %w", next.ID, err)
			}
			for _, a := range agreed {
				agreements[next.ID] = a.Erased()
			}
		}
		b := t.batch()
		b.queueEvidence(&erasure.Entry)
		for _, next := range erasure.Next {
			b.queue(updateCheckout, changing.Values(&next, next.ProviderCode, next.ID)...)
			b.queue(eraseJobs, next.ProviderCode, next.ID)
			b.note(of[next.ID], []checkout.Moment{erasure.Moment})
			if a, ok := agreements[next.ID]; ok {
				b.queue(updatePersonal, sqlstore.Personal.Values(&a, next.ProviderCode, a.Number)...)
				b.queue(eraseDocument, next.ProviderCode, a.Number)
			}
		}
		for _, number := range erasure.Unsalted {
			b.queue(eraseSalt, evidence.AgreementID(number))
		}
		return t.commitUnless(ctx, b, func() (bool, error) { return t.recorded(ctx, &erasure.Entry) })
	})
	switch {
	case err != nil:
		return fmt.Errorf("erase %d checkouts: %w", len(ids), err)
	case refusal != nil:
		return refusal
	}
	return nil
}

// Scrub implements [ports.Privacy]. It vacuums the tables, so that no query and no dump sees the rows as they were. Their bytes may
// stay in free space of the tables' files until that is used again, and in the server's log of writes: see cmd/provider-checkout/docs/privacy.md.
func (db *DB) Scrub(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	defer conn.Release()
	for _, table := range vacuumed {
		if err := run(ctx, conn.Conn().PgConn(), db.schema.qualify(`VACUUM @.`+table)); err != nil {
			return fmt.Errorf("vacuum: %w", mapError(err))
		}
	}
	return nil
}
