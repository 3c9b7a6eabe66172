package full_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

const packagingFolder = "../packaging"

// packaged returns the text of a file of the packaging.
func packaged(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(packagingFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// judge runs a program of this machine in the folder of the packaging, and returns what it says.
func judge(t *testing.T, name string, args ...string) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = packagingFolder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestPackagingFitsTheProgram(t *testing.T) {
	t.Parallel()
	program := built(t)
	for name, test := range map[string]func(*testing.T, proc.Binary){
		"variables are settings":             variablesAreSettings,
		"rules and board name its metrics":   metricsExist,
		"the image runs":                     imageRuns,
		"the unit's command and settings do": unitServes,
	} {
		t.Run(name, func(t *testing.T) { test(t, program) })
	}
}

// The program reads every variable that a file sets: its help names it.
func variablesAreSettings(t *testing.T, program proc.Binary) {
	help := program.Run(t, "serve", "--help")
	for _, file := range []string{"Dockerfile", "compose.yaml", "provider-checkout.service"} {
		names := regexp.MustCompile(`PROVIDER_CHECKOUT_[A-Z_]+`).FindAllString(packaged(t, file), -1)
		if len(names) < 2 {
			t.Errorf("%s names %d variables", file, len(names))
		}
		for _, name := range names {
			known := name == "PROVIDER_CHECKOUT_OPERATOR" || // of the commands that change something
				regexp.MustCompile(`\b`+strings.TrimSuffix(name, "_FILE")+`\b`).MatchString(help)
			if !known {
				t.Errorf("%s sets %s, which serve --help does not name", file, name)
			}
		}
	}
}
