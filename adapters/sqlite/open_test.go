package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// shell opens the file as an auditor would.
func shell(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// openFails reports unless the store is refused in one line that says so.
func openFails(t *testing.T, path string, o sqlite.Options, says string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, o)
	if err == nil {
		db.Close()
		t.Fatalf("Open: got a store, want an error that says %q", says)
	}
	if text := err.Error(); !strings.Contains(text, says) || strings.Contains(text, "\n") || !strings.Contains(text, path) {
		t.Errorf("Open: got error %q, want one line that names the file and says %q", text, says)
	}
}

func addKey(t *testing.T, db *sqlite.DB, id string) catalogue.Key {
	t.Helper()
	k := catalogue.Key{ID: id, Provider: "KOWHAI", Environment: catalogue.Sandbox, Hash: [32]byte([]byte(fmt.Sprintf("%-32s", id)))}
	if err := db.AddKey(t.Context(), k); err != nil {
		t.Fatalf("AddKey: %v", err)
	}
	return k
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name ?#%41&x=y é.db")
	first, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	want := addKey(t, first, "one")
	numbers := []int64{draw(t, first)}
	if err := first.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file does not bear its name: %v", err)
	}
	again := open(t, path, sqlite.Options{})
	if got, err := again.Key(t.Context(), want.Hash); err != nil || got != want {
		t.Errorf("Key after reopening = %+v, %v; want %+v", got, err, want)
	}
	numbers = append(numbers, draw(t, again))
	if !slices.Equal(numbers, []int64{1, 2}) {
		t.Errorf("agreement numbers = %v, want 1 and 2: the sequence goes on", numbers)
	}
}

func draw(t *testing.T, db *sqlite.DB) int64 {
	t.Helper()
	n, err := db.DrawNumber(t.Context())
	if err != nil {
		t.Fatalf("DrawNumber: %v", err)
	}
	return n
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	addKey(t, db, "one")
	for _, suffix := range []string{"", "-wal", "-shm", ".secret"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Errorf("stat: %v", err)
			continue
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of store%s = %o, want 600", suffix, got)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 4 {
		t.Errorf("files = %v, %v; want those four", entries, err)
	}
}

func TestWhatIsNoStoreIsRefused(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := os.WriteFile(in("text.db"), bytes.Repeat([]byte("not a database\n"), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, shell(t, in("foreign.db")), `CREATE TABLE notes (text TEXT)`)

	openFails(t, in("text.db"), sqlite.Options{}, "not a SQLite database")
	openFails(t, in("foreign.db"), sqlite.Options{}, "not of Provider Checkout")
	openFails(t, folder, sqlite.Options{}, "not a file")
	openFails(t, in("missing/store.db"), sqlite.Options{}, "no such file or directory")

	var journal string
	if err := shell(t, in("foreign.db")).QueryRow(`PRAGMA journal_mode`).Scan(&journal); err != nil || journal != "delete" {
		t.Errorf("journal of the foreign database = %s, %v; want it untouched", journal, err)
	}
}

func TestDamageIsRefused(t *testing.T) {
	path := file(t)
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	for i := range 200 {
		addKey(t, db, fmt.Sprint("key ", i))
	}
	if err := db.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[len(data)-4096:], bytes.Repeat([]byte{0xa5}, 4096))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	openFails(t, path, sqlite.Options{}, "damaged")
}

