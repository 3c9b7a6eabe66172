package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// openFails reports unless the store is refused in one line that names it and says why.
func openFails(t *testing.T, path string, o Options, says string) {
	t.Helper()
	db, err := Open(t.Context(), path, o)
	if err == nil {
		db.Close()
		t.Fatalf("Open: got a store, want an error that says %q", says)
	}
	if text := err.Error(); !strings.Contains(text, says) || strings.Contains(text, "\n") || !strings.Contains(text, path) {
		t.Errorf("Open: got error %q, want one line that names the file and says %q", text, says)
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func addKey(t testing.TB, db *DB, id string) catalogue.Key {
	t.Helper()
	k := catalogue.Key{ID: id, Provider: "KOWHAI", Environment: catalogue.Sandbox, Hash: [32]byte([]byte(id + strings.Repeat(" ", 32)))}
	must(t, db.AddKey(t.Context(), k, checkout.Act{ID: "act_" + id}))
	return k
}

// hasKey reports if a store does not have a key.
func hasKey(t *testing.T, db *DB, k catalogue.Key) {
	t.Helper()
	if got, err := db.Key(t.Context(), k.Hash); err != nil || got != k {
		t.Errorf("Key = %+v, %v; want %+v", got, err, k)
	}
}

func TestThePragmasOfTheConnectionsAreAsTheyWereSet(t *testing.T) {
	db := open(t, file(t), Options{})
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "2000", "wal_autocheckpoint": "4000",
		"journal_size_limit": "33554432", "secure_delete": "1", "trusted_schema": "0"}
	read := func(c *conn) error {
		for pragma, want := range want {
			err := c.query(t.Context(), `PRAGMA `+pragma, nil, func(values []driver.Value) error {
				if got := fmt.Sprint(values[0]); got != want {
					t.Errorf("%s = %s, want %s", pragma, got, want)
				}
				return nil
			})
			must(t, err)
		}
		return nil
	}
	must(t, db.exclusively(t.Context(), read))
	want = map[string]string{"journal_mode": "wal", "busy_timeout": "2000", "trusted_schema": "0"}
	must(t, db.read(t.Context(), read))
}

func TestAStoreIsOpenedAgainUnderAnOddName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name ?#%41&x=y é.db")
	first := open(t, path, Options{})
	k := addKey(t, first, "one")
	must(t, first.Close(), first.Close())
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file does not have the name that was given: %v", err)
	}
	if err := first.Ready(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("Ready of a closed store: %v", err)
	}
	if _, err := first.Keys(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("Keys of a closed store: %v", err)
	}
	hasKey(t, open(t, path, Options{}), k)
}

func TestProcessesMakeOneStoreAtOnce(t *testing.T) {
	path := file(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			db, err := Open(context.Background(), path, Options{})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if err := errors.Join(db.Ready(context.Background()), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{})
	addKey(t, db, "one")
	files := []string{"", "-wal", "-shm", ".secret"}
	mode := func(suffix string) fs.FileMode {
		info, err := os.Stat(path + suffix)
		must(t, err)
		return info.Mode()
	}
	for _, suffix := range files {
		if got := mode(suffix); got != 0o600 {
			t.Errorf("mode of store%s = %v, want 0600", suffix, got)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != len(files) {
		t.Errorf("files = %v, %v; want those four", entries, err)
	}
	must(t, db.Close(), os.Chmod(path, 0o666), os.Chmod(path+".secret", 0o644))
	open(t, path, Options{})
	for suffix, want := range map[string]fs.FileMode{"": 0o660, "-wal": 0o660, "-shm": 0o660, ".secret": 0o640} {
		if got := mode(suffix); got != want {
			t.Errorf("mode of store%s, which everybody could open, = %v, want %v", suffix, got, want)
		}
	}
}

func TestFilesThatAreNoStoreAreRefused(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	must(t, os.WriteFile(in("text.db"), bytes.Repeat([]byte("not a database\n"), 500), 0o600), os.WriteFile(in("empty.db"), nil, 0o600))
	execute(t, in("foreign.db"), `CREATE TABLE notes (text TEXT)`)
	must(t, open(t, in("older.db"), Options{}).Close())
	execute(t, in("older.db"), `PRAGMA user_version = 1`)
	before, err := os.ReadFile(in("foreign.db"))
	must(t, err)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		openFails(t, in("text.db"), o, "not a SQLite database")
		openFails(t, in("foreign.db"), o, "not of Provider Checkout")
		openFails(t, in("older.db"), o, "its schema has version 1, and this program has version 2")
		openFails(t, folder, o, "not a file")
		openFails(t, in("missing/store.db"), o, "no such file or directory")
	}
	openFails(t, in("empty.db"), Options{ReadOnly: true}, "not of Provider Checkout")
	addKey(t, open(t, in("empty.db"), Options{}), "one")
	if after, err := os.ReadFile(in("foreign.db")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file of another application was changed: %v", err)
	}
}

// damage overwrites pages in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	for i := len(text) / 3; i < len(text)/2; i++ {
		text[i] ^= 0x5a
	}
	must(t, os.WriteFile(path, text, 0o600))
}

