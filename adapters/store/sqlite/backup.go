package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
)

// Backup writes a copy of the store at path to a new file that only its owner may open, checks it, and returns when it is on the
// disk. The store may be served meanwhile: what was acknowledged before Backup is called is in the copy, and no write waits for it.
// The copy is one file, and complete or not there at all. The operator's secret is not part of it. The error is fs.ErrExist if
// there is a file. A restore is a copy of that file to the place of the store.
func Backup(ctx context.Context, path, out string) error {
	return wrap(damaged(backUp(ctx, path, out)), "back up store "+path)
}

func backUp(ctx context.Context, path, out string) error {
	if _, err := os.Lstat(out); err == nil { // before the work
		return fmt.Errorf("%s: %w", out, fs.ErrExist)
	}
	path, err := find(path, false)
	if err != nil {
		return err
	}
	from, err := connect(path, "mode=rw") // to read alone would leave a log beside the file
	if err != nil {
		return err
	}
	defer from.Close()
	if err := checkHeader(ctx, from); err != nil {
		return err
	}
	copied, err := privatefile.New(filepath.Dir(out))
	if err != nil {
		return err
	}
	defer copied.Close()
	if _, err := from.exec(`VACUUM INTO ?`, copied.Name()); err != nil {
		return err
	}
	check, err := connect(copied.Name(), "mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer check.Close()
	if err := checkPages(ctx, check, `PRAGMA integrity_check(1)`); err != nil {
		return err
	}
	return copied.Publish(out)
}
