// Package mutants_test plants bugs in the product, one at a time, and has the tests find each. All of them:
//
//	PROVIDER_CHECKOUT_TEST_RUNS=1 go test -timeout 5h -v -run TestEveryBugIsCaught ./cmd/provider-checkout/mutants
//
// and one or a few by their numbers: -run 'TestEveryBugIsCaught/^(12|34)$'. Nothing is written into the folder of the module: the
// compiler is told to read other files in the place of the changed ones (go help build, -overlay).
package mutants_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// mutant is a bug: a change of one place in one file. The tests that must fail with it are in some packages, at the quick level
// unless the first word is "full".
type mutant struct {
	bug      string
	file     string
	old, new string
	tests    string // [full] packages… [-run pattern]
}

func all() []mutant {
	bugs := slices.Concat(faults(), terms(), planted(), simulated())
	for _, b := range surface() {
		bugs = append(bugs, b.mutant)
	}
	return bugs
}

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	folder, err := testlevel.Root()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// applied returns the text of the file with the bug.
func (m mutant) applied(text string) (string, error) {
	switch n := strings.Count(text, m.old); {
	case n != 1:
		return "", fmt.Errorf("%s: the text that %q changes is found %d times, want once: plant the bug in the code as it is now:\n%s", m.file, m.bug, n, m.old)
	case m.old == m.new:
		return "", fmt.Errorf("%s: %q changes nothing", m.file, m.bug)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

// A bug that can no longer be planted proves nothing. All are planted together, in as many rounds as places in common need, and
// must compile.
func TestEveryBugCanBePlanted(t *testing.T) {
	folder := root(t)
	rounds := []map[string]string{}
	for i, m := range all() {
		text, err := os.ReadFile(filepath.Join(folder, m.file))
		if err != nil {
			t.Errorf("%d: %v", i+1, err)
			continue
		}
		if _, err := m.applied(string(text)); err != nil {
			t.Errorf("%d: %v", i+1, err)
			continue
		}
		round := slices.IndexFunc(rounds, func(files map[string]string) bool {
			planted, changed := files[m.file]
			return !changed || strings.Count(planted, m.old) == 1
		})
		if round < 0 {
			round, rounds = len(rounds), append(rounds, map[string]string{})
		}
		planted, changed := rounds[round][m.file]
		if !changed {
			planted = string(text)
		}
		rounds[round][m.file] = strings.Replace(planted, m.old, m.new, 1)
	}
	if !testlevel.IsFull() || t.Failed() {
		return
	}
	for _, files := range rounds {
		if out, err := goTool(t, folder, overlay(t, folder, files), "build", "./...").CombinedOutput(); err != nil {
			t.Errorf("planted together, the bugs do not compile: %v\n%s", err, out)
		}
	}
}

func TestEveryBugIsCaught(t *testing.T) {
	if !testlevel.IsLong() {
		t.Skip("only in a long run: see the top of this file")
	}
	folder, sound := root(t), map[string]bool{}
	for i, m := range all() {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			if !sound[m.tests] {
				by, err := m.caught(t, folder, overlay(t, folder, nil))
				if err != nil || by != "" {
					t.Fatalf("void: without the bug %s fails, %v", by, err)
				}
				sound[m.tests] = true
			}
			text, err := os.ReadFile(filepath.Join(folder, m.file))
			if err != nil {
				t.Fatal(err)
			}
			changed, err := m.applied(string(text))
			if err != nil {
				t.Fatal(err)
			}
			by, err := m.caught(t, folder, overlay(t, folder, map[string]string{m.file: changed}))
			switch {
			case err != nil:
				t.Errorf("%s: %s: %v", m.file, m.bug, err)
			case by == "":
				t.Errorf("SURVIVED %s: %s", m.file, m.bug)
			default:
				t.Logf("caught %s: %s: by %s", m.file, m.bug, by)
			}
		})
	}
}

// caught returns the first test that fails with the bug, or "".
func (m mutant) caught(t *testing.T, folder, overlay string) (by string, err error) {
	t.Helper()
	args := strings.Fields(m.tests)
	full := args[0] == "full"
	if full {
		args = args[1:]
	}
	cmd := goTool(t, folder, overlay, append([]string{"test", "-count=1", "-failfast", "-timeout=5m"}, args...)...)
	if full {
		cmd.Env = append(cmd.Env, "PROVIDER_CHECKOUT_TEST=full")
	}
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return "", nil
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		return "", fmt.Errorf("it does not compile:\n%s", out)
	default:
		for line := range strings.Lines(text) {
			if _, name, fails := strings.Cut(line, "--- FAIL: "); fails {
				name, _, _ := strings.Cut(name, " ")
				return name, nil
			}
		}
		return "the end of the tests", nil // a panic, or the time limit
	}
}

// overlay returns a file that has the compiler read these texts in the place of the files.
func overlay(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for name, text := range files {
		planted := filepath.Join(dir, strconv.Itoa(len(replace))+filepath.Ext(name))
		if err := os.WriteFile(planted, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(folder, name)] = planted
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// goTool returns a command of the go tool over the overlay, also for what the tests build themselves. The level of this test is not
// theirs.
func goTool(t *testing.T, folder, overlay string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = folder
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PROVIDER_CHECKOUT_TEST") })
	cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+overlay)
	return cmd
}
