package mutants_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// sampled are the bugs of the surface that the gate plants, by their places in the list.
var sampled = []int{3, 13, 19}

// The conformance run of the sound program names the sentence that each broken server breaks. All of them:
//
//	PROVIDER_CHECKOUT_TEST_RUNS=1 go test -timeout 1h -v -run TestConformanceNamesTheSentence ./cmd/provider-checkout/mutants
func TestConformanceNamesTheSentence(t *testing.T) {
	if !testlevel.IsLong() {
		testlevel.Full(t)
	}
	folder, all := root(t), surface()
	sound := built(t, folder, nil)
	if failed, report := conform(t, sound, sound); len(failed) > 0 || strings.Contains(report, "\nskip") {
		t.Fatalf("void: without a bug the run says\n%s", report)
	}
	if testlevel.IsLong() {
		sampled = sampled[:0]
		for i := range all {
			sampled = append(sampled, i)
		}
	}
	for _, i := range sampled {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			b := all[i]
			text, err := os.ReadFile(filepath.Join(folder, b.file))
			if err != nil {
				t.Fatal(err)
			}
			changed, err := b.applied(string(text))
			if err != nil {
				t.Fatal(err)
			}
			failed, report := conform(t, sound, built(t, folder, map[string]string{b.file: changed}))
			if !strings.Contains(strings.Join(failed, "\n"), b.sentence) || !strings.Contains(report, "\n      > ") {
				t.Errorf("NOT NAMED %s: %s; the report is\n%s", b.file, b.bug, report)
			}
			t.Logf("%s: %s:\n%s", b.file, b.bug, strings.Join(failed, "\n"))
		})
	}
}

// built builds the program with these files in the place of its own.
func built(t *testing.T, folder string, files map[string]string) proc.Binary {
	t.Helper()
	path := filepath.Join(t.TempDir(), "provider-checkout")
	if out, err := goTool(t, folder, overlay(t, folder, files), "build", "-o", path, "./cmd/provider-checkout").CombinedOutput(); err != nil {
		t.Fatalf("it does not compile: %v\n%s", err, out)
	}
	return proc.Binary(path)
}

// conform runs the conformance of the sound program against a server, as a provider with a catalogue and as one without it, and
// returns the sentences that failed.
func conform(t *testing.T, sound, server proc.Binary) (failed []string, report string) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	store := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	sound.Run(t, "apply", "--store", store, "--reason", "test", "-f", proc.TempFile(t, strings.ReplaceAll(sandbox.Providers, "HOOKS", receiver.URL)))
	serving := server.Serve(t, store)
	base := serving.Listening(t)
	defer serving.Kill(t)
	for _, provider := range [][]string{{"KOWHAI", "--course", "NZDIP"}, {"TUI"}} {
		cmd := sound.Command(append([]string{"conformance", "--base-url", base, "--provider"}, provider...)...)
		cmd.Env = []string{"PROVIDER_CHECKOUT_KEY=" + strings.TrimSpace(sound.Run(t, "keys", "issue", "--store", store, "--provider", provider[0], "--reason", "test"))}
		out, err := cmd.Output()
		if ended := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
			t.Fatalf("the run ends with %v\n%s", err, out)
		}
		report += string(out)
	}
	for line := range strings.Lines(report) {
		if sentence, is := strings.CutPrefix(line, "FAIL  "); is {
			failed = append(failed, strings.TrimSpace(sentence))
		}
	}
	return failed, report
}
