package full_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"errors"
	"fmt"
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
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Duration(rand.Int64N(int64(took) / 2)))
			_ = cmd.Process.Kill()
			if cmd.Wait() != nil {
				kills++
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

// After a loss of power, all that was not synced is gone: no name may lead to a file before its contents are on the disk, and no
// command may end before the names of its files are.
func TestFilesOutlastALossOfPower(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		testlevel.Missing(t, err)
	}
	b := newSuite(t)
	folder := t.TempDir()
	store, in := "sqlite:"+filepath.Join(folder, "records.db"), func(name string) string { return filepath.Join(folder, name) }
	served := traced(t, b.Command("serve", "--store", store, "--addr", "127.0.0.1:0", "--checkpoint-file", in("checkpoint")), "checkpoint")
	served.wants(t, in("records.db.secret"), in("records.db.evidence"), in("checkpoint"))
	traced(t, b.Command("backup", "--store", store, "--out", in("backup.db")), "").wants(t, in("backup.db"))
	if err := os.Rename(in("records.db.secret"), in("backup.db.secret")); err != nil {
		t.Fatal(err)
	}
	restored := b.Command("restore", "--store", "sqlite:"+in("restored.db"), "--in", in("backup.db"))
	restored.Env = append(restored.Env, "PROVIDER_CHECKOUT_OPERATOR=test")
	traced(t, restored, "").wants(t, in("restored.db"), in("restored.db.secret"))
}

// synced is the state of a disk by the system calls of a program: the files that were written and not synced, and the names that
// were given and not synced with their folders.
type synced struct {
	open    map[string]string // path or place of the file of a descriptor
	dirty   map[string]bool
	unnamed map[string]bool // names that a loss of power would take
	named   map[string]bool
	faults  []string
}

// traced runs a command under strace to its end, or until a file is there, and returns the state of the disk then.
func traced(t *testing.T, cmd *exec.Cmd, until string) synced {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	cmd.Args = append([]string{"strace", "-D", "-f", "-s", "4096", "-o", log, "-e",
		"trace=openat,close,write,pwrite64,copy_file_range,ftruncate,fsync,fdatasync,linkat,renameat,renameat2,unlinkat"}, cmd.Args...)
	program, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = program
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if until != "" {
		eventually(t, "the file is written: "+until, func() bool {
			_, err := os.Stat(filepath.Join(filepath.Dir(strings.TrimPrefix(cmd.Args[len(cmd.Args)-1], "sqlite:")), until))
			return err == nil
		})
		_ = cmd.Process.Signal(os.Interrupt)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%q: %v: %s", cmd.Args, err, said.String())
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	d := synced{map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, nil}
	begun := map[string]string{} // the first half of the calls of threads that another has interrupted
	for line := range strings.Lines(string(text)) {
		thread, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		call = strings.TrimSpace(call)
		if half, interrupted := strings.CutSuffix(call, "<unfinished ...>"); interrupted {
			begun[thread] = half
			continue
		}
		if rest, resumed := strings.CutPrefix(call, "<... "); resumed {
			_, rest, _ = strings.Cut(rest, " resumed>")
			call = begun[thread] + rest
		}
		d.apply(call)
	}
	return d
}

// apply changes the state by one call that succeeded.
func (d *synced) apply(call string) {
	name, rest, ok := strings.Cut(call, "(")
	end := strings.LastIndex(rest, " = ")
	if !ok || end < 0 || strings.HasPrefix(rest[end+3:], "-") {
		return
	}
	args, result := strings.TrimRight(rest[:end], " )"), strings.Fields(rest[end+3:])[0]
	descriptor, _, _ := strings.Cut(args, ",")
	var paths []string
	for i, part := range strings.Split(args, `"`) {
		if i%2 == 1 {
			paths = append(paths, part)
		}
	}
	switch name {
	case "openat":
		d.open[result] = paths[0]
		if strings.Contains(args, "O_TMPFILE") {
			d.open[result] = fmt.Sprintf("without a name, %d of %s", len(d.dirty), paths[0])
		}
		if strings.Contains(args, "O_CREAT") || strings.Contains(args, "O_TMPFILE") {
			d.dirty[d.open[result]] = true
		}
	case "write", "pwrite64", "ftruncate":
		d.dirty[d.open[descriptor]] = true
	case "copy_file_range":
		d.dirty[d.open[strings.TrimSpace(strings.Split(args, ",")[2])]] = true
	case "fsync", "fdatasync":
		d.dirty[d.open[descriptor]] = false
		for path := range d.unnamed {
			if filepath.Dir(path) == filepath.Clean(d.open[descriptor]) {
				delete(d.unnamed, path)
			}
		}
	case "linkat", "renameat", "renameat2":
		from := cmp.Or(d.open[strings.TrimPrefix(paths[0], "/proc/self/fd/")], paths[0])
		if d.dirty[from] {
			d.faults = append(d.faults, paths[1]+" gets its name before its contents are on the disk")
		}
		d.dirty[paths[1]] = d.dirty[from]
		d.unnamed[paths[1]], d.named[paths[1]] = true, true
		delete(d.unnamed, paths[0])
	}
}

// wants checks that the files have got their names, and that all of them would outlast a loss of power.
func (d synced) wants(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		if !d.named[file] {
			t.Errorf("void: %s gets no name", file)
		}
	}
	for _, fault := range d.faults {
		t.Error(fault)
	}
	for path := range d.unnamed {
		t.Errorf("the name %s is not on the disk", path)
	}
}
