package full_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// TestPowerLoss has strace write down what the program does to files, and plays that to a model of a disk, which loses power at
// random moments: what was not synced is gone, or there in part. The files that are left make a store with everything that was
// acknowledged by then, and no file is half. The same holds no more where the syncs of the store or of the
// backup are left out: the test would see that. A long run has as many moments as it says:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=1000 go test -run TestPowerLoss -timeout 1h -v ./cmd/provider-checkout/full
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		testlevel.Missing(t, err)
	}
	p := &powerLoss{root: t.TempDir()}
	for _, name := range []string{"store", "kept"} {
		must(t, os.Mkdir(filepath.Join(p.root, name), 0o700))
	}
	in := func(names ...string) string { return filepath.Join(append([]string{p.root}, names...)...) }
	store, backup := in("store", "records.db"), in("kept", "backup.db")
	p.workload = newWorkload(t, built(t), "sqlite:"+store)
	p.verdicts.acceptAll = true
	before := p.read(t)
	served := p.traced(t, func(straced func(...string) *exec.Cmd) {
		s := serve(t, straced(serveArgs(p.place)...))
		c := apiclient.New(s.base, p.keys)
		var all sync.WaitGroup
		for range 4 {
			rng := newRand()
			all.Go(func() {
				for range 4 {
					if err := p.enrolments.begin().complete(t.Context(), c, rng); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		stopAll(t, s)
	})
	between := p.read(t)
	copied := p.traced(t, func(straced func(...string) *exec.Cmd) {
		if out, err := straced("backup", "--store", p.place, "--out", backup).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	for _, tt := range []struct {
		name   string
		before map[string][]byte
		calls  []fileCall
		forget string   // the syncs of files with this in their names do nothing
		whole  []string // files that are there in the end
	}{
		{"the server", before, served, "", []string{store, store + ".secret"}},
		{"a server without syncs", before, served, "records.db", nil},
		{"a backup", between, copied, "", []string{backup}},
		{"a backup without syncs", between, copied, "kept", []string{backup}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, tries := "", testlevel.Runs(t, 25)
			for n := 0; n < tries && (tt.forget == "" || found == ""); n++ {
				at, whole := p.moment(tt.calls), []string(nil)
				if n%5 == 0 {
					at, whole = len(tt.calls), tt.whole
				}
				if wrong := p.survives(t, tt.before, tt.calls[:at], tt.forget, whole); wrong != "" {
					if found = fmt.Sprintf("after %d of %d calls: %s", at, len(tt.calls), wrong); tt.forget == "" {
						t.Error(found)
					}
				}
			}
			t.Log(found)
			if tt.forget != "" && found == "" {
				t.Errorf("void: %d losses of power do no harm though nothing was synced", tries)
			}
		})
	}
}

type powerLoss struct {
	*workload
	root string
}

func (p *powerLoss) exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// read returns the files, by their names below the root.
func (p *powerLoss) read(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, folder := range []string{"store", "kept"} {
		entries, err := os.ReadDir(filepath.Join(p.root, folder))
		must(t, err)
		for _, e := range entries {
			name := filepath.Join(p.root, folder, e.Name())
			data, err := os.ReadFile(name)
			must(t, err)
			files[name] = data
		}
	}
	return files
}

// fileCall is a system call of the program that changes or syncs a file, or sends an answer.
type fileCall struct {
	name   string // openat, pwrite64 …
	paths  []string
	data   []byte
	number int64 // an offset or a length; -1 without one
	flags  string
}

var (
	unfinished = regexp.MustCompile(`^(\d+) +(.*) <unfinished \.\.\.>$`)
	resumed    = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)$`)
	finished   = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += (\d+)(.*)$`)
	described  = regexp.MustCompile(`(\d+)<((?:\\x[0-9a-f]{2})+)>`)
	quoted     = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})*)"`)
)

func unhex(text string) []byte {
	data, _ := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	return data
}

