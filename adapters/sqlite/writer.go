package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// maxBatch is how many writes one transaction takes at the most.
const maxBatch = 256

// writer is the one connection that writes. What is asked of it while the disk is busy with
// one transaction is committed together by the next: a group commit. Each write still has
// its own outcome, and it is told of success only when its transaction is on the disk.
type writer struct {
	pool
	conn     *sql.Conn
	queue    chan *write
	closing  chan struct{} // closed when the store is
	gone     chan struct{} // closed when work has ended
	once     sync.Once
	onCommit func(writes int) // told the size of each group; may be nil
}

// write is one write that waits its turn.
type write struct {
	ctx  context.Context
	run  func(context.Context, *tx) error
	turn atomic.Bool // set once: by the writer that takes it, or by the caller that gives up
	done chan error  // one outcome
}

var errClosed = errors.New("store is closed")

const (
	begin    = `BEGIN IMMEDIATE`
	commit   = `COMMIT`
	rollback = `ROLLBACK`
)

// open connects, brings the schema up to date and starts to take writes.
func (w *writer) open(ctx context.Context, path string) (err error) {
	if w.pool, err = openWriter(ctx, path); err != nil {
		return err
	}
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	w.queue = make(chan *write, maxBatch)
	w.closing, w.gone = make(chan struct{}), make(chan struct{})
	if err := w.migrate(ctx); err != nil {
		return err
	}
	if w.prepared, err = prepare(ctx, w.conn, hotWrites()); err != nil {
		return err
	}
	go w.work()
	return nil
}

// close lets the writer finish what it has taken, and closes the connection. Its statements go first: SQLite
// folds the log into the file only when nothing is left on the last connection.
func (w *writer) close() (err error) {
	w.once.Do(func() { err = w.end() })
	return err
}

func (w *writer) end() error {
	var errs []error
	if w.prepared != nil { // it works
		close(w.closing)
		<-w.gone
	}
	for _, stmt := range w.prepared {
		errs = append(errs, stmt.Close())
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.pool.close())...)
}

// do has run stored: what it did is on the disk if nil comes back, and otherwise nothing of it is.
// An error of run is returned as it is. run may be called more than once, with all that an
// earlier call did undone; it must not block. Waiting for the turn ends with ctx; what comes
// after is short, and not cut off, so that no outcome is in doubt.
func (w *writer) do(ctx context.Context, run func(context.Context, *tx) error) error {
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

// work takes writes until the store closes. Those that wait then find it gone.
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

// group runs the first write, and those that wait behind it, in one transaction.
func (w *writer) group(first *write) {
	if err := w.begin(first.ctx); err != nil {
		if first.take() {
			first.done <- err
		}
		return
	}
	jobs := w.takeWaiting(first)
	outcomes, whole := w.runAll(jobs)
	if !whole {
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

// take tells whether the write's caller still waits, who then waits for its outcome.
func (job *write) take() bool { return job.turn.CompareAndSwap(false, true) }

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

// runAll runs the writes in the open transaction. A write that failed without having changed anything
// has failed alone. whole is false if one left something behind, or the transaction itself is in doubt.
func (w *writer) runAll(jobs []*write) (outcomes []error, whole bool) {
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

// call runs a write. A panic of it is its own: the writer goes on, and the write's caller panics.
func (t *tx) call(ctx context.Context, run func(context.Context, *tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{p}
		}
	}()
	return run(context.WithoutCancel(ctx), t)
}

// panicked carries a panic from the writer to the caller.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprint("panic: ", p.value) }

func rethrow(err error) error {
	if p, ok := errors.AsType[panicked](err); ok {
		panic(p.value)
	}
	return err
}

// begin waits for the locks of other processes.
func (w *writer) begin(ctx context.Context) error {
	short := context.WithoutCancel(ctx)
	err := patiently(ctx, func() error { return w.control(short, begin) })
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// commit commits what so many writes did.
func (w *writer) commit(writes int) error {
	if err := w.control(context.Background(), commit); err != nil {
		w.rollback()
		return fmt.Errorf("commit: %w", meaning(err))
	}
	if w.onCommit != nil {
		w.onCommit(writes)
	}
	return nil
}

// rollback undoes the transaction, if SQLite has not done so already.
func (w *writer) rollback() {
	_ = w.control(context.Background(), rollback)
}

func (w *writer) control(ctx context.Context, statement string) error {
	stmt, ok := w.prepared[statement]
	if !ok {
		_, err := w.conn.ExecContext(ctx, statement)
		return err
	}
	_, err := stmt.ExecContext(ctx)
	return err
}

// inTx has f stored by the writer; see there.
func (db *DB) inTx(ctx context.Context, f func(context.Context, *tx) error) error {
	return db.writer.do(ctx, f)
}
