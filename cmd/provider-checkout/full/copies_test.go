package full_test

import (
	"bytes"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// copyWorld is a store that takes a while to copy, with the folders where copies may stay.
type copyWorld struct {
	suite
	store, out, temporary string
}

func newCopyWorld(t *testing.T) copyWorld {
	t.Helper()
	w := copyWorld{newSuite(t), filepath.Join(t.TempDir(), "records.db"), t.TempDir(), t.TempDir()}
	workload.Configure(t, w.Binary, "sqlite:"+w.store, sandbox.NewReceiver(t).URL)
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

// command returns a command whose temporary files are in a folder of their own.
func (w copyWorld) command(stdin []byte, args ...string) *exec.Cmd {
	cmd := w.Command(args...)
	cmd.Env = append(cmd.Env, "TMPDIR="+w.temporary, "PROVIDER_CHECKOUT_OPERATOR=test")
	cmd.Stdin = bytes.NewReader(stdin)
	return cmd
}

// left returns the files in a folder, and removes them.
func left(t *testing.T, folder string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		files = append(files, e.Name())
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A backup or a restore that is killed leaves no copy of students' data anywhere.
func TestKilledCopiesLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newCopyWorld(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	w.Run(t, "backup", "--store", "sqlite:"+w.store, "--out", backup)
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(w.store + ".secret")
	if err != nil {
		t.Fatal(err)
	}
	place, copied := "sqlite:"+filepath.Join(w.out, "restored.db"), filepath.Join(w.out, "copy.db")
	for _, tt := range []struct {
		name  string
		stdin []byte
		args  []string
	}{
		{"backup", nil, []string{"backup", "--store", "sqlite:" + w.store, "--out", copied}},
		{"backup to standard output", nil, []string{"backup", "--store", "sqlite:" + w.store, "--out", "-"}},
		{"restore", nil, []string{"restore", "--store", place, "--in", backup}},
		{"restore from standard input", whole, []string{"restore", "--store", place, "--in", "-"}},
	} {
		put := func() {
			if tt.name[0] == 'r' {
				if err := os.WriteFile(filepath.Join(w.out, "restored.db.secret"), secret, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		put()
		began := time.Now()
		if out, err := w.command(tt.stdin, tt.args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %.500s", tt.name, err, out)
		}
		took := time.Since(began)
		_, kills := left(t, w.out), 0
		for range testlevel.Runs(t, 40) {
			put()
			cmd := w.command(tt.stdin, tt.args...)
			began := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Duration(rand.Int64N(int64(took)/2 + 1)))
			_ = cmd.Process.Kill()
			if cmd.Wait() != nil {
				kills++
			} else { // the machine has less to do now
				took = min(took, time.Since(began))
			}
			files := slices.DeleteFunc(append(left(t, w.out), left(t, w.temporary)...), func(name string) bool {
				return name == "copy.db" || strings.HasPrefix(name, "restored.db") // whole, named, and opened by then
			})
			if len(files) > 0 {
				t.Errorf("a %s that was killed leaves %q", tt.name, files)
			}
		}
		if kills < 5 {
			t.Errorf("void: %d of the runs of %s were killed", kills, tt.name)
		}
	}
}
