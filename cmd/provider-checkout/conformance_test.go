package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// The demonstration holds to the contract. Its provider has a checkout already, by which the run learns its code.
func TestConformanceOfTheDemonstration(t *testing.T) {
	inEmptyTemp(t)
	d := startDemo(t, "--addr", "127.0.0.1:0")
	junit := filepath.Join(t.TempDir(), "report.xml")
	args := []string{"conformance", "--base-url", d.says("BASE=") + "/", "--key-file", proc.TempFile(t, d.says("KEY=")+"\n")}
	got := try(t, nil, "", append(args, "--course", "NZDIP-BUS", "--junit", junit)...)
	if got.code != cli.ExitDone || got.stderr != "" || strings.Contains(got.stdout, "FAIL") || strings.Contains(got.stdout, "skip  ") {
		t.Errorf("conformance = %+v", got)
	}
	says(t, got.stdout, "ok    section 4: When already confirmed, return 200", " passed, 0 failed, 0 skipped: "+d.says("BASE="))
	if text, err := os.ReadFile(junit); err != nil || !strings.Contains(string(text), `failures="0"`) {
		t.Errorf("the file of --junit is %.300s, %v", text, err)
	}
	for _, course := range []string{"", "NO-SUCH"} {
		got := try(t, nil, "", append(args, "--course", course)...)
		says(t, got.stdout, "The checks end here", "1 failed, 0 skipped")
	}
	wrong := try(t, nil, "", append(args, "--json", "-")...)
	if wrong.code != cli.ExitFailed || !strings.HasPrefix(wrong.stdout, "{") || wrong.stderr != "provider-checkout conformance: 1 check failed\n" {
		t.Errorf("without the course of its catalogue: %+v", wrong)
	}
	d.stop()
	d.ends("")
}

func TestConformanceNeedsAKeyAndAProvider(t *testing.T) {
	s := sandbox.New(t, memory.New())
	for _, tt := range []struct {
		name, key string
		args      []string
		code      int
		want      string
	}{
		{"no key", "", nil, cli.ExitUsage, "the API key is missing: " + keyVariable + ", or --key-file"},
		{"a provider without a checkout", s.Keys["KOWHAI"], nil, cli.ExitUsage, "name it with --provider"},
		{"a key that is not recognised", "letmein", nil, cli.ExitFailed, "the key is refused: "},
		{"two reports on standard output", s.Keys["KOWHAI"], []string{"--json", "-", "--junit", "-"}, cli.ExitUsage, "only one of --junit and --json"},
		{"nothing that answers", s.Keys["KOWHAI"], []string{"--base-url", "http://127.0.0.1:1"}, cli.ExitFailed, "connection refused"},
	} {
		got := try(t, []string{keyVariable + "=" + tt.key}, "", append([]string{"conformance", "--base-url", s.URL}, tt.args...)...)
		if got.code != tt.code || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: %+v, want status %d and %q", tt.name, got, tt.code, tt.want)
		}
	}
}
