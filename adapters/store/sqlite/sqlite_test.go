package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/ports"
)

// file returns the path of a store that does not exist.
func file(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") }

// open opens a store until the test ends.
func open(t testing.TB, path string, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestStore(t *testing.T) {
	storetest.Run(t, opener())
}

func TestSameAsMemory(t *testing.T) {
	storetest.Same(t, opener(), storetest.Opener{
		Open: func(t *testing.T, now func() time.Time) ports.Admin { return memory.New(now) },
	})
}

func opener() storetest.Opener {
	paths := map[ports.Admin]string{}
	return storetest.Opener{
		Open: func(t *testing.T, now func() time.Time) ports.Admin {
			path := file(t)
			db := open(t, path, Options{Now: now})
			paths[db] = path
			return db
		},
		Reopen: func(t *testing.T, s ports.Admin, now func() time.Time) ports.Admin {
			db := open(t, paths[s], Options{Now: now})
			paths[db] = paths[s]
			return db
		},
		Damage: func(t *testing.T, s ports.Admin, checkoutID string) {
			execute(t, paths[s], `UPDATE checkouts SET setup_tokens = '{' WHERE id = ?`, checkoutID)
		},
	}
}

// execute runs a statement as an auditor does with a shell.
func execute(t testing.TB, path, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestMain(m *testing.M) { testlevel.Main(m, 25) }
