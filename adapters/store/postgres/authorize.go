package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

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
	lockStore = `SELECT environment, crm, secret_fingerprint, coalesce(own_secret, '') FROM @.store WHERE id = 1 FOR UPDATE`

	updateStamp = `UPDATE @.store SET environment = $1, crm = $2, secret_fingerprint = $3, own_secret = nullif($4, '') WHERE id = 1`

	selectWebhookSecrets = `SELECT code, webhook_secret FROM @.providers WHERE webhook_secret IS NOT NULL`
	updateWebhookSecret  = `UPDATE @.providers SET webhook_secret = $1 WHERE code = $2`

	selectPreviousSecrets = `SELECT code, previous_webhook_secret FROM @.providers WHERE previous_webhook_secret IS NOT NULL`
	updatePreviousSecret  = `UPDATE @.providers SET previous_webhook_secret = $1 WHERE code = $2`
)

func (s *stamp) read(r pgx.Row) error {
	return r.Scan((*string)(&s.Environment), &s.CRM, &s.Fingerprint, &s.ownSecret)
}

// authorize opens the store for the request, or returns why it may not be. It stamps a new store, and re-encrypts the
// webhook secrets if the first secret is new. It may be attempted again: what it decides depends on the row alone.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return db.do(ctx, func(ctx context.Context, t *attempt) error {
		var was stamp
		if err := t.begin(ctx, func(b *batch) { b.queue(lockStore).QueryRow(was.read) }); err != nil {
			return fmt.Errorf("read stamp: %w", err)
		}
		next := was
		grant, err := request.Authorize(was.Stamp, func(isNew bool) ([]byte, error) {
			err := next.makeOwnSecret(isNew, request)
			return []byte(next.ownSecret), err
		})
		if err != nil {
			return err
		}
		db.secrets, db.encrypter = grant.Secrets, grant.Encrypter
		next.Stamp = grant.Stamp
		if next.Environment == catalogue.Production || next.ownSecret != string(grant.Secrets[0]) {
			next.ownSecret = "" // the operator's secret has replaced it
		}
		b := t.batch()
		if grant.Reencrypt {
			if err := db.queueReencryption(ctx, t, b); err != nil {
				return fmt.Errorf("re-encrypt webhook secrets: %w", err)
			}
		}
		if next == was {
			return nil
		}
		b.queue(updateStamp, string(next.Environment), next.CRM, next.Fingerprint, next.ownSecret)
		return t.commit(ctx, b)
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

// webhookSecret is an encrypted webhook secret.
type webhookSecret struct {
	provider   string
	ciphertext []byte
}

func scanWebhookSecret(r sqlstore.Row) (s webhookSecret, err error) {
	err = r.Scan(&s.provider, &s.ciphertext)
	return s, err
}

// queueReencryption adds what encrypts every webhook secret under the first of the operator's secrets.
func (db *DB) queueReencryption(ctx context.Context, t *attempt, b *batch) error {
	return errors.Join(
		db.queueSecrets(ctx, t, b, sqlstore.CurrentSecret, selectWebhookSecrets, updateWebhookSecret),
		db.queueSecrets(ctx, t, b, sqlstore.PreviousSecret, selectPreviousSecrets, updatePreviousSecret))
}

// queueSecrets adds what encrypts the secrets of a column, which the statements read and write.
func (db *DB) queueSecrets(ctx context.Context, t *attempt, b *batch, of sqlstore.WebhookSecret, read, write string) error {
	list, err := all(ctx, t, scanWebhookSecret, read)
	if err != nil {
		return err
	}
	for _, s := range list {
		ciphertext, err := db.encrypter.Reencrypt(s.ciphertext, of.AssociatedData(s.provider))
		if err != nil {
			return err
		}
		b.queue(write, ciphertext, s.provider)
	}
	return nil
}
