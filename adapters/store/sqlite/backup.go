package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
	"modernc.org/sqlite/vfs"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
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
	if _, err := os.Lstat(out); err == nil { // before the work
		return Contents{}, fmt.Errorf("back up store %s: %s: %w", path, out, fs.ErrExist)
	}
	return backUp(ctx, path, filepath.Dir(out), func(copied *privatefile.File) error { return copied.Publish(out) })
}

// BackupTo writes the same to a writer, once it is checked: bytes that have left cannot be taken back. The copy takes room in the
// system's folder for temporary files meanwhile.
func BackupTo(ctx context.Context, path string, w io.Writer) (Contents, error) {
	return backUp(ctx, path, os.TempDir(), func(copied *privatefile.File) error {
		_, err := io.Copy(w, io.NewSectionReader(copied, 0, math.MaxInt64))
		return err
	})
}

func backUp(ctx context.Context, path, folder string, finish func(*privatefile.File) error) (Contents, error) {
	// A connection that may only read would leave a log beside a store that no process has open.
	db, err := openSource(ctx, path, "rw")
	if err != nil {
		return Contents{}, fmt.Errorf("back up store %s: %w", path, err)
	}
	defer db.Close()
	contents, err := copyStore(ctx, db, folder, func(copied *privatefile.File, _ *sql.DB) error { return finish(copied) })
	if err != nil {
		return Contents{}, fmt.Errorf("back up store %s: %w", path, err)
	}
	return contents, nil
}

// openSource opens the store at a path to copy it.
func openSource(ctx context.Context, path, mode string) (*sql.DB, error) {
	if err := checkLog(ctx, path); err != nil {
		return nil, err
	}
	p, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	return openDB(p, mode, "busy_timeout(2000)", "trusted_schema(OFF)")
}

// copyStore copies a store to a new file in a folder, checks the copy, and calls finish with it. The file has no name before, so
// that a copy that is not finished stays nowhere.
func copyStore(ctx context.Context, from *sql.DB, folder string, finish func(*privatefile.File, *sql.DB) error) (contents Contents, err error) {
	f, err := privatefile.New(folder)
	if err != nil {
		return contents, err
	}
	defer f.Close()
	if contents, err = copyPages(ctx, from, f); err != nil {
		return contents, err
	}
	return contents, onFile(f.File, func(db *sql.DB) error {
		if err := checkCopy(ctx, db, contents); err != nil {
			return err
		}
		return finish(f, db)
	})
}

// copyPages copies a snapshot of the store to an empty file, which needs no log beside it, and returns what the snapshot holds.
// The transaction that reads keeps the snapshot, so that the copy need not begin again when something is written.
func copyPages(ctx context.Context, from *sql.DB, to io.Writer) (contents Contents, err error) {
	if err := checkFile(ctx, from); err != nil {
		return contents, err
	}
	tx, err := from.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return contents, mapError(err)
	}
	defer tx.Rollback()
	if contents, err = readContents(ctx, tx); err != nil {
		return contents, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT data FROM sqlite_dbpage`)
	if err != nil {
		return contents, mapError(err)
	}
	defer rows.Close()
	pages := bufio.NewWriterSize(to, 1<<20)
	for first := true; rows.Next(); first = false {
		var page []byte
		if err := rows.Scan(&page); err != nil {
			return contents, mapError(err)
		}
		if first {
			page[18], page[19] = 1, 1 // the file's format: no write-ahead log
		}
		if _, err := pages.Write(page); err != nil {
			return contents, err
		}
	}
	return contents, errors.Join(mapError(rows.Err()), pages.Flush())
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

// checkCopy checks that a copy is whole and holds what it should.
func checkCopy(ctx context.Context, db *sql.DB, want Contents) error {
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
	return nil
}

// onFile calls read with a database of an open file, which need not have a name.
func onFile(f *os.File, read func(*sql.DB) error) error {
	name, system, err := vfs.New(only{f})
	if err != nil {
		return err
	}
	defer system.Close() // after the database
	db, err := sql.Open("sqlite", dsn(onlyName, "ro", "trusted_schema(OFF)")+"&immutable=1&vfs="+name)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return read(db)
}

// only is a file system with one open file.
type only struct{ file *os.File }

const onlyName = "store"

// Open implements [fs.FS].
func (o only) Open(name string) (fs.File, error) {
	if name != onlyName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return opened{io.NewSectionReader(o.file, 0, math.MaxInt64), o.file}, nil
}

// opened is the file, read from a place of its own.
type opened struct {
	io.ReadSeeker
	file *os.File
}

func (o opened) Stat() (fs.FileInfo, error) { return o.file.Stat() }
func (opened) Close() error                 { return nil } // its maker does
