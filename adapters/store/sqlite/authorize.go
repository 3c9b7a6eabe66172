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
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// secretSuffix follows the name of the store in the name of its own secret.
const secretSuffix = ".secret"

// ownSecret implements [sqlstore.OwnSecret] in a file beside the store, readable by its owner only.
type ownSecret struct {
	path string
	rand io.Reader
}

// Secret returns the text of the file. A new store gets a file with the hexadecimal text of 32 random bytes. Its caller holds
// the store's write lock, so no other process makes one meanwhile.
func (o ownSecret) Secret(_ context.Context, _ sqlstore.Tx, _ *sqlstore.Batch, isNew bool) ([]byte, error) {
	text, err := os.ReadFile(o.path)
	switch {
	case err == nil:
		return bytes.TrimSpace(text), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read secret: %w", err)
	case !isNew:
		return nil, fmt.Errorf("%s is missing, and no other secret was given: put it back, or give the operator's secret", o.path)
	}
	secret, err := secrets.NewSecret(o.rand)
	if err == nil { // it must be on the disk before the stamp that names it
		err = privatefile.Write(o.path, []byte(secret+"\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", o.path, err)
	}
	return []byte(secret), nil
}

// Forget does nothing: the file is left to the operator.
func (ownSecret) Forget(*sqlstore.Batch, secrets.Grant) {}
