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
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// stamp is the record of the servers that may open a store.
type stamp struct{ environment, fingerprint string }

func (s *stamp) Fields() []any { return []any{&s.environment, &s.fingerprint} }

const (
	selectStamp = `SELECT environment, secret_fingerprint FROM store`
	updateStamp = `UPDATE store SET environment = ?, secret_fingerprint = ?`
)

// authorize grants the request to open the store, and records it.
func (db *DB) authorize(ctx context.Context, request secrets.Request) error {
	return db.do(ctx, false, func(t *tx) {
		s, _ := first[stamp](t, selectStamp)
		was := secrets.Stamp{Environment: catalogue.Environment(s.environment), Fingerprint: s.fingerprint}
		grant, err := request.Authorize(was, func(isNew bool) ([]byte, error) { return ownSecret(db.path+secretSuffix, isNew, request.Rand) })
		if err == nil {
			db.environment, db.secrets, db.encrypter = grant.Stamp.Environment, grant.Secrets, grant.Encrypter
			if grant.Reencrypt {
				err = db.replace(ctx, t, rows.Unchanged)
			}
		}
		if err != nil {
			t.fail(err)
		} else if grant.Stamp != was {
			t.exec(updateStamp, string(grant.Stamp.Environment), grant.Stamp.Fingerprint)
		}
	})
}

// secretSuffix follows the name of the store in the name of its own secret.
const secretSuffix = ".secret"

// ownSecret returns the text of a file. A new store gets a file with the hexadecimal text of 32 random bytes. Its caller holds the
// store's write lock, so no other process makes one meanwhile.
func ownSecret(path string, isNew bool, random io.Reader) ([]byte, error) {
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		return bytes.TrimSpace(text), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read secret: %w", err)
	case !isNew:
		return nil, fmt.Errorf("%s is missing, and no other secret was given: put it back, or give the operator's secret", path)
	}
	secret, err := secrets.NewSecret(random)
	if err == nil { // it must be on the disk before the stamp that names it
		err = privatefile.Write(path, []byte(secret+"\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return []byte(secret), nil
}
