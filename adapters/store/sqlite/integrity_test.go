package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// largeFile makes a store that is too large to be checked before it is served.
func largeFile(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = db.inTx(t.Context(), func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, `CREATE TABLE filler (bytes BLOB)`)
		for range 20 {
			if err == nil {
				_, err = tx.exec(ctx, `INSERT INTO filler VALUES (zeroblob(1048576))`)
			}
		}
		_, more := tx.exec(ctx, `CREATE TABLE "victim's" (text TEXT)`)
		for range 100 {
			_, insert := tx.exec(ctx, `INSERT INTO "victim's" VALUES ('victim of the test')`)
			more = errors.Join(more, insert)
		}
		return errors.Join(err, more)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if large, err := isLarge(path); err != nil || !large {
		t.Fatalf("the test is void: large is %v, %v", large, err)
	}
	return path
}

// Without the check, an operator would notice damage only when a request reads the damaged row, by which time the sound
// backups may be gone. With a check before serving, each start would take seconds for each gigabyte.
func TestLargeFileIsServedAtOnceAndItsDamageReported(t *testing.T) {
	for _, tt := range []struct {
		name    string
		damage  func(data []byte)
		damaged bool
	}{
		{"nowhere", func([]byte) {}, false},
		{"in a table", func(data []byte) {
			at := bytes.LastIndex(data, []byte("victim of the test")) &^ 4095
			copy(data[at:], bytes.Repeat([]byte{0xa5}, 4096))
		}, true},
		{"in the list of free pages", func(data []byte) {
			copy(data[32:], "\xff\xff\xff\xff\x00\x00\x00\x01") // the first of them, and how many there are
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := largeFile(t)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tt.damage(data)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			checked := make(chan error, 1)
			db, err := Open(t.Context(), path, Options{OnChecked: func(err error) { checked <- err }})
			if err != nil {
				t.Fatalf("a large file is not served at once: %v", err)
			}
			defer db.Close()
			err = <-checked
			if ready := db.Ready(t.Context()); errors.Is(ready, ErrDamaged) != tt.damaged {
				t.Errorf("Ready = %v, want damage: %v", ready, tt.damaged)
			}
			if errors.Is(err, ErrDamaged) != tt.damaged || !tt.damaged && err != nil {
				t.Errorf("OnChecked was called with %v, want damage: %v", err, tt.damaged)
			}
		})
	}
}

// slowly checks a table in a minute of the test's clock.
func slowly(ctx context.Context, _ string) error {
	select {
	case <-time.After(time.Minute):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Without the pauses, creates have half the processor on two cores while a large file is checked.
func TestCheckLeavesMostOfTheProcessorToRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		err := checkInTurn(t.Context(), []string{"a", "b", "c"}, func(ctx context.Context, table string) error {
			at = append(at, time.Since(began))
			return slowly(ctx, table)
		})
		if want := []time.Duration{0, 4 * time.Minute, 8 * time.Minute}; err != nil || !slices.Equal(at, want) {
			t.Errorf("tables were begun at %v, %v; want %v, which is a quarter of one core", at, err, want)
		}
	})
}

// An operator must not take an incomplete check for a complete one.
func TestIncompleteCheckSaysSo(t *testing.T) {
	const want = "the write-ahead log grew too much during the check, which is not complete for b, c"
	var checked []string
	err := checkInTurn(t.Context(), []string{"a", "b", "c", "d"}, func(_ context.Context, table string) error {
		checked = append(checked, table)
		if table == "b" || table == "c" {
			return errWALGrew
		}
		return nil
	})
	if err == nil || err.Error() != want || len(checked) != 4 {
		t.Errorf("inTurn = %v after %v, want %q after all four", err, checked, want)
	}
}

// Without this, the log of a busy store grows to hundreds of megabytes during a check, and a start after a crash has to
// read all of it.
func TestLogDoesNotGrowWithoutBoundDuringACheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const before = 5 << 20
	grow := func(by int64) {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, before+by); err != nil {
			t.Fatal(err)
		}
	}
	grow(0)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		go watchWAL(ctx, path, stop)
		synctest.Wait() // until it knows how large the log was
		grow(maxWALGrowth)
		if err := slowly(ctx, "a"); err != nil {
			t.Errorf("canceled by %v, though the log did not grow too much", err)
		}
		grow(maxWALGrowth + 1)
		if err := slowly(ctx, "b"); !errors.Is(err, errWALGrew) {
			t.Errorf("canceled by %v, want %v", err, errWALGrew)
		}
	})
}

func TestCanceledCheckStopsReading(t *testing.T) {
	db, err := Open(t.Context(), largeFile(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errWALGrew)
	if err := db.checkTable(ctx, "filler"); !errors.Is(err, errWALGrew) {
		t.Errorf("checkTable = %v, want %v", err, errWALGrew)
	}
}

// A restart must not wait for a check of a large file.
func TestCloseDoesNotWaitForTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c backgroundCheck
		var result error
		c.start(func(ctx context.Context) error { return checkInTurn(ctx, []string{"a", "b"}, slowly) },
			func(err error) { result = err })
		<-time.After(2 * time.Minute) // it pauses
		began := time.Now()
		c.stop()
		if took := time.Since(began); took > 0 || !errors.Is(result, errClosed) {
			t.Errorf("OnChecked was called with %v after %v, want at once that the store is closed", result, took)
		}
	})
}

// A read that never ends would keep the log from ever being checkpointed.
func TestLogIsCheckpointedBetweenTheTablesOfACheck(t *testing.T) {
	path := largeFile(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.check.stop()
		var again backgroundCheck
		again.start(func(ctx context.Context) error {
			return checkInTurn(ctx, []string{"filler", "store"}, func(ctx context.Context, table string) error {
				return errors.Join(db.checkTable(ctx, table), slowly(ctx, table))
			})
		}, nil)
		defer again.stop()
		<-time.After(2 * time.Minute)
		if err := db.Ready(t.Context()); err != nil { // it writes
			t.Fatal(err)
		}
		if logged, moved := checkpoint(t, db.writer.conn); logged == 0 || moved != logged {
			t.Errorf("%d of %d pages of the log were checkpointed", moved, logged)
		}
	})
}

// checkpoint moves what it can of the log into the file, and returns how many pages there were and how many it moved.
func checkpoint(t *testing.T, on *sql.Conn) (logged, moved int) {
	t.Helper()
	var busy int
	if err := on.QueryRowContext(t.Context(), `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &logged, &moved); err != nil {
		t.Fatal(err)
	}
	return logged, moved
}
