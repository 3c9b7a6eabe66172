package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
)

// Backup writes a copy of the store at path to a new file that only its owner may open, checks it, and returns when it is on the
// disk. The store may be served meanwhile: what was acknowledged before Backup is called is in the copy, and no write waits for it.
// The copy is one file, and complete or not there at all. The operator's secret is not part of it. The error is fs.ErrExist if
// there is a file. A restore is a copy of that file to the place of the store.
func Backup(ctx context.Context, path, out string) error {
	err := backUp(ctx, path, out)
	if is(err, sqlite3.SQLITE_CORRUPT) {
		err = ErrDamaged
	}
	if err != nil {
		return fmt.Errorf("back up store %s: %w", path, err)
	}
	return nil
}

func backUp(ctx context.Context, path, out string) error {
	if _, err := os.Lstat(out); err == nil { // before the work
		return fmt.Errorf("%s: %w", out, fs.ErrExist)
	}
	from, err := openSource(ctx, path)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := checkFile(ctx, from); err != nil {
		return err
	}
	copied, err := privatefile.NewNamed(filepath.Dir(out))
	if err != nil {
		return err
	}
	defer copied.Close()
	if _, err := from.ExecContext(ctx, `VACUUM INTO ?`, copied.Name()); err != nil {
		return mapError(err)
	}
	if err := checkCopy(ctx, copied.Name()); err != nil {
		return err
	}
	return copied.Publish(out)
}

// openSource opens the store at a path to copy it. A connection that may only read would leave a log beside a store that no process
// has open.
func openSource(ctx context.Context, path string) (*sql.DB, error) {
	if err := checkLog(ctx, path); err != nil {
		return nil, err
	}
	p, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	return openDB(p, "rw", "busy_timeout(2000)", "trusted_schema(OFF)")
}

// checkCopy reads a copy, which no other connection has open, and returns an error if it is damaged.
func checkCopy(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "ro", "trusted_schema(OFF)")+"&immutable=1")
	if err != nil {
		return err
	}
	defer db.Close()
	return quickCheck(ctx, db, `PRAGMA integrity_check(1)`)
}
