package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// names returns the names of the files in a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// backedUp returns a backup of the store, alone in a folder of its own.
func backedUp(t *testing.T, path string) (out string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "backup.db")
	if _, err := sqlite.Backup(t.Context(), path, out); err != nil {
		t.Fatalf("Backup: %v", err)
	}
	return out
}

func TestBackupHasWhatWasAcknowledgedBefore(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	configure(t, db)
	stop, began := make(chan struct{}), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { // while the copy is made, too
		for i := 0; ; i++ {
			addKey(t, db, fmt.Sprint("key ", i))
			select {
			case <-stop:
				return
			default:
			}
			if i == 300 {
				close(began)
			}
		}
	})
	<-began
	defer writing.Wait()
	defer close(stop)
	for range 20 { // each has what it reports, though more is written between the count and the copy
		backedUp(t, path)
	}
	before, err := db.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "backup.db")
	contents, err := sqlite.Backup(t.Context(), path, out)
	if err != nil {
		t.Fatalf("Backup: %v", err)
	}
	if got := names(t, filepath.Dir(out)); len(got) != 1 {
		t.Errorf("the folder of the backup has %q, want the backup alone", got)
	}
	if info, err := os.Stat(out); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode of the backup = %v, %v; want 0600", info.Mode(), err)
	}
	write(t, out+".secret", string(db.Secrets()[0]))
	copied := open(t, out, sqlite.Options{})
	decrypts(t, copied)
	after, err := copied.Keys(t.Context())
	if err != nil || len(after) != contents.Keys || len(after) < len(before) {
		t.Errorf("the backup has %d keys, %v; want the %d of its report, and at least the %d from before it", len(after), err, contents.Keys, len(before))
	}
}

func TestBackupOfAStoreThatNobodyHasOpen(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	want := addKey(t, db, "one")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := names(t, filepath.Dir(path))
	out := backedUp(t, path)
	if after := names(t, filepath.Dir(path)); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the folder of the store has %q, and had %q", after, before)
	}
	if got, err := open(t, out, under(db.Secrets()...)).Key(t.Context(), want.Hash); err != nil || got != want {
		t.Errorf("Key = %+v, %v; want %+v", got, err, want)
	}
}

