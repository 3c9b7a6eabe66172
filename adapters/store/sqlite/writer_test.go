package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// together makes calls that wait for the writer at once, so that one group has them, and returns their errors.
func together(db *DB, calls ...func() error) []error {
	errs, release := make([]error, len(calls)), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { _ = db.exclusively(context.Background(), func(*conn) error { <-release; return nil }) })
	for i, call := range calls {
		synctest.Wait()
		all.Go(func() { errs[i] = call() })
	}
	synctest.Wait()
	close(release)
	all.Wait()
	return errs
}

func TestInsertsAtOnceAreFewCommits(t *testing.T) { synctest.Test(t, insertsAtOnceAreFewCommits) }

func insertsAtOnceAreFewCommits(t *testing.T) {
	db := open(t, file(t), Options{})
	var commits, writes atomic.Int64
	db.writer.onGroup = func(n int) { commits.Add(1); writes.Add(int64(n)) }
	insert := func(n int) func() error {
		return func() error {
			_, err := db.InsertCheckout(context.Background(), storetest.Opened(n), 0)
			return err
		}
	}
	var calls []func() error
	for n := range 64 {
		calls = append(calls, insert(n))
	}
	must(t, together(db, calls...)...)
	if commits.Load() != 1 || writes.Load() != 64 {
		t.Errorf("%d writes in %d commits, want 64 in 1", writes.Load(), commits.Load())
	}
	must(t, insert(64)())
	if commits.Load() != 2 {
		t.Errorf("%d commits with an insert alone, want 2", commits.Load())
	}
}

func TestAFailureDoesNotUndoItsGroup(t *testing.T) { synctest.Test(t, aFailureDoesNotUndoItsGroup) }

func aFailureDoesNotUndoItsGroup(t *testing.T) {
	errLate := errors.New("late")
	keep := func(name string, then error) func(*tx) {
		return func(t *tx) {
			t.exec(keepSandboxRecord, name, []byte(name))
			if then != nil {
				t.fail(then)
			}
		}
	}
	for what, failing := range map[string]struct {
		run  func(*tx)
		want error
	}{
		"before it changes anything": {func(t *tx) { t.fail(errLate) }, errLate},
		"by a constraint": {func(t *tx) {
			t.exec(`INSERT INTO sandbox_records (name, data) VALUES ('known', x'')`)
		}, ports.ErrDuplicate},
		"after it has changed something": {keep("undone", errLate), errLate},
		"by a statement that is wrong":   {func(t *tx) { t.exec(`UPDATE nothing SET x = 1`) }, nil},
		"by a panic": {func(t *tx) {
			t.exec(keepSandboxRecord, "undone", []byte{})
			panic(errLate)
		}, nil},
		"and ends the transaction": {func(t *tx) { t.exec(rollback); t.fail(errLate) }, errLate},
		"for it does not fit": {func(t *tx) {
			t.exec(keepSandboxRecord, "undone", make([]byte, 1<<20))
			t.exec(keepSandboxRecord, "undone", []byte{}) // which would fit
		}, ports.ErrBusy},
	} {
		db := open(t, file(t), Options{})
		must(t, db.KeepSandboxRecord(t.Context(), "known", nil))
		limitPages(t, db, "1")
		do := func(run func(*tx)) func() error {
			return func() error { return db.write(context.Background(), "test", run) }
		}
		errs := together(db, do(keep("first", nil)), do(failing.run), do(keep("last", nil)))
		if errs[0] != nil || errs[1] == nil || errs[2] != nil || failing.want != nil && !errors.Is(errs[1], failing.want) {
			t.Errorf("a write that fails %s: %v", what, errs)
		}
		for _, name := range []string{"first", "last"} {
			if data, err := db.SandboxRecord(t.Context(), name); err != nil || string(data) != name {
				t.Errorf("a write that fails %s: the %s of its group is %q, %v", what, name, data, err)
			}
		}
		if _, err := db.SandboxRecord(t.Context(), "undone"); !errors.Is(err, ports.ErrNotFound) {
			t.Errorf("a write that fails %s is stored: %v", what, err)
		}
	}
}

