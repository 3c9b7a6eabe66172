package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/provider-checkout/provider-checkout/ports"
)

// maxGroup is the largest number of writes in one transaction.
const maxGroup = 256

// writer is the one connection that writes. Writes that arrive while a transaction is being committed wait, and the next
// transaction commits them together: a group commit. A write that is alone waits for no other.
type writer struct {
	*conn
	place place
	lead  chan struct{} // holds a value while a caller runs a group; it has the connection

	mu      sync.Mutex
	waiting []*write // guarded by mu, like closed
	closed  bool
	onGroup func(writes int) // called with the size of each group; may be nil
}

// write is a call that writes.
type write struct {
	run      func(*tx)
	done     chan error // one outcome
	panicked string     // the value of its panic and the stack; its caller panics, and not the caller that runs its group
}

var errPanicked = errors.New("the write panicked")

// attempt calls the write's function.
func (j *write) attempt(t *tx) {
	defer func() {
		if p := recover(); p != nil {
			j.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			t.err, t.dirty = errPanicked, true
		}
	}()
	j.run(t)
}

// outcome returns the outcome to the write's caller.
func (j *write) outcome(err error) error {
	if j.panicked != "" {
		panic(j.panicked)
	}
	return err
}

// tx is the writer's transaction as one write sees it. After its first error it does nothing.
type tx struct {
	*conn
	err   error
	dirty bool // the write has changed something, or failed in a way that may have ended the transaction
}

// exec runs a statement that writes, and returns the number of rows that it changed.
func (t *tx) exec(text string, args ...any) (changed int64) {
	if t.err == nil {
		changed, t.err = t.conn.exec(text, args...)
		t.dirty = t.dirty || changed > 0 || t.err != nil && !errors.Is(t.err, ports.ErrDuplicate)
	}
	return changed
}

// insert runs a statement with the columns of each row.
func insert[R any, P row[R]](t *tx, text string, rows ...R) {
	for _, r := range rows {
		t.exec(text, P(&r).Fields()...)
	}
}

// find returns the first row of a query, if there is one.
func find[R any, P row[R]](t *tx, query string, args ...any) (r R, found bool) {
	if t.err != nil {
		return r, false
	}
	list, err := all[R, P](context.Background(), t.conn, query, args...)
	if t.err = err; err != nil {
		t.dirty = true
	}
	if err != nil || len(list) == 0 {
		return r, false
	}
	return list[0], true
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

// write is do with words for its error.
func (db *DB) write(ctx context.Context, what string, run func(*tx)) error {
	return wrap(db.writer.do(ctx, run), what)
}

// do calls run in a transaction, or in several, of which the last counts. If it returns nil, the writes of run are on the disk, and
// otherwise nothing of it is stored, but for ErrUnknown. run must not block. The wait for the writer ends with ctx; the transaction
// itself is short and does not.
func (w *writer) do(ctx context.Context, run func(*tx)) error {
	if w == nil {
		return errReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	job := &write{run: run, done: make(chan error, 1)}
	if !w.wait(job) {
		return errClosed
	}
	for {
		select {
		case err := <-job.done:
			return job.outcome(err)
		case w.lead <- struct{}{}:
			w.takeTurn()
		case <-ctx.Done():
			if w.leave(job) {
				return fmt.Errorf("wait for the writer: %w", ctx.Err())
			}
			return job.outcome(<-job.done)
		}
	}
}

// takeTurn runs the writes that wait, and gives the lead to the next caller.
func (w *writer) takeTurn() {
	defer func() { <-w.lead }()
	w.group()
}

// wait adds a write to the next group, unless the store is closed.
func (w *writer) wait(job *write) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.waiting = append(w.waiting, job)
	}
	return !w.closed
}

// leave takes a write from the next group, and reports whether it was still there.
func (w *writer) leave(job *write) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.waiting)
	w.waiting = slices.DeleteFunc(w.waiting, func(j *write) bool { return j == job })
	return len(w.waiting) < before
}

// group runs the writes that wait, and reports whether there were any.
func (w *writer) group() bool {
	w.mu.Lock()
	n := min(len(w.waiting), maxGroup)
	jobs := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	w.mu.Unlock()
	if n == 0 {
		return false
	}
	outcomes := make([]error, n)
	err := w.transaction(jobs, outcomes)
	for i, job := range jobs {
		job.done <- cmp.Or(outcomes[i], err)
	}
	return true
}

const (
	begin    = `BEGIN IMMEDIATE`
	commit   = `COMMIT`
	rollback = `ROLLBACK`
)

// transaction runs writes in one transaction. Its error is the outcome of every write that has no own one. A write that fails before
// it has changed anything fails alone; where one fails later, the transaction is rolled back, and each write gets its own.
func (w *writer) transaction(jobs []*write, outcomes []error) error {
	if err := w.place.check(); err != nil {
		return err
	}
	if _, err := w.exec(begin); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for i, job := range jobs {
		t := &tx{conn: w.conn}
		job.attempt(t)
		if outcomes[i] = t.err; t.err == nil || !t.dirty {
			continue
		}
		_, _ = w.exec(rollback) // unless SQLite has done so
		if len(jobs) > 1 {
			w.eachAlone(jobs, outcomes)
		}
		return nil
	}
	if !slices.Contains(outcomes, nil) {
		_, err := w.exec(rollback)
		return err
	}
	return w.commit(len(jobs))
}

func (w *writer) eachAlone(jobs []*write, outcomes []error) {
	for i := range jobs {
		outcomes[i] = nil
		if err := w.transaction(jobs[i:i+1], outcomes[i:i+1]); err != nil {
			outcomes[i] = err
		}
	}
}

// commit commits the transaction with a number of writes.
func (w *writer) commit(writes int) error {
	if _, err := w.exec(commit); err != nil {
		_, _ = w.exec(rollback)
		if is(err, sqlite3.SQLITE_IOERR) {
			return fmt.Errorf("%w: commit: %v", ports.ErrUnknown, err)
		}
		return fmt.Errorf("commit: %w", err)
	}
	if w.onGroup != nil {
		w.onGroup(writes)
	}
	if err := w.place.check(); err != nil { // the file that is opened next may not have the writes
		return fmt.Errorf("%w: commit: %v", ports.ErrUnknown, err)
	}
	return nil
}

// exclusively runs f on the connection, outside of a transaction, while no write runs.
func (w *writer) exclusively(ctx context.Context, f func(*conn) error) error {
	if w == nil {
		return errReadOnly
	}
	select {
	case w.lead <- struct{}{}:
		defer func() { <-w.lead }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return errClosed
	}
	if err := w.place.check(); err != nil {
		return err
	}
	return f(w.conn)
}

// close waits for the writes under way, and closes the connection.
func (w *writer) close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		return nil
	}
	w.lead <- struct{}{}
	defer func() { <-w.lead }()
	for w.group() {
	}
	return w.Close()
}
