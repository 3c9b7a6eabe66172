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
	// checkLimit ends that: the log cannot be folded into the file while somebody reads all of it.
	checkLimit = 30 * time.Second
)

var errDamaged = errors.New("damaged: restore it from a backup")

// inspection looks for damage in a store that is being served.
type inspection struct {
	stop  context.CancelFunc
	ended sync.WaitGroup
	found atomic.Pointer[error]
}

// isLarge tells whether the file is served before it is read through.
func isLarge(path string) (bool, error) {
	info, err := os.Stat(path)
	return err == nil && info.Size() > checkedAtOnce, err
}

func (i *inspection) start(on *sql.DB) {
	ctx, stop := context.WithTimeout(context.Background(), checkLimit)
	i.stop = stop
	i.ended.Go(func() {
		if err := quickCheck(ctx, on); errors.Is(err, errDamaged) {
			i.found.Store(&err)
		}
	})
}

// end gives up looking.
func (i *inspection) end() {
	if i.stop != nil {
		i.stop()
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

// quickCheck reads the whole file: damaged pages that no query touches would pass for sound.
func quickCheck(ctx context.Context, on *sql.DB) error {
	var verdict string
	err := on.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict)
	switch {
	case is(err, sqlite3.SQLITE_CORRUPT):
		return errDamaged
	case err != nil:
		return fmt.Errorf("check: %w", err)
	case verdict != "ok":
		return fmt.Errorf("%w: %s", errDamaged, strings.Join(strings.Fields(verdict), " "))
	}
	return nil
}
