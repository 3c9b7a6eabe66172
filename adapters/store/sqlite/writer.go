package sqlite

import (
	"context"
	"errors"
	"fmt"
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
	writes  chan *write
	alone   chan *write // which run outside of a transaction
	once    sync.Once   // for close
	closed  chan struct{}
	running sync.WaitGroup
	onGroup func(writes int) // called with the size of each group; may be nil
}

// write is a call that writes, with its latest attempt.
type write struct {
	run  func(*tx)
	tx   tx
	done chan struct{} // closed when the outcome is known
}

func newWriter(c *conn, p place) *writer {
	w := &writer{conn: c, place: p, writes: make(chan *write), alone: make(chan *write), closed: make(chan struct{})}
	w.running.Go(w.serve)
	return w
}

// serve runs what arrives until the store is closed.
func (w *writer) serve() {
	for {
		select {
		case job := <-w.writes:
			group := w.waiting([]*write{job})
			w.transaction(group)
			for _, job := range group {
				close(job.done)
			}
		case job := <-w.alone:
			job.tx = tx{conn: w.conn, err: w.place.check()}
			if job.tx.err == nil {
				job.attempt()
			}
			close(job.done)
		case <-w.closed:
			return
		}
	}
}

// waiting adds the writes that wait to a group.
func (w *writer) waiting(group []*write) []*write {
	for len(group) < maxGroup {
		select {
		case job := <-w.writes:
			group = append(group, job)
		default:
			return group
		}
	}
	return group
}

// transaction runs writes in one transaction, and gives each its outcome.
func (w *writer) transaction(jobs []*write) {
	for _, job := range jobs {
		job.tx = tx{conn: w.conn}
	}
	if err := w.attempt(jobs); err != nil {
		for _, job := range jobs {
			job.tx.fail(err)
		}
	}
}

// attempt runs writes in one transaction. Its error is the outcome of every write that has no own error. A write that fails before it has
// changed anything fails alone; where one fails later, the transaction is rolled back, and each write gets its own.
func (w *writer) attempt(jobs []*write) error {
	if err := w.place.check(); err != nil {
		return err
	}
	if _, err := w.conn.exec(begin); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	succeeded := 0
	for _, job := range jobs {
		job.attempt()
		switch {
		case job.tx.err == nil:
			succeeded++
		case job.tx.dirty:
			_, _ = w.conn.exec(rollback) // unless SQLite has done so
			for i := 0; len(jobs) > 1 && i < len(jobs); i++ {
				w.transaction(jobs[i : i+1])
			}
			return nil
		}
	}
	if succeeded == 0 {
		_, err := w.conn.exec(rollback)
		return err
	}
	return w.commit(len(jobs))
}

// commit commits the transaction with a number of writes.
func (w *writer) commit(writes int) error {
	if _, err := w.conn.exec(commit); err != nil {
		_, _ = w.conn.exec(rollback)
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

// attempt calls the write's function. A panic is an error of this write alone.
func (j *write) attempt() {
	defer func() {
		if p := recover(); p != nil {
			j.tx.err, j.tx.dirty = fmt.Errorf("panic: %v\n\n%s", p, debug.Stack()), true
		}
	}()
	j.run(&j.tx)
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

// write calls run in a transaction, or in several, of which the last counts. If it returns nil, the writes of run are on the disk, and
// otherwise nothing of it is stored, but for ErrUnknown. run must not block. The wait for the writer ends with ctx; the transaction
// itself is short and does not. Errors say what the write is.
func (db *DB) write(ctx context.Context, what string, run func(*tx)) error {
	return wrap(db.writer.do(ctx, false, run), what)
}

// exclusively runs f on the connection that writes, outside of a transaction, while no write runs.
func (db *DB) exclusively(ctx context.Context, f func(*conn) error) error {
	return db.writer.do(ctx, true, func(t *tx) { t.err = f(t.conn) })
}

func (w *writer) do(ctx context.Context, alone bool, run func(*tx)) error {
	if w == nil {
		return errReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	job, queue := &write{run: run, done: make(chan struct{})}, w.writes
	if alone {
		queue = w.alone
	}
	select {
	case queue <- job:
		<-job.done
		return job.tx.err
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
