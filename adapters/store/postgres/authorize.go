package postgres

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// stamp is the store's row about itself.
type stamp struct {
	secrets.Stamp
	ownSecret string // "" without such a secret
}

const (
	lockStamp   = `SELECT environment, crm, secret_fingerprint, coalesce(own_secret, '') FROM @.store WHERE id = 1 FOR UPDATE`
	updateStamp = `UPDATE @.store SET environment = ?, crm = ?, secret_fingerprint = ?, own_secret = nullif(?, '') WHERE id = 1`
)

func scanStamp(r sqlstore.Row) (s stamp, err error) {
	err = r.Scan((*string)(&s.Environment), &s.CRM, &s.Fingerprint, &s.ownSecret)
	return s, err
}

// authorize opens the store for the request, or returns why it may not be. It stamps a new store, and re-encrypts the
// webhook secrets if the first secret is new. It may be attempted again: what it decides depends on the row alone.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return engine{db}.Do(ctx, func(ctx context.Context, t sqlstore.Tx) error {
		var b sqlstore.Batch
		var was stamp
		sqlstore.Get(&b, scanStamp, func(s stamp) { was = s }, lockStamp)
		if err := t.Lock(ctx, &b); err != nil {
			return err
		}
		next := was
		grant, err := request.Authorize(was.Stamp, func(isNew bool) ([]byte, error) {
			err := next.makeOwnSecret(isNew, request)
			return []byte(next.ownSecret), err
		})
		if err != nil {
			return err
		}
		db.secrets, db.Encrypter = grant.Secrets, grant.Encrypter
		next.Stamp = grant.Stamp
		if next.Environment == catalogue.Production || next.ownSecret != string(grant.Secrets[0]) {
			next.ownSecret = "" // the operator's secret has replaced it
		}
		if next == was {
			return nil
		}
		b = sqlstore.Batch{}
		if grant.Reencrypt {
			if err := b.Reencrypt(ctx, t, grant.Encrypter.Reencrypt); err != nil {
				return err
			}
		}
		b.Write(updateStamp, string(next.Environment), next.CRM, next.Fingerprint, next.ownSecret)
		return t.Commit(ctx, &b)
	})
}

// makeOwnSecret makes a secret of its own for a new store.
func (s *stamp) makeOwnSecret(isNew bool, request secrets.Request) (err error) {
	switch {
	case s.ownSecret != "":
		return nil
	case !isNew:
		return errors.New("it is encrypted under the operator's secret, and none was given")
	}
	s.ownSecret, err = secrets.NewSecret(request.Rand)
	return err
}
