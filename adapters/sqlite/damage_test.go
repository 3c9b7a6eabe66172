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

// largeFile makes a store that is too large to be read through before it is served.
func largeFile(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = db.inTx(t.Context(), func(ctx context.Context, tx *tx) error {
		_, err := tx.exec(ctx, `CREATE TABLE ballast (bytes BLOB)`)
		for range 20 {
			if err == nil {
				_, err = tx.exec(ctx, `INSERT INTO ballast VALUES (zeroblob(1048576))`)
			}
		}
		_, mark := tx.exec(ctx, `CREATE TABLE "victim's" (text TEXT)`)
		for range 100 {
			_, more := tx.exec(ctx, `INSERT INTO "victim's" VALUES ('victim of the test')`)
			mark = errors.Join(mark, more)
		}
		return errors.Join(err, mark)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if large, err := isLarge(path); err != nil || !large {
		t.Fatalf("void: large is %v, %v", large, err)
	}
	return path
}

// A file that is too large to be looked through first is served; once damage is found it is not ready.
func TestDamageInALargeFileIsFoundWhileItIsServed(t *testing.T) {
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
			told := make(chan error, 1)
			db, err := Open(t.Context(), path, Options{OnChecked: func(err error) { told <- err }})
			if err != nil {
				t.Fatalf("a large file is not served at once: %v", err)
			}
			defer db.Close()
			err = <-told
			if ready := db.Ready(t.Context()); errors.Is(ready, ErrDamaged) != tt.damaged {
				t.Errorf("Ready = %v, want damage: %v", ready, tt.damaged)
			}
			if errors.Is(err, ErrDamaged) != tt.damaged || !tt.damaged && err != nil {
				t.Errorf("OnChecked was told %v, want damage: %v", err, tt.damaged)
			}
		})
	}
}

// slowly checks a table in a minute of the bubble's clock.
func slowly(ctx context.Context, _ string) error {
	select {
	case <-time.After(time.Minute):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestTheCheckRestsBetweenTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		err := inTurn(t.Context(), []string{"a", "b", "c"}, func(ctx context.Context, table string) error {
			at = append(at, time.Since(began))
			return slowly(ctx, table)
		})
		if want := []time.Duration{0, 4 * time.Minute, 8 * time.Minute}; err != nil || !slices.Equal(at, want) {
			t.Errorf("tables were begun at %v, %v; want %v, which is a quarter of a core", at, err, want)
		}
	})
}

func TestACheckThatIsCutShortSaysSo(t *testing.T) {
	const want = "the log grew too much meanwhile, so not all was read of b, c"
	var checked []string
	err := inTurn(t.Context(), []string{"a", "b", "c", "d"}, func(_ context.Context, table string) error {
		checked = append(checked, table)
		if table == "b" || table == "c" {
			return errLogGrew
		}
		return nil
	})
	if err == nil || err.Error() != want || len(checked) != 4 {
		t.Errorf("inTurn = %v after %v, want %q after all four", err, checked, want)
	}
}

func TestALogThatGrowsStopsTheCheckOfATable(t *testing.T) {
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
		go watchLog(ctx, path, stop)
		synctest.Wait() // until it knows how large the log was
		grow(mostGrowth)
		if err := slowly(ctx, "a"); err != nil {
			t.Errorf("stopped by %v, though the log did not grow too much", err)
		}
		grow(mostGrowth + 1)
		if err := slowly(ctx, "b"); !errors.Is(err, errLogGrew) {
			t.Errorf("stopped by %v, want %v", err, errLogGrew)
		}
	})
}

func TestATableIsNoLongerReadOnceItIsStopped(t *testing.T) {
	db, err := Open(t.Context(), largeFile(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errLogGrew)
	if err := db.checkTable(ctx, "ballast"); !errors.Is(err, errLogGrew) {
		t.Errorf("checkTable = %v, want %v", err, errLogGrew)
	}
}

func TestClosingEndsTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i inspection
		var told error
		i.start(func(ctx context.Context) error { return inTurn(ctx, []string{"a", "b"}, slowly) },
			func(err error) { told = err })
		<-time.After(2 * time.Minute) // it rests
		began := time.Now()
		i.end()
		if took := time.Since(began); took > 0 || !errors.Is(told, errClosed) {
			t.Errorf("OnChecked was told %v after %v, want at once that the store is closed", told, took)
		}
	})
}

// A reader that is under way keeps the log from being folded into the file.
func TestTheLogIsFoldedWhileTheCheckRests(t *testing.T) {
	path := largeFile(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.inspection.end()
		var again inspection
		again.start(func(ctx context.Context) error {
			return inTurn(ctx, []string{"ballast", "store"}, func(ctx context.Context, table string) error {
				return errors.Join(db.checkTable(ctx, table), slowly(ctx, table))
			})
		}, nil)
		defer again.end()
		<-time.After(2 * time.Minute)
		if err := db.Ready(t.Context()); err != nil { // which writes
			t.Fatal(err)
		}
		if logged, folded := fold(t, db.writer.conn); logged == 0 || folded != logged {
			t.Errorf("%d of %d pages of the log were folded into the file", folded, logged)
		}
	})
}

// fold folds what it can of the log into the file.
func fold(t *testing.T, on *sql.Conn) (logged, folded int) {
	t.Helper()
	var busy int
	if err := on.QueryRowContext(t.Context(), `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &logged, &folded); err != nil {
		t.Fatal(err)
	}
	return logged, folded
}
