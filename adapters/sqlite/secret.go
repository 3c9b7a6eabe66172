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

	"github.com/provider-checkout/provider-checkout/adapters/internal/seal"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// stamp is what a store says of itself.
type stamp struct {
	environment catalogue.Environment
	fingerprint string // of the secret that seals
}

func scanStamp(r row) (s stamp, err error) {
	err = r.Scan(&s.environment, &s.fingerprint)
	return s, err
}

// admit lets the caller in if environment and secret are the store's, and stamps a store
// that has none yet.
func (db *DB) admit(ctx context.Context, o Options) error {
	return db.inTx(ctx, func(ctx context.Context, tx *tx) error {
		was, err := one(ctx, tx, scanStamp, `SELECT environment, secret_fingerprint FROM store`)
		if err != nil {
			return fmt.Errorf("read stamp: %w", err)
		}
		now := was
		if now.environment, err = seal.Enter(was.environment, o.Environment); err != nil {
			return err
		}
		if now.fingerprint, err = db.unlock(ctx, tx, was, o); err != nil {
			return err
		}
		if now == was {
			return nil
		}
		return tx.execOne(ctx, `UPDATE store SET environment = ?, secret_fingerprint = ?`, now.environment, now.fingerprint)
	})
}

// unlock takes the operator's secrets into use, and returns the fingerprint of the one that seals.
func (db *DB) unlock(ctx context.Context, tx *tx, was stamp, o Options) (fingerprint string, err error) {
	db.secrets = o.Secrets
	if len(o.Secrets) == 0 {
		if was.environment == catalogue.Production {
			return "", seal.ErrNoSecret
		}
		secret, err := ownSecret(db.path+".secret", was.fingerprint == "", o.Rand)
		if err != nil {
			return "", err
		}
		db.secrets = [][]byte{secret}
	}
	if db.box, err = seal.New(db.secrets, o.Rand); err != nil {
		return "", err
	}
	fingerprint, anew, err := db.box.Unlocks(was.fingerprint)
	if anew {
		err = db.sealAnew(ctx, tx)
	}
	return fingerprint, err
}

// sealAnew seals every webhook secret under the first of the operator's secrets.
func (db *DB) sealAnew(ctx context.Context, tx *tx) error {
	providers, err := all(ctx, tx, db.scanProvider, selectProviders)
	if err != nil {
		return fmt.Errorf("seal anew: %w", err)
	}
	for _, p := range providers {
		if p.Destination.Secret == "" {
			continue
		}
		sealed, err := db.box.Seal([]byte(p.Destination.Secret), sealedAt(p.Code))
		if err != nil {
			return fmt.Errorf("seal anew: %w", err)
		}
		if err := tx.execOne(ctx, `UPDATE providers SET webhook_secret = ? WHERE code = ?`, sealed, p.Code); err != nil {
			return fmt.Errorf("seal anew: provider %s: %w", p.Code, err)
		}
	}
	return nil
}

// ownSecret returns the text of the store's own secret file. A store that has no secret yet gets a
// file: the hexadecimal text of 32 random bytes, the owner's alone.
func ownSecret(path string, fresh bool, rand io.Reader) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !fresh {
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

// makeSecret makes the file whole or not at all. Its caller holds the store's write lock: no other process
// makes one meanwhile, and a half-made one is what a process that was killed left behind.
func makeSecret(path string, rand io.Reader) error {
	secret, err := seal.NewSecret(rand)
	if err != nil {
		return err
	}
	half := path + ".new"
	if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(secret + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(half, path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close()) // the store must not outlive its secret
}
