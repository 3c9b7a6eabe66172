package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"
)

// checkLog returns an error if the log beside a file that is about to be opened is the log of another file, or is missing.
// SQLite does not look. It takes every log that has the file's name for the file's own, copies it into the file and deletes
// it, and with it what was acknowledged. The log of another store cannot be told from the file's own.
func checkLog(ctx context.Context, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real = path
	} else if err != nil {
		return err
	}
	// The log first, because other processes open and close the store: a file says that it has a log before there is a log.
	wal, shm := real+"-wal", real+"-shm"
	logged, err := exists(wal)
	if err != nil {
		return err
	}
	if shared, err := exists(shm); err != nil || !logged && !shared {
		return err
	}
	switch own, err := saysItHasALog(ctx, real); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the file is missing, and %s-wal may have its latest writes: put the file back, or move its log (-wal, -shm) away", real)
	case err != nil:
		return err
	case !own:
		return fmt.Errorf("%s-wal belongs to another file, and may have its latest writes: put that file back, or move its log (-wal, -shm) away", real)
	}
	if logged, err = exists(wal); err != nil || logged {
		return err
	}
	return fmt.Errorf("%s, with the latest writes, is missing: put it back, or stop every process that has the store open; if none has, move %s away and do without them", wal, shm)
}

// saysItHasALog reports whether the header of a file says that it has a log, as that of a store does from its first opening
// on. SQLite reads the header as that of an immutable file, which has no log. Read in another way, the file would be closed
// by another library than SQLite, and that drops the locks that this process has on it.
func saysItHasALog(ctx context.Context, path string) (bool, error) {
	if _, err := os.Stat(path); err != nil {
		return false, err
	}
	db, err := sql.Open("sqlite", dsn(path, "ro")+"&immutable=1")
	if err != nil {
		return false, err
	}
	defer db.Close()
	var pages int // the versions of the format to write and to read are 2 with a log
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_dbpage WHERE pgno = 1 AND hex(substr(data, 19, 2)) = '0202'`).Scan(&pages)
	switch {
	case is(err, sqlite3.SQLITE_NOTADB):
		return false, nil
	case is(err, sqlite3.SQLITE_CORRUPT): // a part of the log was copied into it, and then the disk was full: the log makes it whole
		return true, nil
	}
	return pages == 1, mapError(err)
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
