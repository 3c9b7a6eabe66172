package sqlite

import (
	"bytes"
	"cmp"
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
		err = writeNew(o.path, []byte(secret+"\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", o.path, err)
	}
	return []byte(secret), nil
}

// Forget does nothing: the file is left to the operator.
func (ownSecret) Forget(*sqlstore.Batch, secrets.Grant) {}

// writeNew writes a file that only its owner may open, completely or not at all, unless there is one. No other process does at
// the same time: a temporary file that exists was left by a process that was killed. The file is renamed, not linked, so that a
// kill leaves no second name of it.
func writeNew(path string, data []byte) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(cmp.Or(err, fs.ErrExist), os.Remove(temporary))
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder returns when the names in a folder are on the disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
