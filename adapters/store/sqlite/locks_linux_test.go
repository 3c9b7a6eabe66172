package sqlite

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A process loses every POSIX lock on a file when it closes any descriptor of the file. A host may have the file of its store
// open by itself, too.
func TestALookAtAFileDropsNoLockOfTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	host, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if _, err := host.Exec(`CREATE TABLE hosts (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	type lock struct{ start, length int64 } // of bytes, as SQLite's file format has them
	locks := map[string]lock{path: {0x40000002, 510}, path + "-shm": {128, 1}}
	files := make(map[string]*os.File) // which are open until the end, so that this test drops no lock either
	for name := range locks {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[name] = f
	}
	for _, look := range []struct {
		name string
		look func() error
	}{
		{"Open", func() error {
			db, err := Open(t.Context(), path, Options{})
			if err == nil {
				err = db.Close()
			}
			return err
		}},
		{"Backup", func() error { return Backup(t.Context(), path, filepath.Join(t.TempDir(), "backup.db")) }},
	} {
		if err := look.look(); err != nil {
			t.Fatalf("%s: %v", look.name, err)
		}
		for name, l := range locks {
			// As an open file description's own, the question is also about the locks of this process.
			held := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: l.start, Len: l.length}
			const getOFD = 36 // F_OFD_GETLK
			if err := syscall.FcntlFlock(files[name].Fd(), getOFD, &held); err != nil {
				t.Fatal(err)
			}
			if held.Type == syscall.F_UNLCK {
				t.Errorf("after %s no lock of the host is on %s", look.name, filepath.Base(name))
			}
		}
	}
}
