package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/ports"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// openedBackup returns a backup that was opened since, so that it says that it has a log while it is open.
func openedBackup(t *testing.T, path string) (out string) {
	t.Helper()
	out = backedUp(t, path)
	write(t, out+".secret", read(t, path+".secret"))
	db, err := sqlite.Open(t.Context(), out, sqlite.Options{})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A log that stands beside another file than its own would be copied into that and deleted, and with it what was
// acknowledged.
func TestNothingIsOpenedBesideTheLogOfAnotherFile(t *testing.T) {
	holding := func(content string) func(t *testing.T, _ string) string {
		return func(t *testing.T, _ string) string {
			out := file(t)
			write(t, out, content)
			return out
		}
	}
	for _, tt := range []struct {
		name    string
		missing string // of store.db, which one is moved away
		instead func(t *testing.T, path string) string
		says    string
	}{
		{"the file is replaced by an empty one", "", holding(""), "may have its latest writes: put that file back"},
		{"the file is replaced by a text", "", holding(strings.Repeat("not a database\n", 500)), "may have its latest writes: put that file back"},
		{"the file is replaced by a backup", "", backedUp, "may have its latest writes: put that file back"},
		{"the log is missing", "-wal", nil, "-wal, with the latest writes, is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := file(t)
			db := open(t, path, sqlite.Options{})
			want := addKey(t, db, "one")
			instead := ""
			if tt.instead != nil {
				instead = tt.instead(t, path)
			}
			rename(t, path+tt.missing, path+".away")
			contents := func() (all []string) {
				for _, name := range names(t, filepath.Dir(path)) {
					if !strings.HasSuffix(name, "-shm") {
						all = append(all, name, read(t, filepath.Join(filepath.Dir(path), name)))
					}
				}
				return all
			}
			if instead != "" {
				rename(t, instead, path)
			}
			before := contents()
			openFails(t, path, sqlite.Options{}, tt.says)
			openFails(t, path, sqlite.Options{ReadOnly: true}, tt.says)
			if err := sqlite.Backup(t.Context(), path, filepath.Join(t.TempDir(), "backup.db")); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Backup: %v, want an error that says %q", err, tt.says)
			}
			if after := contents(); !slices.Equal(after, before) {
				t.Error("the files were changed")
			}
			rename(t, path+".away", path+tt.missing)
			addKey(t, db, "two")
			if got, err := open(t, path, sqlite.Options{}).Key(t.Context(), want.Hash); err != nil || got != want {
				t.Errorf("Key = %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// Left where it was, the log would be missing when the file is put back, and be beside the file that has its place.
func TestAStoreThatIsClosedTakesItsLogAlongWhereItsFileWasMoved(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	want := addKey(t, db, "one")
	instead := openedBackup(t, path)
	addKey(t, db, "two")
	moved := filepath.Join(t.TempDir(), "moved.db")
	rename(t, path, moved)
	rename(t, instead, path)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if log := read(t, path+"-wal"); log != "" {
		t.Errorf("the log that stays has %d bytes, want none", len(log))
	}
	if got, err := open(t, moved, under(db.Secrets()...)).Key(t.Context(), want.Hash); err != nil || got != want {
		t.Errorf("Key = %+v, %v; want %+v", got, err, want)
	}
	for name, want := range map[string]int{moved: 2, path: 1} {
		if keys, err := open(t, name, under(db.Secrets()...)).Keys(t.Context()); err != nil || len(keys) != want {
			t.Errorf("%s has %d keys, %v; want %d", name, len(keys), err, want)
		}
	}
}

// A process that ends while the disk is full leaves a file into which a part of the log was copied. Only the two together are whole.
func TestAFileIsOpenedAfterTheDiskWasFullAmidACheckpoint(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	want := addKey(t, db, "one")
	log := read(t, path+"-wal")
	execute(t, shell(t, path), `PRAGMA wal_checkpoint(PASSIVE)`)
	half := filepath.Join(t.TempDir(), "half.db")
	for suffix, content := range map[string]string{"": read(t, path)[:3*4096], "-wal": log, ".secret": read(t, path+".secret")} {
		write(t, half+suffix, content)
	}
	if got, err := open(t, half, sqlite.Options{}).Key(t.Context(), want.Hash); err != nil || got != want {
		t.Errorf("Key = %+v, %v; want %+v", got, err, want)
	}
}

func TestAFileIsWrittenAnewAtItsPlaceOnly(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	addKey(t, db, "one")
	instead := backedUp(t, path)
	rename(t, path, path+".away")
	rename(t, instead, path)
	before := read(t, path)
	if err := db.Scrub(t.Context()); !errors.Is(err, ports.ErrBusy) || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("Scrub: %v, want ErrBusy that says that the file was replaced", err)
	}
	if read(t, path) != before {
		t.Error("Scrub changed the other file")
	}
	rename(t, path+".away", path)
	if err := db.Scrub(t.Context()); err != nil {
		t.Errorf("Scrub after the file is back: %v", err)
	}
}

// What was deleted stands in the log until that is emptied.
func TestScrubEmptiesTheLog(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	addKey(t, db, "one")
	if log := read(t, path+"-wal"); log == "" {
		t.Fatal("void: nothing is in the log")
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := read(t, path+"-wal"); log != "" {
		t.Errorf("the log has %d bytes, want none", len(log))
	}
}
