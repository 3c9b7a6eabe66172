package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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
	return engine{db}.Do(ctx, func(ctx context.Context, t sqlstore.Tx) error {
		stamp, err := sqlstore.One(ctx, t, scanStamp, `SELECT environment, crm, secret_fingerprint FROM store`)
		if err != nil {
			return fmt.Errorf("read stamp: %w", err)
		}
		grant, err := request.Authorize(stamp, func(isNew bool) ([]byte, error) {
			return ownSecret(db.path+secretSuffix, isNew, request.Rand)
		})
		if err != nil {
			return err
		}
		db.secrets, db.Encrypter = grant.Secrets, grant.Encrypter
		if grant.Stamp == stamp {
			return nil
		}
		var b sqlstore.Batch
		if grant.Reencrypt {
			if err := b.Reencrypt(ctx, t, grant.Encrypter.Reencrypt); err != nil {
				return err
			}
		}
		b.Write(`UPDATE store SET environment = ?, crm = ?, secret_fingerprint = ?`,
			string(grant.Stamp.Environment), grant.Stamp.CRM, grant.Stamp.Fingerprint)
		return t.Commit(ctx, &b)
	})
}

// ownSecret returns the text of the store's own secret file. A new store gets a file with the hexadecimal text of 32
// random bytes, readable by its owner only. Its caller holds the store's write lock, so no other process makes one meanwhile.
func ownSecret(path string, isNew bool, rand io.Reader) ([]byte, error) {
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		return bytes.TrimSpace(text), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read secret: %w", err)
	case !isNew:
		return nil, fmt.Errorf("%s is missing, and no other secret was given: put it back, or give the operator's secret", path)
	}
	secret, err := secrets.NewSecret(rand)
	if err == nil { // it must be on the disk before the stamp that names it
		err = writeNew(path, []byte(secret+"\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return []byte(secret), nil
}

// writeNew writes a file that only its owner may open, completely or not at all, unless there is one. A temporary file that
// exists was left by a process that was killed.
func writeNew(path string, data []byte) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary)
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return publish(temporary, path)
}

// syncFolder returns when the names in a folder are on the disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