func TestAWriteThatWaitsEndsWithItsContext(t *testing.T) {
	db := open(t, file(t), Options{})
	must(t, db.exclusively(t.Context(), func(*conn) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := db.KeepSandboxRecord(ctx, "left", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want that of the context", err)
		}
		return nil
	}))
	if _, err := db.SandboxRecord(t.Context(), "left"); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("the write is stored: %v", err)
	}
}

func TestAStoreThatIsMovedDuringACommitIsUnknown(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{})
	err := db.write(t.Context(), "test", func(tx *tx) {
		tx.exec(keepSandboxRecord, "moved", []byte{})
		must(t, os.Rename(path, path+".away"))
	})
	if !errors.Is(err, ports.ErrUnknown) || errors.Is(err, ports.ErrBusy) {
		t.Errorf("got error %v, want ErrUnknown alone", err)
	}
	must(t, os.Rename(path+".away", path))
}

func TestTheLockOfAnotherProcessBlocksWritesAlone(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{})
	k := addKey(t, db, "one")
	must(t, db.exclusively(t.Context(), func(c *conn) error {
		_, err := c.exec(`PRAGMA busy_timeout = 1`)
		return err
	}))
	other := open(t, path, Options{})
	must(t, other.exclusively(t.Context(), func(c *conn) error {
		_, err := c.exec(begin)
		must(t, err)
		defer c.exec(rollback)
		hasKey(t, db, k)
		for _, err := range []error{db.KeepSandboxRecord(t.Context(), "two", nil), db.Ready(t.Context())} {
			if !errors.Is(err, ports.ErrBusy) {
				t.Errorf("a write: got error %v, want ErrBusy", err)
			}
		}
		return nil
	}))
	must(t, db.KeepSandboxRecord(t.Context(), "two", nil))
}

func TestALeaseOfNothingWritesNothing(t *testing.T) {
	db := open(t, file(t), Options{})
	commits := 0
	db.writer.onGroup = func(int) { commits++ }
	q := checkout.JobQuery{For: time.Second, Limits: map[checkout.JobKind]int{checkout.JobPull: 1}}
	for _, want := range []int{0, 1, 0} {
		if got, err := db.Lease(t.Context(), q); err != nil || len(got) != want || commits != want {
			t.Errorf("leased %d in %d commits, %v; want %d", len(got), commits, err, want)
		}
		if want == 0 {
			_, err := db.Enqueue(t.Context(), []checkout.Job{checkout.StoreJob(checkout.JobPull, time.Now())}, nil)
			must(t, err)
		}
		commits = 0
	}
}

func TestAWalkOverCheckoutsWithoutOldJobsWritesNothing(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	db := open(t, file(t), Options{Now: func() time.Time { return now }})
	_, err := db.InsertCheckout(t.Context(), storetest.Opened(1), 0)
	must(t, err)
	leases, err := db.Lease(t.Context(), checkout.JobQuery{For: time.Second, Limits: map[checkout.JobKind]int{checkout.JobDeliver: 1}})
	must(t, err, db.Settle(t.Context(), leases[0], checkout.Outcome{State: checkout.JobDone}))
	commits := 0
	db.writer.onGroup = func(int) { commits++ }
	for want, pass := range []time.Duration{0, checkout.EventsKept + time.Second} {
		now = now.Add(pass)
		if _, _, err := db.OldCheckouts(t.Context(), "", 9, now, now); err != nil || commits != want {
			t.Errorf("after %v: %d commits, %v; want %d", pass, commits, err, want)
		}
	}
}

func TestReadyWritesToTheDisk(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{})
	logged := func() int64 {
		info, err := os.Stat(path + "-wal")
		must(t, err)
		return info.Size()
	}
	before := logged()
	must(t, db.Ready(t.Context()))
	if after := logged(); after <= before {
		t.Errorf("the log has %d bytes after %d: nothing was written", after, before)
	}
}
