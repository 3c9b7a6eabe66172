package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks a SQLite file as a store: "PCk1".
const applicationID = 0x50436b31

// maxCheckedSize is the size in bytes up to which a file is checked for damage when it is opened: to check a larger file
// takes seconds. Every backup is checked, whatever its size.
const maxCheckedSize = 16 << 20

// ErrDamaged is wrapped by errors about a damaged file.
var ErrDamaged = errors.New("damaged: restore it from a backup")

// createFile makes the file, readable by its owner only, unless there is one. SQLite gives its log and its shared
// memory the same mode.
func createFile(ctx context.Context, path string) error {
	if err := checkLog(ctx, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, os.ErrExist):
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a file")
	}
	return nil
}

// dsn returns the data source name of the file, with the pragmas that every connection gets.
func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_pragma": pragmas, "_dqs": {"0"}}
	name := url.URL{Path: filepath.ToSlash(path)}
	return "file:" + name.EscapedPath() + "?" + q.Encode()
}

// openDB returns a database whose connections are of the file that has the place.
func openDB(p place, mode string, pragmas ...string) (*sql.DB, error) {
	base, err := sqlite.NewConnector(dsn(p.files[0].path, mode))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{base, p, pragmas}), nil
}

// openWriter opens the one connection that writes. Its busy time-out is short, because SQLite's wait does not end with
// a context: see retryBusy. The log is checkpointed every 16 MB, so that a page that many commits change is copied into
// the file once. If a long read made the log grow, it is truncated to 32 MB. What is deleted is overwritten: it may be a
// person's.
func openWriter(ctx context.Context, p place) (*sql.DB, error) {
	db, err := openDB(p, "rw",
		"busy_timeout(100)", "wal_autocheckpoint(4000)", "journal_size_limit(33554432)",
		"synchronous(FULL)", "secure_delete(ON)", "foreign_keys(ON)", "trusted_schema(OFF)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, retryBusy(ctx, func() error { return setUp(ctx, db, p.files[0].path) })
}

// setUp checks the file and turns write-ahead logging on. Only a store's file is changed: the mode is kept in the file.
func setUp(ctx context.Context, db *sql.DB, path string) error {
	if err := checkFile(ctx, db); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if info.Size() <= maxCheckedSize {
		if err := quickCheck(ctx, db, `PRAGMA quick_check(1)`); err != nil {
			return err
		}
	}
	return setJournal(ctx, db)
}

// openReaders opens the pool that reads. Each connection caches a megabyte of pages: with a quarter of that, reads are 5 %
// slower on a store of a few megabytes.
func openReaders(ctx context.Context, p place) (*pool, error) {
	db, err := openDB(p, "ro", "busy_timeout(2000)", "cache_size(-1024)", "query_only(ON)", "trusted_schema(OFF)")
	if err != nil {
		return nil, err
	}
	n := max(4, 4*runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return newPool(db), mapError(db.PingContext(ctx))
}

// checkFile returns an error unless the file is empty or a store.
func checkFile(ctx context.Context, db *sql.DB) error {
	var application, tables int
	err := db.QueryRowContext(ctx, `SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id`).
		Scan(&application, &tables)
	switch {
	case is(err, sqlite3.SQLITE_NOTADB):
		return errors.New("not a SQLite database")
	case is(err, sqlite3.SQLITE_CORRUPT):
		return ErrDamaged
	case err != nil:
		return err
	case application != applicationID && tables > 0:
		return errors.New("a SQLite database, but not of Provider Checkout")
	}
	return nil
}

// setJournal turns write-ahead logging on. SQLite keeps the former mode if it cannot change it.
func setJournal(ctx context.Context, db *sql.DB) error {
	var got string
	err := db.QueryRowContext(ctx, `PRAGMA journal_mode=wal`).Scan(&got)
	if err == nil && got != "wal" {
		err = fmt.Errorf("it stays %s", got)
	}
	if err != nil {
		return fmt.Errorf("set the journal to wal: %w", err)
	}
	return nil
}

// quickCheck runs a PRAGMA quick_check or integrity_check. Damage that no query happens to read would otherwise stay
// unnoticed.
func quickCheck(ctx context.Context, on *sql.DB, pragma string) error {
	var verdict string
	err := on.QueryRowContext(ctx, pragma).Scan(&verdict)
	switch {
	case is(err, sqlite3.SQLITE_CORRUPT):
		return ErrDamaged
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("check: %w", err)
	case verdict != "ok":
		return fmt.Errorf("%w: %s", ErrDamaged, strings.Join(strings.Fields(verdict), " "))
	}
	return nil
}
