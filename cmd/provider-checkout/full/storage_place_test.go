package full_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// fileFault takes the store's file away, and returns what brings it back. refused reports whether a command that is then given
// the store refuses it: it does where a file is missing, or cannot have the log beside it.
type fileFault func(t *testing.T, path string, round int) (back func(), refused bool)

// moved moves the file away, with its log and without, and back.
func (b suite) moved(t *testing.T) {
	all := [][]string{{""}, {"-wal"}, {"-shm"}, {"", "-wal", "-shm"}}
	b.away(t, 3, func(t *testing.T, path string, round int) (back func(), refused bool) {
		suffixes := all[round%len(all)]
		for _, s := range suffixes {
			must(t, os.Rename(path+s, path+".away"+s))
		}
		return func() {
			for _, s := range suffixes {
				must(t, os.Rename(path+".away"+s, path+s))
			}
		}, suffixes[0] != "-shm"
	})
}

// deleted deletes the file. Another name of it brings it back.
func (b suite) deleted(t *testing.T) {
	b.away(t, 1, func(t *testing.T, path string, _ int) (back func(), refused bool) {
		must(t, os.Link(path, path+".kept"))
		must(t, os.Remove(path))
		return func() { must(t, os.Rename(path+".kept", path)) }, true
	})
}

// replaced puts another file in the place of the file, as an operator may who has not stopped the server: a backup, a backup
// that was opened before, or an empty file.
func (b suite) replaced(t *testing.T) {
	b.away(t, 3, func(t *testing.T, path string, round int) (back func(), refused bool) {
		out := filepath.Join(t.TempDir(), "other.db")
		switch round % 3 {
		case 0:
			b.Run(t, "backup", "--store", "sqlite:"+path, "--out", out)
		case 1:
			b.Run(t, "backup", "--store", "sqlite:"+path, "--out", out)
			must(t, os.Link(path+".secret", out+".secret"))
			b.Run(t, "keys", "list", "--store", "sqlite:"+out)
		default:
			must(t, os.WriteFile(out, nil, 0o600))
		}
		must(t, os.Link(path, path+".kept"))
		must(t, os.Rename(out, path))
		return func() { must(t, os.Rename(path+".kept", path)) }, round%3 != 1
	})
}

// away takes the file away under load, round after round, and brings it back.
func (b suite) away(t *testing.T, usual int, take fileFault) {
	w := b.serveIn(t, t.TempDir())
	w.ready(t, true)
	w.begin(t, 20*time.Millisecond)
	var slowest time.Duration
	n := testlevel.Runs(t, usual)
	for round := range n {
		w.await(t, 20)
		back, refused := take(t, w.path, round)
		gone := time.Now()
		w.refusing(t)
		w.ready(t, false)
		w.polls(t)
		if refused {
			w.commands(t)
		}
		<-time.After(held)
		w.noneSince(t, gone, time.Now())
		back()
		slowest = max(slowest, w.ready(t, true))
	}
	w.await(t, 20)
	w.end(t)
	t.Logf("%d times: %s; the server was ready %v after the file was back at the latest", n, w.says(), slowest)
}

// commands checks that commands refuse the store in one line, and touch nothing.
func (w *storageWorld) commands(t *testing.T) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "backup.db")
	for _, args := range [][]string{{"keys", "list"}, {"backup", "--out", out}} {
		before := filesIn(t, filepath.Dir(w.path))
		cmd := w.Command(append(args, "--store", "sqlite:"+w.path)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || len(stdout) > 0 || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: %v, %q on stdout and %q on stderr; want exit 1 and one line on stderr", args, err, stdout, stderr.String())
		}
		if after := filesIn(t, filepath.Dir(w.path)); !slices.Equal(after, before) {
			t.Errorf("the folder has %q after %q, and had %q", after, args, before)
		}
	}
}

// filesIn returns the names of the files in a folder, except the files by which the server looks for room.
func filesIn(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".room-") {
			all = append(all, e.Name())
		}
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onAFullDisk fills the disk under load, and frees it again.
func (b suite) onAFullDisk(t *testing.T) {
	for range testlevel.Runs(t, 2) {
		folder := t.TempDir()
		if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size=32m", "tmpfs", folder).CombinedOutput(); err != nil {
			t.Fatalf("no disk can be mounted: %v, %s", err, said)
		}
		t.Cleanup(func() {
			if said, err := exec.Command("umount", folder).CombinedOutput(); err != nil {
				t.Errorf("%v, %s", err, said)
			}
		})
		b.fill(t, folder)
	}
}

func (b suite) fill(t *testing.T, folder string) {
	w := b.serveIn(t, folder)
	w.ready(t, true)
	ballast := filepath.Join(folder, "ballast")
	fillUp(t, ballast, 100<<10) // too little for the next confirms, before any has failed
	w.ready(t, false)
	must(t, os.Truncate(ballast, 0))
	fillUp(t, ballast, 512<<10)
	w.ready(t, true)
	w.begin(t, 50*time.Millisecond) // the disk must hold the log of the whole round
	w.refusing(t)
	w.ready(t, false)
	w.polls(t)
	<-time.After(held)
	w.refusing(t)
	w.ready(t, false)
	must(t, os.Remove(ballast))
	took := w.ready(t, true)
	w.await(t, 10)
	w.end(t)
	t.Logf("%s; the server was ready %v after the disk was freed", w.says(), took)
}

// fillUp fills the disk of a file, but for some bytes.
func fillUp(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	must(t, err)
	size := int64(0)
	for err == nil {
		var n int
		n, err = f.Write(make([]byte, 4096))
		size += int64(n)
	}
	must(t, errors.Join(f.Truncate(size-left), f.Close()))
}

// TestStores takes away from a server what its store is kept on, under load: the disk is full, the file is moved,
// deleted or replaced, or a store is restored from an older backup and life goes on. It compares all answers and deliveries
// with what is on record. On every change a few rounds are run; a long run says the number of each:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=20 go test -run 'TestStores/(full|moved|deleted|replaced)' -timeout 1h -v ./cmd/provider-checkout/full
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=50 go test -run TestStores/restored -timeout 2h -v ./cmd/provider-checkout/full
//
// A full disk needs root.
func TestStores(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("full", b.onAFullDisk)
	t.Run("moved", b.moved)
	t.Run("deleted", b.deleted)
	t.Run("replaced", b.replaced)
	t.Run("restored", func(t *testing.T) {
		t.Run("SQLite", b.restoredSQLite)
		t.Run("PostgreSQL", b.restoredPostgreSQL)
	})
}