func TestNewerSchema(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	var version int
	if err := shell(t, path).QueryRowContext(t.Context(), `PRAGMA user_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	t.Run("one version newer is served, by who has it open and who opens it", func(t *testing.T) {
		execute(t, shell(t, path), fmt.Sprintf(`PRAGMA user_version = %d`, version+1))
		if err := db.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		again := open(t, path, sqlite.Options{})
		addKey(t, again, "one")
		if err := again.Ready(t.Context()); err != nil {
			t.Errorf("Ready after reopening: %v", err)
		}
	})
	t.Run("two versions newer is refused", func(t *testing.T) {
		execute(t, shell(t, path), fmt.Sprintf(`PRAGMA user_version = %d`, version+2))
		openFails(t, path, sqlite.Options{}, "run the newer program")
	})
}

// A program of the first version knows no particulars of an agreement, and no consent.
func TestFirstSchema(t *testing.T) {
	path := file(t)
	open(t, path, sqlite.Options{})
	const byFirstProgram = `INSERT INTO agreements (number, id, version, checkout_id, provider_order_id, provider_code,
		provider_name, support_email, first_name, last_name, email, course_code, course_name, price_cents, upfront_cents,
		principal_cents, payment_frequency, number_of_instalments, instalment_cents, final_instalment_cents,
		first_payment_date, schedule, dda_id, account_holder, account_tail)
		VALUES ('PPA-2026-00000' || %[1]d, '', '', 'checkout %[1]d', '', '', '', '', '', '', '', '', '', 0, 0, 0, '', 0, 0, 0, '', '[]', '', '', '')`
	execute(t, shell(t, path), fmt.Sprintf(byFirstProgram, 1)) // while the newer one is there
	execute(t, shell(t, path), `ALTER TABLE agreements DROP COLUMN particulars;
		ALTER TABLE checkouts DROP COLUMN consent; ALTER TABLE providers DROP COLUMN notice_days; PRAGMA user_version = 1`)
	execute(t, shell(t, path), fmt.Sprintf(byFirstProgram, 2)) // before it came
	db := open(t, path, sqlite.Options{})
	for _, number := range []string{"PPA-2026-000001", "PPA-2026-000002"} {
		if a, err := db.Agreement(t.Context(), number); err != nil || !a.Terms.IsZero() {
			t.Errorf("Agreement %s = %+v, %v; want one without terms", number, a, err)
		}
	}
}

func TestEmptyFileBecomesAStore(t *testing.T) {
	path := file(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	addKey(t, open(t, path, sqlite.Options{}), "one")
}

func TestTheLockOfAnotherProcess(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	k := addKey(t, db, "one")
	other := shell(t, path)
	execute(t, other, `BEGIN IMMEDIATE`)

	t.Run("does not hinder reading", func(t *testing.T) {
		if got, err := db.Key(t.Context(), k.Hash); err != nil || got != k {
			t.Errorf("Key = %+v, %v; want %+v", got, err, k)
		}
	})
	t.Run("is waited for no longer than the context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := db.DrawNumber(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("DrawNumber: got error %v, want that of the context", err)
		}
	})
	t.Run("held on to, leaves the store busy", func(t *testing.T) {
		if _, err := db.DrawNumber(t.Context()); !errors.Is(err, ports.ErrBusy) {
			t.Errorf("DrawNumber: got error %v, want ErrBusy", err)
		}
	})
	t.Run("once let go, is taken", func(t *testing.T) {
		execute(t, other, `ROLLBACK`)
		if got := draw(t, db); got != 1 {
			t.Errorf("agreement number = %d, want 1: what was busy drew none", got)
		}
	})
}

func TestWaitingForAnotherWriteHonoursTheContext(t *testing.T) {
	db := open(t, file(t), sqlite.Options{})
	err := db.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := db.DrawNumber(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("DrawNumber during another write: got error %v, want that of the context", err)
		}
		return all, nil
	})
	if err != nil {
		t.Errorf("ReplaceProviders: %v", err)
	}
	draw(t, db)
}

func TestNothingIsMadeForOptionsThatCannotBe(t *testing.T) {
	path := file(t)
	openFails(t, path, sqlite.Options{Environment: catalogue.Production}, "production needs the operator's secret")
	openFails(t, path, sqlite.Options{Secrets: [][]byte{[]byte("short")}}, "at least 32")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of the store: %v; want that there is none", err)
	}
}
