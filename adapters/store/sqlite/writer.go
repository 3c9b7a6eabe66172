package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
)

// maxBatch is the largest number of writes in one transaction.
const maxBatch = 256

// writer is the one connection that writes. Writes that arrive while a transaction is being committed wait in a queue,
// and the next transaction commits them together: a group commit. Each write has an outcome of its own, which it gets
// after its transaction is on the disk.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	statements
	works   bool // work was started
	queue   chan *write
	closing chan struct{} // closed by close
	gone    chan struct{} // closed when work has returned
	once    sync.Once
	onGroup func(writes int)      // called with the size of each group; may be nil
	place   place                 // of the files
	failure atomic.Pointer[error] // the latest failure of the storage that Ready has not seen
}

// write is one write in the queue.
type write struct {
	ctx context.Context
	run func(context.Context, *tx) error
	// taken is set once: by the writer, which then runs it, or by its caller, who gives up waiting.
	taken atomic.Bool
	done  chan error // one outcome
}

var (
	errClosed   = errors.New("store is closed")
	errReadOnly = errors.New("the store was opened to be read only")
)

const (
	begin    = `BEGIN IMMEDIATE`
	commit   = `COMMIT`
	rollback = `ROLLBACK`
)

// open connects, migrates the schema and starts to take writes.
func (w *writer) open(ctx context.Context, path string, own []migration.Migration) (err error) {
	if w.place, err = placeOf(path); err != nil {
		return err
	}
	if w.db, err = openWriter(ctx, w.place); err != nil {
		return err
	}
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	w.on = w.conn
	w.queue = make(chan *write, maxBatch)
	w.closing, w.gone = make(chan struct{}), make(chan struct{})
	if err := w.migrate(ctx, own); err != nil {
		return err
	}
	if w.place, err = w.place.withLog(); err != nil {
		return err
	}
	w.works = true
	go w.work()
	return nil
}

// close waits for the writes that were taken, and closes the connection.
func (w *writer) close() (err error) {
	w.once.Do(func() { err = w.shutDown() })
	return err
}

func (w *writer) shutDown() error {
	var errs []error
	if w.works {
		close(w.closing)
		<-w.gone
	}
	// SQLite leaves the log of a file that was moved where it is, beside what may stand in the file's place.
	if w.works && w.place.check() != nil {
		_, err := w.conn.ExecContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
		errs = append(errs, mapError(err))
	}
	errs = append(errs, w.statements.close())
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	if w.db != nil {
		errs = append(errs, w.db.Close())
	}
	return errors.Join(errs...)
}

// do calls run in a transaction. If it returns nil, what run wrote is on the disk, and otherwise nothing of it is, except
// that a file that is moved just then may have it. An error of run is returned as it is. run may be called more than once, each time after what an earlier call wrote
// was rolled back, and must not block. Waiting in the queue ends with ctx. The transaction itself is short and does not, so
// that its outcome is always known.
func (w *writer) do(ctx context.Context, run func(context.Context, *tx) error) error {
	if w.queue == nil {
		return errReadOnly
	}
	job := &write{ctx: ctx, run: run, done: make(chan error, 1)}
	select {
	case w.queue <- job:
	case <-ctx.Done():
		return fmt.Errorf("wait for the writer: %w", ctx.Err())
	case <-w.closing:
		return errClosed
	}
	select {
	case err := <-job.done:
		return rethrow(err)
	case <-w.gone:
	case <-ctx.Done():
	}
	if job.take() {
		return fmt.Errorf("wait for the writer: %w", cmp.Or(ctx.Err(), errClosed))
	}
	return rethrow(<-job.done)
}

// work takes writes until the store is closed. Callers whose writes are still in the queue then see w.gone.
func (w *writer) work() {
	defer close(w.gone)
	for {
		select {
		case job := <-w.queue:
			w.group(job)
		case <-w.closing:
			return
		}
	}
}

// group runs the first write, and the writes in the queue behind it, in one transaction.
func (w *writer) group(first *write) {
	if err := w.begin(first.ctx); err != nil {
		if first.take() {
			first.done <- err
		}
		return
	}
	jobs := w.takeWaiting(first)
	outcomes, ok := w.runAll(jobs)
	if !ok {
		w.rollback()
		w.eachAlone(jobs)
		return
	}
	err := w.commit(len(jobs))
	for i, job := range jobs {
		if outcomes[i] == nil {
			outcomes[i] = err
		}
		job.done <- outcomes[i]
	}
}

// take takes the write, and reports whether it had not been taken before.
func (job *write) take() bool { return job.taken.CompareAndSwap(false, true) }

// takeWaiting returns the first write and the writes in the queue, without the writes whose callers gave up.
func (w *writer) takeWaiting(first *write) (jobs []*write) {
	if first.take() {
		jobs = append(jobs, first)
	}
	for len(jobs) < maxBatch {
		select {
		case job := <-w.queue:
			if job.take() {
				jobs = append(jobs, job)
			}
		default:
			return jobs
		}
	}
	return jobs
}

// runAll runs the writes in the open transaction. A write that fails before it has changed anything fails alone. ok is
// false if one failed after it had changed something, or may have ended the transaction.
func (w *writer) runAll(jobs []*write) (outcomes []error, ok bool) {
	outcomes = make([]error, len(jobs))
	for i, job := range jobs {
		t := &tx{writer: w}
		if outcomes[i] = t.call(job.ctx, job.run); outcomes[i] != nil && (t.changed || t.broken) {
			return nil, false
		}
	}
	return outcomes, true
}

// eachAlone runs each write in a transaction of its own.
func (w *writer) eachAlone(jobs []*write) {
	for _, job := range jobs {
		job.done <- w.alone(job.ctx, job.run)
	}
}

func (w *writer) alone(ctx context.Context, run func(context.Context, *tx) error) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	t := &tx{writer: w}
	if err := t.call(ctx, run); err != nil {
		w.rollback()
		return err
	}
	return w.commit(1)
}

// call runs a write. Its panic becomes an error, so that the writer goes on; do panics with it again.
func (t *tx) call(ctx context.Context, run func(context.Context, *tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{p}
		}
	}()
	return run(context.WithoutCancel(ctx), t)
}

// panicked is a panic of a write.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprint("panic: ", p.value) }

func rethrow(err error) error {
	if p, ok := errors.AsType[panicked](err); ok {
		panic(p.value)
	}
	return err
}

// begin begins a transaction. It waits for the locks of other processes.
func (w *writer) begin(ctx context.Context) error {
	if err := w.place.check(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	short := context.WithoutCancel(ctx)
	err := retryBusy(ctx, func() error { return w.control(short, begin) })
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// commit commits a transaction with this number of writes. It fails also if a file was moved since the transaction began: then
// the file that is opened next may not have them.
func (w *writer) commit(writes int) error {
	if err := w.control(context.Background(), commit); err != nil {
		w.rollback()
		return fmt.Errorf("commit: %w", mapError(err))
	}
	if w.onGroup != nil {
		w.onGroup(writes)
	}
	if err := w.place.check(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// rollback rolls the transaction back, if SQLite has not done so already.
func (w *writer) rollback() {
	_ = w.control(context.Background(), rollback)
}

// control runs one of the statements that control a transaction.
func (w *writer) control(ctx context.Context, statement string) error {
	_, err := w.exec(ctx, statement)
	w.noteStorage(err)
	return err
}

// noteStorage keeps an error of the storage for Ready.
func (w *writer) noteStorage(err error) {
	if isStorageFailure(err) {
		failure := err // on the heap, unlike err, which is mostly nil
		w.failure.Store(&failure)
	}
}