func TestBackupThatFailsLeavesNoFile(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	for i := range 200 {
		addKey(t, db, fmt.Sprint("key ", i))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	damaged := file(t)
	if err := errors.Join(os.Rename(backedUp(t, path), damaged), damage(damaged)); err != nil {
		t.Fatal(err)
	}
	text := file(t)
	write(t, text, strings.Repeat("not a database\n", 500))
	foreign := file(t)
	execute(t, shell(t, foreign), `CREATE TABLE notes (text TEXT)`)
	orphaned := file(t)
	if err := os.Rename(backedUp(t, path), orphaned); err != nil {
		t.Fatal(err)
	}
	execute(t, shell(t, orphaned), `INSERT INTO documents VALUES ('KOWHAI', 'PPA-1', 'd', x'00', x'00')`)
	for _, tt := range []struct {
		name string
		ctx  context.Context
		from string
		says string
	}{
		{"given up", ended, path, "canceled"},
		{"damaged", t.Context(), damaged, "damaged"},
		{"no database", t.Context(), text, "not a SQLite database"},
		{"another's database", t.Context(), foreign, "not of Provider Checkout"},
		{"rows without those that they refer to", t.Context(), orphaned, "refer to rows that are not there"},
		{"no file", t.Context(), file(t), "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "backup.db")
			contents, err := sqlite.Backup(tt.ctx, tt.from, out)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.from) {
				t.Errorf("Backup = %+v, %v; want an error about %s that says %q", contents, err, tt.from, tt.says)
			}
			if left := names(t, filepath.Dir(out)); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
	t.Run("the name is taken", func(t *testing.T) {
		out := file(t)
		write(t, out, "precious")
		if _, err := sqlite.Backup(t.Context(), path, out); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Backup over a file: got error %v, want ErrExist", err)
		}
		if text, err := os.ReadFile(out); string(text) != "precious" {
			t.Errorf("the file has %q, %v", text, err)
		}
	})
}

// damage overwrites the last page of a file.
func damage(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	copy(data[len(data)-4096:], strings.Repeat("\xa5", 4096))
	return os.WriteFile(path, data, 0o600)
}

func TestRestore(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{Environment: catalogue.Sandbox})
	configure(t, db)
	want := addKey(t, db, "one")
	secret := db.Secrets()[0]
	withSecret := func(t *testing.T, beside string, secret []byte) string {
		t.Helper()
		write(t, beside+".secret", string(append(secret, '\n')))
		return beside
	}
	for _, tt := range []struct {
		name    string
		backup  func(t *testing.T) string
		place   func(t *testing.T) string
		secrets [][]byte
		fails   string // says; "" if it does not
	}{
		{"with the secret beside the backup", func(t *testing.T) string { return withSecret(t, backedUp(t, path), secret) }, file, nil, ""},
		{"with the secret beside the store", func(t *testing.T) string { return backedUp(t, path) },
			func(t *testing.T) string { return withSecret(t, file(t), secret) }, nil, ""},
		{"with the operator's secret", func(t *testing.T) string { return backedUp(t, path) }, file, [][]byte{secret}, ""},
		{"without a secret", func(t *testing.T) string { return backedUp(t, path) }, file, nil, ".secret is there"},
		{"with another's secret", func(t *testing.T) string { return withSecret(t, backedUp(t, path), []byte(strings.Repeat("x", 32))) }, file, nil,
			"encrypted under another secret"},
		{"over a store", func(t *testing.T) string { return backedUp(t, path) }, func(t *testing.T) string { return path }, [][]byte{secret}, "live store"},
		{"beside the log of another", func(t *testing.T) string { return backedUp(t, path) }, func(t *testing.T) string {
			other := file(t)
			write(t, other+"-wal", "log")
			return other
		}, [][]byte{secret}, "-wal is there"},
		{"a damaged backup", func(t *testing.T) string {
			out := backedUp(t, path)
			if err := damage(out); err != nil {
				t.Fatal(err)
			}
			return out
		}, file, [][]byte{secret}, "damaged"},
		{"a backup of a program that is much newer", func(t *testing.T) string {
			out := backedUp(t, path)
			execute(t, shell(t, out), `INSERT INTO provider_checkout_schema SELECT max(version) + n, '' FROM provider_checkout_schema, (SELECT 1 AS n UNION SELECT 2) GROUP BY n`)
			return out
		}, file, [][]byte{secret}, "run the newer program"},
		{"a backup of a development version", func(t *testing.T) string {
			out := backedUp(t, path)
			execute(t, shell(t, out), `DROP TABLE provider_checkout_schema`)
			return out
		}, file, [][]byte{secret}, "a development version made this store"},
		{"no backup", file, file, [][]byte{secret}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			backup, place := tt.backup(t), tt.place(t)
			before := names(t, filepath.Dir(place))
			contents, err := sqlite.Restore(t.Context(), backup, place, tt.secrets)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("Restore = %+v, %v; want an error that says %q", contents, err, tt.fails)
				}
				if after := names(t, filepath.Dir(place)); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("the folder has %q, and had %q", after, before)
				}
				return
			}
			if err != nil || contents.Keys != 1 {
				t.Fatalf("Restore = %+v, %v; want one key", contents, err)
			}
			for _, name := range names(t, filepath.Dir(place)) {
				if info, err := os.Stat(filepath.Join(filepath.Dir(place), name)); err != nil || info.Mode() != 0o600 {
					t.Errorf("mode of %s = %v, %v; want 0600", name, info.Mode(), err)
				}
			}
			again := open(t, place, sqlite.Options{Environment: catalogue.Sandbox, Secrets: tt.secrets})
			decrypts(t, again)
			if got, err := again.Key(t.Context(), want.Hash); err != nil || got != want {
				t.Errorf("Key = %+v, %v; want %+v", got, err, want)
			}
		})
	}
}
