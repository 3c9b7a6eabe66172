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
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// shell opens the file as an auditor does.
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
	if err := db.AddKey(t.Context(), k, nil); err != nil {
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
	if err := first.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file does not have the name that was given: %v", err)
	}
	again := open(t, path, sqlite.Options{})
	if got, err := again.Key(t.Context(), want.Hash); err != nil || got != want {
		t.Errorf("Key after reopening = %+v, %v; want %+v", got, err, want)
	}
	addKey(t, again, "two")
}

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
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

func TestFilesThatAreNoStoreAreRefused(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	write(t, in("text.db"), strings.Repeat("not a database\n", 500))
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

func TestDamagedFileIsRefused(t *testing.T) {
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
	if err := damage(path); err != nil {
		t.Fatal(err)
	}
	openFails(t, path, sqlite.Options{}, "damaged")
}

func TestNewerSchema(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	t.Run("one version newer is served, if it was open before and if it is opened then", func(t *testing.T) {
		execute(t, shell(t, path), `INSERT INTO provider_checkout_schema SELECT max(version) + 1, '' FROM provider_checkout_schema`)
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
		execute(t, shell(t, path), `INSERT INTO provider_checkout_schema SELECT max(version) + 1, '' FROM provider_checkout_schema`)
		openFails(t, path, sqlite.Options{}, "run the newer program")
	})
}

func TestStoreOfADevelopmentVersionIsRefused(t *testing.T) {
	for name, statement := range map[string]string{
		"with another first migration":    `UPDATE provider_checkout_schema SET checksum = 'another'`,
		"without checksums of migrations": `DROP TABLE provider_checkout_schema`,
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			if err := open(t, path, sqlite.Options{}).Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			execute(t, shell(t, path), statement)
			openFails(t, path, sqlite.Options{}, "a development version made this store, and no release can read it: start with an empty one")
		})
	}
}

func TestEmptyFileBecomesAStore(t *testing.T) {
	path := file(t)
	write(t, path, "")
	addKey(t, open(t, path, sqlite.Options{}), "one")
}

func TestTheLockOfAnotherProcess(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	k := addKey(t, db, "one")
	other := shell(t, path)
	execute(t, other, `BEGIN IMMEDIATE`)

	t.Run("does not block reads", func(t *testing.T) {
		if got, err := db.Key(t.Context(), k.Hash); err != nil || got != k {
			t.Errorf("Key = %+v, %v; want %+v", got, err, k)
		}
	})
	t.Run("is waited for no longer than the context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := db.RevokeKey(ctx, k.ID, time.Now(), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RevokeKey: got error %v, want that of the context", err)
		}
	})
	t.Run("makes the store busy while it is held", func(t *testing.T) {
		testlevel.Full(t) // it waits for the lock
		if err := db.RevokeKey(t.Context(), k.ID, time.Now(), nil); !errors.Is(err, ports.ErrBusy) {
			t.Errorf("RevokeKey: got error %v, want ErrBusy", err)
		}
	})
	t.Run("is taken once it is released", func(t *testing.T) {
		execute(t, other, `ROLLBACK`)
		if got, err := db.Key(t.Context(), k.Hash); err != nil || !got.RevokedAt.IsZero() {
			t.Errorf("Key = %+v, %v; want it not revoked: the calls before failed", got, err)
		}
		if err := db.RevokeKey(t.Context(), k.ID, time.Now(), nil); err != nil {
			t.Errorf("RevokeKey: %v", err)
		}
	})
}

func TestWaitForAnotherWriteEndsWithTheContext(t *testing.T) {
	db := open(t, file(t), sqlite.Options{})
	err := db.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := db.RevokeKey(ctx, "one", time.Now(), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RevokeKey during another write: got error %v, want that of the context", err)
		}
		return all, nil, nil
	})
	if err != nil {
		t.Errorf("ReplaceProviders: %v", err)
	}
	addKey(t, db, "one")
}

func TestNoFileIsMadeForInvalidOptions(t *testing.T) {
	path := file(t)
	openFails(t, path, sqlite.Options{Environment: catalogue.Production}, "production needs the operator's secret")
	openFails(t, path, sqlite.Options{Secrets: [][]byte{[]byte("short")}}, "at least 32")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of the store: %v; want that there is none", err)
	}
}
