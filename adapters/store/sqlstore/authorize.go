package sqlstore

import (
	"context"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
)

const updateStamp = `UPDATE @.store SET environment = ?, crm = ?, secret_fingerprint = ? WHERE id = 1`

var scanStamp = Fields(func(s *secrets.Stamp) []any { return []any{(*string)(&s.Environment), &s.CRM, &s.Fingerprint} })

// OwnSecret is the secret that a store keeps of its own.
type OwnSecret interface {
	// Secret returns the secret. For a new store it makes one, and adds what stores it.
	Secret(ctx context.Context, t Tx, b *Batch, isNew bool) ([]byte, error)

	// Forget adds what removes the secret if the grant is for another one, or for production.
	Forget(b *Batch, g secrets.Grant)
}

// Authorize opens the store for the request, or returns why it may not be. It stamps a new store, and re-encrypts the
// webhook secrets if the first secret is new. It may be attempted again: what it decides depends on the store's row alone.
func (s *Store) Authorize(ctx context.Context, request secrets.Request, own OwnSecret) error {
	return s.engine.Do(ctx, func(ctx context.Context, t Tx) error {
		var b Batch
		var stamp secrets.Stamp
		Get(&b, scanStamp, func(recorded secrets.Stamp) { stamp = recorded }, s.statements.lockStamp)
		if err := t.Lock(ctx, &b); err != nil {
			return wrap(err, "read stamp")
		}
		b = Batch{}
		grant, err := request.Authorize(stamp, func(isNew bool) ([]byte, error) { return own.Secret(ctx, t, &b, isNew) })
		if err != nil {
			return err
		}
		s.secrets, s.encrypter = grant.Secrets, grant.Encrypter
		if grant.Stamp == stamp {
			return nil
		}
		if grant.Reencrypt {
			if err := b.reencrypt(ctx, t, grant.Encrypter); err != nil {
				return err
			}
		}
		b.Write(updateStamp, string(grant.Stamp.Environment), grant.Stamp.CRM, grant.Stamp.Fingerprint)
		own.Forget(&b, grant)
		return t.Commit(ctx, &b)
	})
}

// Secrets returns the secrets in use: the operator's, or the store's own.
func (s *Store) Secrets() [][]byte { return s.secrets }

// reencrypt adds what encrypts every webhook secret under the first of the operator's secrets.
func (b *Batch) reencrypt(ctx context.Context, t Tx, e *secrets.Encrypter) error {
	type secret struct {
		provider   string
		ciphertext []byte
	}
	list, err := All(ctx, t, Fields(func(s *secret) []any { return []any{&s.provider, &s.ciphertext} }),
		`SELECT code, webhook_secret FROM @.providers WHERE webhook_secret IS NOT NULL`)
	if err != nil {
		return err
	}
	for _, s := range list {
		ciphertext, err := e.Reencrypt(s.ciphertext, associatedData(s.provider))
		if err != nil {
			return wrap(err, "re-encrypt the webhook secret of provider %s", s.provider)
		}
		b.Write(`UPDATE @.providers SET webhook_secret = ? WHERE code = ?`, ciphertext, s.provider)
	}
	return nil
}
