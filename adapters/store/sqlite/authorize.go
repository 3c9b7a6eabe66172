package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// secretSuffix follows the name of the store in the name of its own secret.
const secretSuffix = ".secret"

func scanStamp(r sqlstore.Row) (s secrets.Stamp, err error) {
	err = r.Scan((*string)(&s.Environment), &s.CRM, &s.Fingerprint)
	return s, err
}

// authorize opens the store for the request, or returns why it may not be. It stamps a new store, and re-encrypts the
// webhook secrets if the first secret is new.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		stamp, err := one(ctx, tx, scanStamp, `SELECT environment, crm, secret_fingerprint FROM store`)
		if err != nil {
			return fmt.Errorf("read stamp: %w", err)
		}
		grant, err := request.Authorize(stamp, func(isNew bool) ([]byte, error) {
			return ownSecret(db.path+secretSuffix, isNew, request.Rand)
		})
		if err != nil {
			return err
		}
		db.secrets, db.encrypter = grant.Secrets, grant.Encrypter
		if grant.Reencrypt {
			if err := db.reencrypt(ctx, tx); err != nil {
				return fmt.Errorf("re-encrypt webhook secrets: %w", err)
			}
		}
		if grant.Stamp == stamp {
			return nil
		}
		return tx.execOne(ctx, `UPDATE store SET environment = ?, crm = ?, secret_fingerprint = ?`,
			string(grant.Stamp.Environment), grant.Stamp.CRM, grant.Stamp.Fingerprint)
	})
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

// reencrypt encrypts every webhook secret under the first of the operator's secrets.
func (db *DB) reencrypt(ctx context.Context, tx *tx) error {
	return errors.Join(
		db.reencryptSecrets(ctx, tx, sqlstore.CurrentSecret,
			`SELECT code, webhook_secret FROM providers WHERE webhook_secret IS NOT NULL`,
			`UPDATE providers SET webhook_secret = ? WHERE code = ?`),
		db.reencryptSecrets(ctx, tx, sqlstore.PreviousSecret,
			`SELECT code, previous_webhook_secret FROM providers WHERE previous_webhook_secret IS NOT NULL`,
			`UPDATE providers SET previous_webhook_secret = ? WHERE code = ?`))
}

// reencryptSecrets encrypts the secrets of a column, which the statements read and write.
func (db *DB) reencryptSecrets(ctx context.Context, tx *tx, of sqlstore.WebhookSecret, read, write string) error {
	list, err := all(ctx, tx, scanWebhookSecret, read)
	if err != nil {
		return err
	}
	for _, s := range list {
		ciphertext, err := db.encrypter.Reencrypt(s.ciphertext, of.AssociatedData(s.provider))
		if err != nil {
			return err
		}
		if err := tx.execOne(ctx, write, ciphertext, s.provider); err != nil {
			return fmt.Errorf("provider %s: %w", s.provider, err)
		}
	}
	return nil
}

// ownSecret returns the text of the store's own secret file. A new store gets a file with the hexadecimal text of 32
// random bytes, readable by its owner only.
func ownSecret(path string, isNew bool, rand io.Reader) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !isNew {
			return nil, fmt.Errorf("%s is missing, and no other secret was given: put it back, or give the operator's secret", path)
		}
		if err := makeSecret(path, rand); err != nil {
			return nil, fmt.Errorf("make %s: %w", path, err)
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	return bytes.TrimSpace(text), nil
}

// makeSecret makes the file completely or not at all. Its caller holds the store's write lock, so no other process makes
// one meanwhile; a temporary file that exists was left by a process that was killed.
func makeSecret(path string, rand io.Reader) error {
	secret, err := secrets.NewSecret(rand)
	if err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(secret + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path)) // the secret must be on the disk before the stamp that names it
}

// syncFolder returns when the names in a folder are on the disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