func TestADamagedFileIsRefused(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{})
	for n := range 50 {
		_, err := db.InsertCheckout(t.Context(), storetest.Opened(n), 0)
		must(t, err)
	}
	must(t, db.Close())
	damage(t, path)
	openFails(t, path, Options{}, ErrDamaged.Error())
	if err := Backup(t.Context(), path, path+".copy"); !errors.Is(err, ErrDamaged) {
		t.Errorf("Backup: %v, want ErrDamaged", err)
	}
}

func TestAStoreIsStampedWithItsEnvironment(t *testing.T) {
	path, secrets := file(t), [][]byte{secret('a')}
	openFails(t, path, Options{Environment: catalogue.Production}, "production needs the operator's secret")
	openFails(t, path, Options{Secrets: [][]byte{[]byte("short")}}, "at least 32")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	for _, o := range []Options{{Secrets: secrets}, {Environment: catalogue.Production, Secrets: secrets}, {Secrets: secrets}, {ReadOnly: true}} {
		db := open(t, path, o)
		stamped := o.Environment == "" && len(o.Secrets) > 0 && db.Environment() == ""
		if db.Environment() != catalogue.Production && !stamped {
			t.Errorf("%+v: environment = %q", o, db.Environment())
		}
		must(t, db.Close())
	}
	openFails(t, path, Options{Environment: catalogue.Sandbox, Secrets: secrets}, "belongs to the production environment")
	openFails(t, path, Options{}, "production needs the operator's secret")
	openFails(t, path, Options{Secrets: [][]byte{secret('b')}}, "encrypted under another secret")
}

// signing returns the secret with which the events of the one provider are signed.
func signing(t *testing.T, db *DB) string {
	t.Helper()
	list, err := db.Providers(t.Context(), "KOWHAI")
	if err != nil || len(list) != 1 {
		t.Fatalf("Providers = %+v, %v", list, err)
	}
	return list[0].Destination.Secret
}

func TestWebhookSecretsAreEncryptedUnderTheFirstSecret(t *testing.T) {
	const text = "whsec_0123456789abcdefghijklmnop"
	path := file(t)
	db := open(t, path, Options{})
	must(t, db.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return []catalogue.Configuration{{Provider: catalogue.Provider{Code: "KOWHAI",
			Destination: catalogue.Destination{URL: "https://hooks.example", Secret: text}}},
			{Provider: catalogue.Provider{Code: "TUI"}}}, nil, nil
	}))
	own, err := os.ReadFile(path + ".secret")
	must(t, err)
	if own = bytes.TrimSpace(own); len(own) != 64 || len(db.Secrets()) != 1 || !bytes.Equal(db.Secrets()[0], own) {
		t.Errorf("Secrets = %q, want the 64 digits of the file, %q", db.Secrets(), own)
	}
	for _, suffix := range []string{"", "-wal"} {
		if data, err := os.ReadFile(path + suffix); err != nil || bytes.Contains(data, []byte(text)) {
			t.Errorf("store%s has the signing secret in plain text, or %v", suffix, err)
		}
	}
	must(t, db.Close())
	for _, secrets := range [][][]byte{nil, {own}, {secret('b'), own}, {secret('b')}} {
		db := open(t, path, Options{Secrets: secrets})
		if got := signing(t, db); got != text {
			t.Errorf("under %d secrets the signing secret is %q", len(secrets), got)
		}
		must(t, db.Close())
	}
	openFails(t, path, Options{}, "encrypted under another secret")
	must(t, os.Remove(path+".secret"))
	openFails(t, path, Options{}, "put it back")
	if _, err := os.Stat(path + ".secret"); err == nil {
		t.Error("a secret was made that decrypts nothing")
	}
}

