package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// refusesWrites reports unless writes are refused as busy, and the store is not ready, for a reason that is said.
func refusesWrites(t *testing.T, db *sqlite.DB, says string) {
	t.Helper()
	err := db.AddKey(t.Context(), catalogue.Key{ID: "refused"}, nil)
	if !errors.Is(err, ports.ErrBusy) || !strings.Contains(err.Error(), says) {
		t.Errorf("AddKey: got error %v, want ErrBusy that says %q", err, says)
	}
	if err := db.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("Ready = %v, want an error that says %q", err, says)
	}
}

func TestWritesToAFileThatIsNotAtItsPlaceAreRefused(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		t.Run("store"+suffix, func(t *testing.T) {
			path := file(t)
			db := open(t, path, sqlite.Options{})
			k := addKey(t, db, "before")
			rename(t, path+suffix, path+".away")
			refusesWrites(t, db, "was moved or deleted")
			write(t, path+suffix, "")
			refusesWrites(t, db, "was replaced")
			rename(t, path+".away", path+suffix)
			addKey(t, db, "after")
			if err := db.Ready(t.Context()); err != nil {
				t.Errorf("Ready after the file is back: %v", err)
			}
			if got, err := db.Key(t.Context(), k.Hash); err != nil || got != k {
				t.Errorf("Key = %+v, %v; want %+v", got, err, k)
			}
		})
	}
}

func TestAStoreBehindALinkThatLeadsElsewhereIsRefused(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	link := func(to string) {
		if err := errors.Join(os.Symlink(in(to), in("new")), os.Rename(in("new"), in("store.db"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one.db", "other.db"} {
		write(t, in(name), "")
	}
	link("one.db")
	db := open(t, in("store.db"), sqlite.Options{})
	addKey(t, db, "before")
	link("other.db")
	refusesWrites(t, db, "was replaced")
	link("one.db")
	addKey(t, db, "after")
}

// Connections that read are opened when they are needed. None is of a file that has taken the
// store's place.
func TestNoConnectionIsOfAFileThatReplacedTheStore(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	addKey(t, db, "one")
	rename(t, path, path+".away")
	write(t, path, strings.Repeat("not a database\n", 500))
	refused := false
	for range 4 { // all at once, so that each is another connection
		conn, err := sqlite.Reader(db).Conn(t.Context())
		if errors.Is(err, ports.ErrBusy) {
			refused = true
			continue
		}
		if err != nil {
			t.Fatalf("the other file was opened: %v", err)
		}
		defer conn.Close()
		var keys int
		if err := conn.QueryRowContext(t.Context(), `SELECT count(*) FROM api_keys`).Scan(&keys); err != nil || keys != 1 {
			t.Errorf("a connection reads %d keys, %v; want the one of the store", keys, err)
		}
	}
	if !refused {
		t.Error("no connection was refused")
	}
	rename(t, path+".away", path)
}

// SQLite deletes a log that it finds beside an empty file, and with it what was acknowledged.
func TestTheLogOfAMissingFileIsNotDeleted(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	want := addKey(t, db, "one")
	killed := filepath.Join(t.TempDir(), "store.db") // the files as a killed process leaves them
	for from, to := range map[string]string{"": ".away", "-wal": "-wal", ".secret": ".secret"} {
		write(t, killed+to, read(t, path+from))
	}
	openFails(t, killed, sqlite.Options{}, "put the file back")
	rename(t, killed+".away", killed)
	if got, err := open(t, killed, sqlite.Options{}).Key(t.Context(), want.Hash); err != nil || got != want {
		t.Errorf("Key = %+v, %v; want %+v", got, err, want)
	}
}

func TestFilesThatEverybodyMayOpenAreMadePrivate(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{path: 0o666, path + ".secret": 0o644}
	for name, mode := range modes {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	var exposed []string
	open(t, path, sqlite.Options{OnExposed: func(name string) { exposed = append(exposed, strings.TrimPrefix(name, path)) }})
	for name, mode := range modes {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode&0o660 {
			t.Errorf("mode of %s = %v, %v; want %v", name, info.Mode(), err, mode&0o660)
		}
	}
	if want := []string{"", "-wal", "-shm", ".secret"}; !slices.Equal(exposed, want) {
		t.Errorf("exposed = %q, want %q", exposed, want)
	}
}

func BenchmarkCheckPlace(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for b.Loop() {
		if err := sqlite.CheckPlace(db); err != nil {
			b.Fatal(err)
		}
	}
}
