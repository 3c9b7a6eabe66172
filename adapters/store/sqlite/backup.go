package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// Contents describes the contents of a backup.
type Contents struct {
	Schema     int // version
	Checkouts  int
	Agreements int
	Documents  int
	Events     int
	Pending    int       // events that a server would send
	Keys       int       // API keys that are not revoked
	Latest     time.Time // when the latest event was made; zero without an event
}

// Backup writes a copy of the store at path to a new file that only its owner may open, and checks it. The store may be
// served meanwhile: what was acknowledged before Backup is called is in the copy, and no write waits for it. The copy is
// one file, and complete or not there at all. The operator's secret is not part of it. ErrExist if there is a file.
func Backup(ctx context.Context, path, out string) (Contents, error) {
	// A connection that may only read would leave a log beside a store that no process has open.
	contents, err := copyStore(ctx, path, "rw", out)
	if err != nil {
		return Contents{}, fmt.Errorf("back up store %s: %w", path, err)
	}
	return contents, nil
}

// copyStore copies the store at a path, which it opens in a mode, to a new file, which gets its own name when it is complete,
// checked and on the disk.
func copyStore(ctx context.Context, from, mode, out string, further ...func(ctx context.Context, copied *sql.DB) error) (Contents, error) {
	if _, err := os.Lstat(out); err == nil {
		return Contents{}, fmt.Errorf("%s: %w", out, fs.ErrExist)
	}
	f, err := os.CreateTemp(filepath.Dir(out), ".*.partial") // 0600
	if err != nil {
		return Contents{}, err
	}
	temporary := f.Name()
	defer func() {
		for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
			_ = os.Remove(temporary + suffix)
		}
	}()
	contents, err := copyPages(ctx, from, mode, temporary)
	if err == nil {
		err = checkCopy(ctx, temporary, contents, further)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return Contents{}, err
	}
	return contents, publish(temporary, out)
}

// publish gives a complete file its name, unless that is taken.
func publish(temporary, name string) error {
	err := os.Link(temporary, name)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		if _, taken := os.Lstat(name); taken == nil {
			return fmt.Errorf("%s: %w", name, fs.ErrExist)
		}
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// pagesAtOnce is the number of pages that are copied between two looks whether the caller has given up.
const pagesAtOnce = 4096

// copyPages copies a snapshot of the store to an empty file, and returns what the snapshot holds. A transaction that reads
// keeps the snapshot, so that the copy need not begin again when something is written.
func copyPages(ctx context.Context, from, mode, to string) (contents Contents, err error) {
	if err := checkLog(ctx, from); err != nil {
		return contents, err
	}
	p, err := placeOf(from)
	if err != nil {
		return contents, err
	}
	db, err := openDB(p, mode, "busy_timeout(2000)", "trusted_schema(OFF)")
	if err != nil {
		return contents, err
	}
	defer db.Close()
	if err := checkFile(ctx, db); err != nil {
		return contents, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return contents, mapError(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `BEGIN`); err != nil {
		return contents, mapError(err)
	}
	if contents, err = readContents(ctx, conn); err != nil {
		return contents, err
	}
	return contents, conn.Raw(func(c any) error {
		backup, err := c.(interface {
			NewBackup(to string) (*sqlite.Backup, error)
		}).NewBackup(dsn(to, "rw", "synchronous(FULL)"))
		if err != nil {
			return err
		}
		more := true
		for more && err == nil {
			if err = ctx.Err(); err == nil {
				more, err = backup.Step(pagesAtOnce)
			}
		}
		return errors.Join(err, backup.Finish())
	})
}

func readContents(ctx context.Context, on interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (c Contents, err error) {
	err = on.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM provider_checkout_schema), (SELECT count(*) FROM checkouts),
		(SELECT count(*) FROM agreements), (SELECT count(*) FROM documents), (SELECT count(*) FROM jobs WHERE kind = 'deliver'),
		(SELECT count(*) FROM jobs WHERE kind = 'deliver' AND state = 'pending'), (SELECT count(*) FROM api_keys WHERE revoked_ms IS NULL),
		(SELECT max(created_ms) FROM jobs WHERE kind = 'deliver')`).
		Scan(&c.Schema, &c.Checkouts, &c.Agreements, &c.Documents, &c.Events, &c.Pending, &c.Keys, (*sqlstore.Time)(&c.Latest))
	switch {
	case is(err, sqlite3.SQLITE_CORRUPT):
		return c, ErrDamaged
	case is(err, sqlite3.SQLITE_ERROR):
		return c, fmt.Errorf("no program has opened it yet, or %w", migration.ErrDevelopment)
	}
	return c, err
}

// checkCopy checks that a copy is whole and holds what it should, and makes it a file that needs no log beside it.
func checkCopy(ctx context.Context, path string, want Contents, further []func(context.Context, *sql.DB) error) error {
	db, err := sql.Open("sqlite", dsn(path, "rw", "trusted_schema(OFF)"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := setJournal(ctx, db, "delete"); err != nil {
		return err
	}
	if err := quickCheck(ctx, db, `PRAGMA integrity_check(1)`); err != nil {
		return err
	}
	var orphans int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM pragma_foreign_key_check`).Scan(&orphans); err != nil {
		return fmt.Errorf("check foreign keys: %w", err)
	}
	if orphans > 0 {
		return fmt.Errorf("%w: %d rows refer to rows that are not there", ErrDamaged, orphans)
	}
	got, err := readContents(ctx, db)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the copy holds %+v, and the store %+v", got, want)
	}
	for _, check := range further {
		if err := check(ctx, db); err != nil {
			return err
		}
	}
	return db.Close()
}
