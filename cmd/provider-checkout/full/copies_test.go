package full_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// copyWorld is a store that takes a while to copy, with the folders where copies may stay.
type copyWorld struct {
	suite
	store, out, temporary string
}

func newCopyWorld(t *testing.T) copyWorld {
	t.Helper()
	w := copyWorld{newSuite(t), filepath.Join(t.TempDir(), "records.db"), t.TempDir(), t.TempDir()}
	configure(t, w.Binary, "sqlite:"+w.store, sandbox.NewReceiver(t).URL)
	db, err := sql.Open("sqlite", "file:"+w.store)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{`CREATE TABLE ballast (bytes BLOB)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 60) INSERT INTO ballast SELECT randomblob(1000000) FROM n`} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// backup returns the command that copies the store. Its temporary files are in a folder of their own.
func (w copyWorld) backup(to string) *exec.Cmd {
	cmd := w.Command("backup", "--store", "sqlite:"+w.store, "--out", to)
	cmd.Env = append(cmd.Env, "TMPDIR="+w.temporary)
	return cmd
}

// A backup that is killed leaves no copy of students' data under the name that it was to get, unless that is whole. What it leaves under
// a temporary name is its owner's alone, and goes with the first backup of the next hour.
func TestKilledCopiesLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newCopyWorld(t)
	copied := filepath.Join(w.out, "copy.db")
	began := time.Now()
	if out, err := w.backup(copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	took, kills, partial := time.Since(began), 0, 0
	for range testlevel.Runs(t, 40) {
		if err := os.Remove(copied); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		cmd := w.backup(copied)
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(rand.Int64N(int64(took) + 1)))
		_ = cmd.Process.Kill()
		if cmd.Wait() != nil {
			kills++
		} else { // the machine has less to do now
			took = min(took, time.Since(began))
		}
		partial += w.checkLeft(t)
	}
	if kills < 5 || partial == 0 {
		t.Errorf("void: %d of the backups were killed, and %d left a part", kills, partial)
	}
	_ = os.Remove(copied)
	if out, err := w.backup(copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	if got := ownersAlone(t, w.out); got != "copy.db" {
		t.Errorf("a backup an hour later leaves %s", got)
	}
}

// checkLeft judges the files that a backup has left, makes the parts of it an hour older, and returns their number.
func (w copyWorld) checkLeft(t *testing.T) (partial int) {
	t.Helper()
	if got := ownersAlone(t, w.temporary); got != "" {
		t.Errorf("a backup leaves the temporary files %s", got)
	}
	for name := range strings.FieldsSeq(ownersAlone(t, w.out)) {
		path := filepath.Join(w.out, name)
		switch {
		case name == "copy.db":
			checkIntact(t, path)
		case !strings.Contains(name, ".partial"):
			t.Errorf("a backup leaves %s", name)
		default:
			partial++
			then := time.Now().Add(-2 * time.Hour)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
		}
	}
	return partial
}
