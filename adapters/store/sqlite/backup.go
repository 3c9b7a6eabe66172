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
	if err := backUp(ctx, path, out); err != nil {
		return fmt.Errorf("back up store %s: %w", path, damaged(err))
	}
	return nil
}

func backUp(ctx context.Context, path, out string) error {
	if _, err := os.Lstat(out); err == nil { // before the work
		return fmt.Errorf("%s: %w", out, fs.ErrExist)
	}
	if err := checkLog(path); err != nil {
		return err
	}
	p, err := placeOf(path)
	if err != nil {
		return err
	}
	from, err := p.connect("rw", "busy_timeout = 2000", "trusted_schema = OFF") // to read alone would leave a log beside the file
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := headerOf(ctx, from)
	if err == nil {
		err = f.check()
	}
	if err != nil {
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
	if err := checkCopy(ctx, copied.Name()); err != nil {
		return err
	}
	return copied.Publish(out)
}

// checkCopy returns an error if a copy, which no other connection has open, is damaged.
func checkCopy(ctx context.Context, path string) error {
	c, err := connect(path, "ro&immutable=1", "trusted_schema = OFF")
	if err != nil {
		return err
	}
	defer c.Close()
	return checkPages(ctx, c, `PRAGMA integrity_check(1)`)
}