// traced returns what the program, which run runs under strace, does to files.
func (p *powerLoss) traced(t *testing.T, run func(func(...string) *exec.Cmd)) (calls []fileCall) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	run(func(args ...string) *exec.Cmd {
		cmd := p.Command(args...)
		traced := exec.Command("strace", append([]string{"-D", "-f", "-y", "-xx", "-s", "20000000", "-o", out, "-e",
			"trace=?open,openat,write,pwrite64,ftruncate,fsync,fdatasync,?rename,renameat,renameat2,linkat,?unlink,unlinkat", cmd.Path}, args...)...)
		traced.Env = cmd.Env
		return traced
	})
	var text []byte
	eventually(t, "strace has ended", func() bool {
		var err error
		text, err = os.ReadFile(out)
		return err == nil && bytes.Contains(text, []byte("+++ exited with"))
	})
	begun, open := map[string]string{}, map[string]string{} // by thread; by descriptor
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := unfinished.FindStringSubmatch(line); m != nil {
			begun[m[1]] = m[2]
			continue
		}
		if m := resumed.FindStringSubmatch(line); m != nil {
			line = m[1] + " " + begun[m[1]] + m[2]
		}
		if m := finished.FindStringSubmatch(line); m != nil {
			calls = append(calls, p.call(m[1], m[2], m[3], m[4], open)...)
		}
	}
	if len(calls) == 0 {
		t.Fatalf("void: strace shows nothing: %.500s", text)
	}
	return calls
}

// call returns a system call as far as it is about the files, or sends an answer.
func (p *powerLoss) call(name, args, result, more string, open map[string]string) []fileCall {
	c := fileCall{name: name, number: -1, flags: args}
	for _, q := range quoted.FindAllStringSubmatch(args, -1) {
		c.paths = append(c.paths, string(unhex(q[1])))
	}
	of := described.FindStringSubmatch(args)
	switch name {
	case "open", "openat":
		if of = described.FindStringSubmatch(result + more); of == nil {
			return nil
		}
		open[of[1]] = string(unhex(of[2]))
		c.paths = []string{open[of[1]]}
	case "linkat":
		if fd, ok := strings.CutPrefix(c.paths[0], "/proc/self/fd/"); ok {
			c.paths[0] = open[fd]
		}
	case "write", "pwrite64", "ftruncate", "fsync", "fdatasync":
		if of == nil {
			return nil
		}
		if len(c.paths) > 0 {
			c.data = []byte(c.paths[0])
		}
		c.paths = []string{string(unhex(of[2]))}
		if name == "pwrite64" || name == "ftruncate" {
			c.number, _ = strconv.ParseInt(strings.TrimSpace(args[strings.LastIndex(args, ",")+1:]), 10, 64)
		}
	}
	if !c.answers() && !slices.ContainsFunc(c.paths, func(path string) bool { return strings.HasPrefix(path, p.root) }) {
		return nil
	}
	return []fileCall{c}
}

// answers reports whether the call sends the answer to a request that changed something.
func (c fileCall) answers() bool {
	return c.name == "write" && bytes.HasPrefix(c.data, []byte("HTTP/1.1 20")) && bytes.Contains(c.data, []byte(`"checkout":{`))
}

// moment draws a moment, most often soon after an answer or a change of a name.
func (p *powerLoss) moment(calls []fileCall) int {
	at := 1 + p.rand.IntN(len(calls))
	for n := at; n < len(calls) && p.rand.IntN(4) > 0; n++ {
		if c := calls[n-1]; c.answers() || strings.HasPrefix(c.name, "rename") || strings.HasPrefix(c.name, "link") {
			return n
		}
	}
	return at
}

// disk is a model of a disk.
type disk struct {
	names, durable map[string]*inode // as programs see them; as they are after a loss of power
	forget         string
	at             map[string]int64 // of sequential writes
}

type inode struct {
	data, synced []byte
	unsynced     []func([]byte) []byte
}

func (f *inode) change(how func([]byte) []byte) {
	f.data, f.unsynced = how(f.data), append(f.unsynced, how)
}

// play makes a call.
func (d *disk) play(c fileCall) {
	if c.answers() || strings.HasSuffix(c.paths[0], "-shm") {
		return
	}
	path := c.paths[0]
	f := d.names[path]
	switch c.name {
	case "open", "openat":
		d.at[path] = 0
		if f == nil && strings.Contains(c.flags, "O_CREAT") || strings.Contains(c.flags, "O_TMPFILE") {
			d.names[path] = &inode{}
		} else if f != nil && strings.Contains(c.flags, "O_TRUNC") {
			f.change(func([]byte) []byte { return nil })
		}
	case "write", "pwrite64":
		offset := c.number
		if offset < 0 {
			offset = d.at[path]
			d.at[path] += int64(len(c.data))
		}
		if f != nil {
			f.change(func(was []byte) []byte {
				grown := append(slices.Clone(was), make([]byte, max(0, int(offset)+len(c.data)-len(was)))...)
				copy(grown[offset:], c.data)
				return grown
			})
		}
	case "ftruncate":
		f.change(func(was []byte) []byte {
			return append(slices.Clone(was), make([]byte, max(0, int(c.number)-len(was)))...)[:c.number]
		})
	case "fsync", "fdatasync":
		d.sync(path, f)
	case "linkat", "rename", "renameat", "renameat2":
		to := c.paths[len(c.paths)-1]
		if d.names[to] = f; c.name != "linkat" {
			delete(d.names, path)
		}
	case "unlink", "unlinkat":
		delete(d.names, path)
	}
}