func TestAReadOnlyStoreNeedsNoSecretAndWritesNothing(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{Secrets: [][]byte{secret('a')}})
	k := addKey(t, db, "one")
	must(t, db.Close())
	before, err := os.ReadFile(path)
	must(t, err, os.Chmod(path, 0o400), os.Chmod(filepath.Dir(path), 0o500))
	reader := open(t, path, Options{ReadOnly: true})
	hasKey(t, reader, k)
	if reader.Secrets() != nil {
		t.Errorf("Secrets = %q", reader.Secrets())
	}
	unchanged := func(all []catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return all, nil, nil
	}
	for what, err := range map[string]error{
		"Ready": reader.Ready(t.Context()), "Scrub": reader.Scrub(t.Context()), "ReplaceProviders": reader.ReplaceProviders(t.Context(), unchanged),
		"AddKey": reader.AddKey(t.Context(), catalogue.Key{ID: "two"}, checkout.Act{}),
	} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("%s: got error %v, want that the store is read only", what, err)
		}
	}
	must(t, reader.Close(), os.Chmod(filepath.Dir(path), 0o700))
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file was changed: %v", err)
	}
}

func TestFilesThatCannotBeOpenedAreNamed(t *testing.T) {
	path := file(t)
	must(t, open(t, path, Options{}).Close(), os.Mkdir(path+"-wal", 0o700))
	for _, o := range []Options{{}, {ReadOnly: true}} {
		openFails(t, path, o, "the log beside it (-wal, -shm), cannot be opened")
	}
}

// SQLite takes the log that it finds beside a file for the log of that file.
func TestTheLogOfAnotherFileIsNotTaken(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{Secrets: [][]byte{secret('a')}})
	k := addKey(t, db, "one")
	killed := filepath.Join(t.TempDir(), "store.db") // the files as a killed process leaves them
	move := func(from, to string) {
		text, err := os.ReadFile(from)
		must(t, err, os.WriteFile(to, text, 0o600))
	}
	move(path+"-wal", killed+"-wal")
	for _, o := range []Options{{}, {ReadOnly: true}} {
		openFails(t, killed, o, map[bool]string{false: "put the file back", true: "no such file"}[o.ReadOnly])
	}
	must(t, Backup(t.Context(), path, killed))
	openFails(t, killed, Options{}, "belongs to another file")
	must(t, os.Remove(killed))
	move(path, killed)
	hasKey(t, open(t, killed, Options{Secrets: [][]byte{secret('a')}}), k)
}

func TestNoReaderIsOfAFileThatReplacedTheStore(t *testing.T) {
	path := file(t)
	db := open(t, path, Options{})
	must(t, os.Rename(path, path+".away"), os.WriteFile(path, nil, 0o600))
	if _, err := db.Keys(t.Context()); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("Keys: got error %v, want ErrBusy", err)
	}
	must(t, os.Rename(path+".away", path))
	if _, err := db.Keys(t.Context()); err != nil {
		t.Errorf("Keys once the file is back: %v", err)
	}
}

// limitPages keeps the file from growing beyond a number of pages, of which SQLite says what it says of a full disk. It takes fewer than
// there are for as many as there are.
func limitPages(t *testing.T, db *DB, pages string) {
	t.Helper()
	must(t, db.exclusively(t.Context(), func(c *conn) error {
		_, err := c.exec(`PRAGMA max_page_count = ` + pages)
		return err
	}))
}
