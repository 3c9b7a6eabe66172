package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/ports"
)

// maxGroup is the largest number of writes in one transaction.
const maxGroup = 256

const (
	begin    = `BEGIN IMMEDIATE`
	commit   = `COMMIT`
	rollback = `ROLLBACK`
)

// writer is the one connection that writes, with the goroutine that uses it. Writes that arrive while a transaction is being committed
// wait, and the next transaction commits them together: a group commit. A write that is alone waits for no other.
type writer struct {
	conn    *conn
	place   place
	writes  chan *tx
	alone   chan *tx  // which run outside of a transaction
	once    sync.Once // for close
	closed  chan struct{}
	running sync.WaitGroup
	onGroup func(writes int) // called with the size of each group; may be nil
}

// tx is a call that writes, and the transaction as it sees it. After its first error it does nothing.
type tx struct {
	*conn
	run   func(*tx)
	done  chan struct{} // closed when the outcome is known
	err   error
	dirty bool // it has changed something, or failed in a way that may have ended the transaction
}

func newWriter(c *conn, p place) *writer {
	w := &writer{conn: c, place: p, writes: make(chan *tx), alone: make(chan *tx), closed: make(chan struct{})}
	w.running.Go(w.serve)
	return w
}

// serve runs what arrives until the store is closed.
func (w *writer) serve() {
	for {
		select {
		case t := <-w.writes:
			runtime.Gosched() // let calls that are about to write join the group
			group := []*tx{t}
			for waiting := true; waiting && len(group) < maxGroup; {
				select {
				case t := <-w.writes:
					group = append(group, t)
				default:
					waiting = false
				}
			}
			w.transaction(group)
			for _, t := range group {
				close(t.done)
			}
		case t := <-w.alone:
			if t.err = w.place.check(); t.err == nil {
				t.attempt()
			}
			close(t.done)
		case <-w.closed:
			return
		}
	}
}

// transaction runs writes in one transaction, and gives each its outcome.
func (w *writer) transaction(group []*tx) {
	for _, t := range group {
		t.err, t.dirty = nil, false
	}
	if err := w.attempt(group); err != nil {
		for _, t := range group {
			t.fail(err)
		}
	}
}

// attempt runs writes in one transaction. Its error is the outcome of every write that has no own error. A write that fails before it has
// changed anything fails alone; where one fails later, the transaction is rolled back, and each write gets its own.
func (w *writer) attempt(group []*tx) error {
	if err := w.place.check(); err != nil {
		return err
	}
	if _, err := w.conn.exec(begin); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	succeeded := 0
	for _, t := range group {
		t.attempt()
		switch {
		case t.err == nil:
			succeeded++
		case t.dirty:
			_, _ = w.conn.exec(rollback) // unless SQLite has done so
			for i := 0; len(group) > 1 && i < len(group); i++ {
				w.transaction(group[i : i+1])
			}
			return nil
		}
	}
	if succeeded == 0 {
		_, err := w.conn.exec(rollback)
		return err
	}
	if _, err := w.conn.exec(commit); err != nil {
		_, _ = w.conn.exec(rollback)
		if is(err, sqlite3.SQLITE_IOERR) {
			return fmt.Errorf("%w: commit: %v", ports.ErrUnknown, err)
		}
		return fmt.Errorf("commit: %w", err)
	}
	if w.onGroup != nil {
		w.onGroup(len(group))
	}
	if err := w.place.check(); err != nil { // the file that is opened next may not have the writes
		return fmt.Errorf("%w: commit: %v", ports.ErrUnknown, err)
	}
	return nil
}

// attempt runs the write. A panic is an error of this write alone.
func (t *tx) attempt() {
	defer func() {
		if p := recover(); p != nil {
			t.err, t.dirty = fmt.Errorf("panic: %v\n\n%s", p, debug.Stack()), true
		}
	}()
	t.run(t)
}

// exec runs a statement that writes, and returns the number of rows that it changed.
func (t *tx) exec(text string, args ...any) (changed int64) {
	if t.err == nil {
		changed, t.err = t.conn.exec(text, args...)
		t.dirty = t.dirty || changed > 0 || t.err != nil && !errors.Is(t.err, ports.ErrDuplicate)
	}
	return changed
}

// mustExec is exec, or ErrNotFound for a statement that changes no row.
func (t *tx) mustExec(text string, args ...any) {
	if t.exec(text, args...) == 0 {
		t.fail(ports.ErrNotFound)
	}
}

// insert runs a statement with the columns of each row.
func insert[R any, P row[R]](t *tx, text string, rows ...R) {
	for _, r := range rows {
		t.exec(text, P(&r).Fields()...)
	}
}

// first returns the first row of a query, if there is one.
func first[R any, P row[R]](t *tx, query string, args ...any) (r R, found bool) {
	if t.err != nil {
		return r, false
	}
	r, err := one[R, R, P](context.Background(), t.conn, itself, query, args...)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		t.err, t.dirty = err, true
	}
	return r, err == nil
}

// reports returns whether a query finds a number other than 0.
func (t *tx) reports(query string, args ...any) bool {
	found, _ := first[value[int64]](t, query, args...)
	return found.v != 0
}

// fail ends the write.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

var (
	errClosed   = errors.New("the store is closed")
	errReadOnly = errors.New("the store was opened to be read only")
)

// write calls run in a transaction, or in several, of which the last counts. If it returns nil, the writes of run are on the disk, and
// otherwise nothing of it is stored, but for ErrUnknown. run must not block. The wait for the writer ends with ctx; the transaction
// itself is short and does not. Errors name the write.
func (db *DB) write(ctx context.Context, what string, run func(*tx)) error {
	return wrap(db.do(ctx, false, run), what)
}

// exclusively runs f on the connection that writes, outside of a transaction, while no write runs.
func (db *DB) exclusively(ctx context.Context, f func(*conn) error) error {
	return db.do(ctx, true, func(t *tx) { t.err = f(t.conn) })
}

func (db *DB) do(ctx context.Context, alone bool, run func(*tx)) error {
	w := db.writer
	if w == nil {
		return errReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t, queue := &tx{conn: w.conn, run: run, done: make(chan struct{})}, w.writes
	if alone {
		queue = w.alone
	}
	select {
	case queue <- t:
		<-t.done
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the writer: %w", ctx.Err())
	case <-w.closed:
		return errClosed
	}
}

// close waits for the writes under way, and closes the connection.
func (w *writer) close() (err error) {
	if w != nil {
		w.once.Do(func() {
			close(w.closed)
			w.running.Wait()
			err = w.conn.Close()
		})
	}
	return err
}
