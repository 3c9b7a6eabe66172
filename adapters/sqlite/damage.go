package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// checkedAtOnce is how large a file, in bytes, is read through before it is served. A larger
	// one is served at once, and read through meanwhile.
	checkedAtOnce = 16 << 20
	// rests is how many times as long as it took to read a table the check then rests: together it
	// takes a quarter of a core at the most.
	rests = 3
	// mostGrowth is by how many bytes the log may grow while a table is read: a long log is slow to
	// read, and a start after a crash has to go through all of it.
	mostGrowth = 64 << 20
	// lookAtLog is how often that is looked at.
	lookAtLog = 100 * time.Millisecond
)

// ErrDamaged is wrapped by what says that a file is damaged.
var ErrDamaged = errors.New("damaged: restore it from a backup")

var errLogGrew = errors.New("the log grew too much meanwhile")

// isLarge tells whether the file is served before it is read through.
func isLarge(path string) (bool, error) {
	info, err := os.Stat(path)
	return err == nil && info.Size() > checkedAtOnce, err
}

// inspection looks for damage in a store that is being served.
type inspection struct {
	stop  context.CancelCauseFunc
	ended sync.WaitGroup
	found atomic.Pointer[error]
}

// start has look look for damage until the inspection is ended, and tells how that went.
func (i *inspection) start(look func(context.Context) error, tell func(error)) {
	ctx, stop := context.WithCancelCause(context.Background())
	i.stop = stop
	i.ended.Go(func() {
		err := look(ctx)
		if errors.Is(err, ErrDamaged) {
			i.found.Store(&err)
		}
		if tell != nil {
			tell(err)
		}
	})
}

// end gives up looking.
func (i *inspection) end() {
	if i.stop != nil {
		i.stop(errClosed)
		i.ended.Wait()
	}
}

// damage returns what was found so far.
func (i *inspection) damage() error {
	if err := i.found.Load(); err != nil {
		return *err
	}
	return nil
}

// checkTables reads the whole file, however long that takes, but only one table with its indexes at a time: while
// somebody reads, the log cannot begin anew. It sees what one quick_check of everything would,
// but for a page that belongs to two tables or to none.
func (db *DB) checkTables(ctx context.Context) error {
	// The table of tables comes first, and with it the list of free pages.
	tables, err := all(ctx, &db.readers, scanValue[string],
		`SELECT 'sqlite_schema' UNION ALL SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	return inTurn(ctx, tables, db.checkTable)
}

// inTurn checks one table after the other, and rests in between. Any error ends it but that the log grew: such a
// table is left, and named in the end.
func inTurn(ctx context.Context, tables []string, check func(context.Context, string) error) error {
	var left []string
	var tired time.Duration
	for _, table := range tables {
		select {
		case <-time.After(tired):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		began := time.Now()
		switch err := check(ctx, table); {
		case errors.Is(err, errLogGrew):
			left = append(left, table)
		case err != nil:
			return fmt.Errorf("table %s: %w", table, err)
		}
		tired = rests * time.Since(began)
	}
	if left != nil {
		return fmt.Errorf("%w, so not all was read of %s", errLogGrew, strings.Join(left, ", "))
	}
	return nil
}

// checkTable checks one table, unless the log grows too much while it does.
func (db *DB) checkTable(ctx context.Context, table string) error {
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { watchLog(ctx, db.path+"-wal", stop) })
	defer watching.Wait()
	defer stop(nil)
	return quickCheck(ctx, db.readers.db, `PRAGMA quick_check('`+strings.ReplaceAll(table, `'`, `''`)+`')`)
}

// watchLog stops what reads the store once its log has grown by more than mostGrowth, and ends with ctx. The log's size
// is the most that it had to hold: that it is folded into the file does not make it smaller.
func watchLog(ctx context.Context, path string, stop context.CancelCauseFunc) {
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil { // nothing was written yet
			return 0
		}
		return info.Size()
	}
	before := size()
	again := time.NewTicker(lookAtLog)
	defer again.Stop()
	for size() <= before+mostGrowth {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
	stop(errLogGrew)
}

// quickCheck reads what check, a quick_check of SQLite's, is about: damaged pages that no query touches would
// pass for sound.
func quickCheck(ctx context.Context, on *sql.DB, check string) error {
	var verdict string
	err := on.QueryRowContext(ctx, check).Scan(&verdict)
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
