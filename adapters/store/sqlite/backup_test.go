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
	if err := sqlite.Backup(t.Context(), path, out); err != nil {
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
	before, err := db.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "backup.db")
	if err := sqlite.Backup(t.Context(), path, out); err != nil {
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
	if err != nil || len(after) < len(before) {
		t.Errorf("the backup has %d keys, %v; want at least the %d from before it", len(after), err, len(before))
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
		{"no file", t.Context(), file(t), "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "backup.db")
			err := sqlite.Backup(tt.ctx, tt.from, out)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.from) {
				t.Errorf("Backup: %v, want an error about %s that says %q", err, tt.from, tt.says)
			}
			if left := names(t, filepath.Dir(out)); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
	t.Run("the name is taken", func(t *testing.T) {
		out := file(t)
		write(t, out, "precious")
		if err := sqlite.Backup(t.Context(), path, out); !errors.Is(err, fs.ErrExist) {
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
