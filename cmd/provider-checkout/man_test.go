package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

func TestManualPagesHaveWhatHelpHas(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1")
	if got := try(t, nil, "", "man", "--out", folder); got.code != cli.ExitDone || got.stdout+got.stderr != "" {
		t.Fatalf("man = %+v", got)
	}
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), `\-`, "-")
	}
	overview := page(program)
	for _, cmd := range commands() {
		if !strings.Contains(overview, "\n.B "+cmd.Name) {
			t.Errorf("the page of the program lacks %q", cmd.Name)
		}
		text := page(program + "-" + strings.ReplaceAll(cmd.Name, " ", "-"))
		help := try(t, nil, "", append(strings.Fields(cmd.Name), "--help")...).stdout
		for _, flag := range regexp.MustCompile(`(?m)^  -.*$`).FindAllString(help, -1) {
			if !strings.Contains(text, "\n.B "+strings.TrimSpace(flag)+"\n") {
				t.Errorf("the page of %s lacks the flag %q", cmd.Name, flag)
			}
		}
	}
	if serve := page("provider-checkout-serve"); !strings.Contains(serve, "<file>.secret") ||
		!strings.Contains(serve, "\n.SH \"SYNOPSIS\"\n.B provider-checkout serve [flags]\n") {
		t.Errorf("the page of serve is\n%s", serve)
	}
	groff, err := exec.LookPath("groff")
	if err != nil && os.Getenv("PROVIDER_CHECKOUT_TEST_GROFF_REQUIRED") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, files...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("groff: %v, %s", err, out)
	}
}
