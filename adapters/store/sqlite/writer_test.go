package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/ports"
)

// held is a store whose writer is busy with one write until release is called, so that a test decides which writes are
// in the queue together.
type held struct {
	*DB
	release func()
	commits []int // sizes; to be read after the store is closed
}

func hold(t *testing.T) *held {
	t.Helper()
	h := &held{}
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"),
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.writer.conn.ExecContext(t.Context(), `CREATE TABLE notes (text TEXT UNIQUE) STRICT`); err != nil {
		t.Fatal(err)
	}
	h.DB = db
	db.writer.onGroup = func(writes int) { h.commits = append(h.commits, writes) }
	busy, done := make(chan struct{}), make(chan struct{})
	var once, first sync.Once
	h.release = func() { once.Do(func() { close(done) }) }
	t.Cleanup(func() { h.release(); db.Close() })
	go db.writer.do(t.Context(), func(context.Context, *tx) error {
		first.Do(func() { close(busy); <-done })
		return nil
	})
	<-busy
	return h
}

// ask passes f to the writer, and returns when it is in the queue.
func (h *held) ask(ctx context.Context, f func(context.Context, *tx) error) (outcome chan error) {
	outcome = make(chan error, 1)
	waiting := len(h.writer.queue)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				outcome <- errors.New("panicked")
			}
		}()
		outcome <- h.writer.do(ctx, f)
	}()
	for len(h.writer.queue) == waiting {
		runtime.Gosched()
	}
	return outcome
}

func note(text string) func(context.Context, *tx) error {
	return func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, `INSERT INTO notes (text) VALUES (?)`, text)
		return err
	}
}

// notes closes the store and returns what is in it.
func (h *held) notes(t *testing.T) []string {
	t.Helper()
	list, err := sqlstore.All(t.Context(), h.readers, sqlstore.ScanValue[string], `SELECT text FROM notes ORDER BY rowid`)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return list
}

var errRefused = errors.New("refused")

func TestWritesInTheQueueAreCommittedTogether(t *testing.T) {
	h := hold(t)
	var outcomes []chan error
	for _, text := range []string{"a", "b", "c", "d"} {
		outcomes = append(outcomes, h.ask(t.Context(), note(text)))
	}
	h.release()
	for _, outcome := range outcomes {
		if err := <-outcome; err != nil {
			t.Error(err)
		}
	}
	if got := h.notes(t); !slices.Equal(got, []string{"a", "b", "c", "d"}) || !slices.Equal(h.commits, []int{1, 4}) {
		t.Errorf("stored %q by commits of %d, want one of 1 and one of 4", got, h.commits)
	}
}

func TestFailedWriteDoesNotFailOthers(t *testing.T) {
	tests := []struct {
		name    string
		fails   func(ctx context.Context, tx *tx) error
		commits []int // after the commit that held the writer
	}{
		{"on a constraint, having changed nothing", note("a"), []int{4}},
		{"by its own decision, having changed nothing", func(context.Context, *tx) error { return errRefused }, []int{4}},
		{"by its own decision, having read", func(ctx context.Context, tx *tx) error {
			_, err := sqlstore.All(ctx, tx, sqlstore.ScanValue[string], `SELECT text FROM notes`)
			return errors.Join(err, errRefused)
		}, []int{4}},
		{"having found no row to change", func(ctx context.Context, tx *tx) error {
			n, err := tx.exec(ctx, `UPDATE notes SET text = 'x' WHERE text = 'nowhere'`)
			return errors.Join(err, fmt.Errorf("%d rows", n))
		}, []int{4}},
		{"having changed something", func(ctx context.Context, tx *tx) error {
			return errors.Join(note("half")(ctx, tx), errRefused)
		}, []int{1, 1, 1}},
		{"on a constraint, having changed something", func(ctx context.Context, tx *tx) error {
			return errors.Join(note("half")(ctx, tx), note("a")(ctx, tx))
		}, []int{1, 1, 1}},
		{"on a statement that is wrong", func(ctx context.Context, tx *tx) error {
			_, err := tx.exec(ctx, `INSERT INTO nowhere VALUES (1)`)
			return err
		}, []int{1, 1, 1}},
		{"with a panic", func(context.Context, *tx) error { panic("at the writer") }, []int{4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := hold(t)
			a, b := h.ask(t.Context(), note("a")), h.ask(t.Context(), note("b"))
			failed := h.ask(t.Context(), tt.fails)
			c := h.ask(t.Context(), note("c"))
			h.release()
			if err := errors.Join(<-a, <-b, <-c); err != nil {
				t.Errorf("a write beside it failed: %v", err)
			}
			if err := <-failed; err == nil {
				t.Error("it did not fail")
			}
			got := h.notes(t)
			if !slices.Equal(got, []string{"a", "b", "c"}) || !slices.Equal(h.commits[1:], tt.commits) {
				t.Errorf("stored %q by commits of %d, want a, b and c by %d", got, h.commits[1:], tt.commits)
			}
		})
	}
}

func TestWriteWhoseCallerGaveUpIsNotMade(t *testing.T) {
	h := hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	given, kept := h.ask(ctx, note("given up")), h.ask(t.Context(), note("kept"))
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("giving up: %v", err)
	}
	h.release()
	if err := <-kept; err != nil {
		t.Error(err)
	}
	if got := h.notes(t); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("stored %q", got)
	}
}

// The outcome of a write that the writer has taken is known, also to a caller that gives up meanwhile.
func TestCallerWhoGivesUpDuringAWriteLearnsThatItWasMade(t *testing.T) {
	h := hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	taken, goOn := make(chan struct{}), make(chan struct{})
	outcome := h.ask(ctx, func(ctx context.Context, tx *tx) error {
		close(taken)
		<-goOn
		return note("made")(ctx, tx)
	})
	h.release()
	<-taken
	cancel()
	for range 10_000 { // until the caller sees that its context has ended
		runtime.Gosched()
	}
	close(goOn)
	if err := <-outcome; err != nil {
		t.Errorf("the write was made, and is answered %v", err)
	}
	if got := h.notes(t); !slices.Equal(got, []string{"made"}) {
		t.Errorf("stored %q", got)
	}
}

// What is written to a file that is moved just then is not acknowledged: the file that is opened next may not have it.
func TestWriteDuringWhichTheFileIsMovedIsNotAcknowledged(t *testing.T) {
	h := hold(t)
	path := h.path
	outcome := h.ask(t.Context(), func(ctx context.Context, tx *tx) error {
		return errors.Join(note("moved")(ctx, tx), os.Rename(path, path+".away"))
	})
	h.release()
	if err := <-outcome; !errors.Is(err, ports.ErrBusy) {
		t.Errorf("the write is answered %v, want ErrBusy", err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
}

func TestClosedStoreRefusesWrites(t *testing.T) {
	h := hold(t)
	h.release()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.writer.do(t.Context(), note("late")); err == nil {
		t.Error("a write to a closed store succeeded")
	}
}