// sync has a file on the disk, with its name if it is new, or the names of a folder.
func (d *disk) sync(path string, f *inode) {
	switch {
	case d.forget != "" && strings.Contains(path, d.forget):
	case f != nil:
		f.synced, f.unsynced = f.data, nil
		if d.durable[path] == nil {
			d.durable[path] = f
		}
	default:
		for name := range maps.Keys(d.durable) {
			if filepath.Dir(name) == path && d.names[name] == nil {
				delete(d.durable, name)
			}
		}
		for name, f := range d.names {
			if filepath.Dir(name) == path {
				d.durable[name] = f
			}
		}
	}
}

// lose returns the files that are left after a loss of power: of what was not synced nothing, everything, or a part.
func (d *disk) lose(r *rand.Rand) map[string][]byte {
	names, left := d.durable, map[string][]byte{}
	if r.IntN(2) == 0 {
		names = d.names
	}
	for name, f := range names {
		left[name] = f.synced
		luck := r.IntN(3)
		for _, change := range f.unsynced {
			if luck == 2 || luck == 1 && r.IntN(2) == 0 {
				left[name] = change(left[name])
			}
		}
	}
	return left
}

// survives loses power after some calls, and returns what is wrong with the files that are left.
func (p *powerLoss) survives(t *testing.T, before map[string][]byte, calls []fileCall, forget string, whole []string) (wrong string) {
	t.Helper()
	d := &disk{names: map[string]*inode{}, durable: map[string]*inode{}, forget: forget, at: map[string]int64{}}
	for name, data := range before {
		d.names[name] = &inode{data: data, synced: data}
		d.durable[name] = d.names[name]
	}
	acknowledged := map[string]string{} // the status of a checkout
	for _, c := range calls {
		d.play(c)
		if !c.answers() {
			continue
		}
		_, body, _ := bytes.Cut(c.data, []byte("\r\n\r\n"))
		answer, err := apiclient.ParseObject(body)
		must(t, err)
		if id := answer.Text("checkout.id"); id != "" {
			acknowledged[id] = "confirmed"
		} else if id := answer.Text("checkout.checkout_id"); acknowledged[id] == "" {
			acknowledged[id] = "direct_debit_setup_required"
		}
	}
	folder := t.TempDir()
	for name, data := range d.lose(p.rand) {
		to := filepath.Join(folder, strings.TrimPrefix(name, p.root))
		must(t, os.MkdirAll(filepath.Dir(to), 0o700))
		if !strings.Contains(filepath.Base(name), "#") { // a file without a name
			must(t, os.WriteFile(to, data, 0o600))
		}
	}
	store := "sqlite:" + filepath.Join(folder, "store", "records.db")
	for _, name := range whole {
		if _, err := os.Stat(filepath.Join(folder, strings.TrimPrefix(name, p.root))); err != nil {
			return err.Error()
		}
	}
	args := []string{"agreements", "verify", "--all", "--store", store}
	if out, err := p.Command(args...).CombinedOutput(); err != nil {
		return fmt.Sprintf("%q: %v: %s", args, err, out)
	}
	if copied := filepath.Join(folder, "kept", "backup.db"); p.exists(copied) {
		if out, err := p.Command("export", "--store", "sqlite:"+copied).CombinedOutput(); err != nil || !strings.Contains(string(out), `"kind":"agreement"`) {
			return fmt.Sprintf("%s: %v: %.500s", copied, err, out)
		}
	}
	out, err := p.Command("export", "--store", store).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("export: %v: %.500s", err, out)
	}
	for id, status := range acknowledged {
		on := regexp.MustCompile(`"kind":"checkout"[^\n]*"checkout_id":"` + regexp.QuoteMeta(id) + `"[^\n]*`).FindString(string(out))
		if on == "" || status == "confirmed" && !strings.Contains(on, `"confirmed"`) {
			return fmt.Sprintf("%s was acknowledged as %s, and is on record as %q", id, status, on)
		}
	}
	return ""
}
