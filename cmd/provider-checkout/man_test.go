package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
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
	for _, cmd := range commands() {
		text := page(program + "-" + strings.ReplaceAll(cmd.Name, " ", "-"))
		help := try(t, nil, "", append(strings.Fields(cmd.Name), "--help")...).stdout
		if !strings.Contains(text, strings.TrimSpace(help)) {
			t.Errorf("the page of %s is\n%s\nwant in it\n%s", cmd.Name, text, help)
		}
	}
	if overview := page(program); !strings.Contains(overview, strings.TrimSpace(try(t, nil, "", "--help").stdout)) {
		t.Errorf("the page of the program is\n%s", overview)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		testlevel.Missing(t, err)
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
