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
	// maxSyncCheckSize is the size in bytes up to which a file is checked before it is served. To check a larger one takes
	// seconds, so it is served at once and checked in the background.
	maxSyncCheckSize = 16 << 20
	// cooldownFactor is how many times as long as a table took to check the background check then pauses, so that
	// it uses a quarter of one core.
	cooldownFactor = 3
	// maxWALGrowth is by how many bytes the write-ahead log may grow while a table is checked: SQLite cannot reset the log
	// while anything reads, and a long log makes reads, and a start after a crash, slow.
	maxWALGrowth = 64 << 20
	// walPollInterval is how often the size of the log is compared with maxWALGrowth.
	walPollInterval = 100 * time.Millisecond
)

// ErrDamaged is wrapped by errors about a damaged file.
var ErrDamaged = errors.New("damaged: restore it from a backup")

var errWALGrew = errors.New("the write-ahead log grew too much")

// isLarge reports whether the file is checked in the background.
func isLarge(path string) (bool, error) {
	info, err := os.Stat(path)
	return err == nil && info.Size() > maxSyncCheckSize, err
}

// backgroundCheck is the integrity check of a file that is being served.
type backgroundCheck struct {
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	found   atomic.Pointer[error]
}

// start runs check in the background until stop is called, and calls done with its result. done may be nil.
func (c *backgroundCheck) start(check func(context.Context) error, done func(error)) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.cancel = cancel
	c.running.Go(func() {
		err := check(ctx)
		if errors.Is(err, ErrDamaged) {
			c.found.Store(&err)
		}
		if done != nil {
			done(err)
		}
	})
}

// stop cancels the check and waits until it has ended.
func (c *backgroundCheck) stop() {
	if c.cancel != nil {
		c.cancel(errClosed)
		c.running.Wait()
	}
}

// damage returns the damage that was found so far.
func (c *backgroundCheck) damage() error {
	if err := c.found.Load(); err != nil {
		return *err
	}
	return nil
}

// checkFileTables checks the file table by table, each with its indexes, because SQLite cannot reset the log during
// a check. Together that finds everything that one check of the file finds, except a page that belongs to two tables
// or to none.
func (db *DB) checkFileTables(ctx context.Context) error {
	// A check of the schema's own table includes the list of free pages.
	tables, err := all(ctx, &db.readers, scanValue[string],
		`SELECT 'sqlite_schema' UNION ALL SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	return checkInTurn(ctx, tables, db.checkTable)
}

// checkInTurn checks one table after another, with a pause after each. It ends at the first error, except that it
// skips a table during whose check the log grew, and names it in the end.
func checkInTurn(ctx context.Context, tables []string, check func(context.Context, string) error) error {
	var skipped []string
	var cooldown time.Duration
	for _, table := range tables {
		select {
		case <-time.After(cooldown):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		began := time.Now()
		switch err := check(ctx, table); {
		case errors.Is(err, errWALGrew):
			skipped = append(skipped, table)
		case err != nil:
			return fmt.Errorf("table %s: %w", table, err)
		}
		cooldown = cooldownFactor * time.Since(began)
	}
	if skipped != nil {
		return fmt.Errorf("%w during the check, which is not complete for %s", errWALGrew, strings.Join(skipped, ", "))
	}
	return nil
}

// checkTable checks one table, and gives up with errWALGrew if the log grows too much meanwhile.
func (db *DB) checkTable(ctx context.Context, table string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { watchWAL(ctx, db.path+"-wal", cancel) })
	defer watching.Wait()
	defer cancel(nil)
	return quickCheck(ctx, db.readers.db, `PRAGMA quick_check('`+strings.ReplaceAll(table, `'`, `''`)+`')`)
}

// watchWAL cancels with errWALGrew once the log has grown by more than maxWALGrowth, or returns when ctx ends. The
// file's size is the most that the log has held: a checkpoint does not make it smaller.
func watchWAL(ctx context.Context, path string, cancel context.CancelCauseFunc) {
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil { // nothing was written yet
			return 0
		}
		return info.Size()
	}
	before := size()
	poll := time.NewTicker(walPollInterval)
	defer poll.Stop()
	for size() <= before+maxWALGrowth {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
	cancel(errWALGrew)
}

// quickCheck runs a PRAGMA quick_check. Damage that no query happens to read would otherwise stay unnoticed.
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
