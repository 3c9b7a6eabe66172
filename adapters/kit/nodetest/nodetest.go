// Package nodetest has tools and clients for Node judge what a test serves. Their packages are fetched from npm, so such tests
// run only at the full level.
package nodetest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

//go:embed assertions.mjs
var assertions []byte

// Check runs check.mjs in testdata/node, beside the test, with assertions.mjs beside it, with its packages and these
// environment variables.
func Check(t *testing.T, environment ...string) {
	t.Helper()
	folder := Install(t, "testdata/node")
	if err := os.WriteFile(filepath.Join(folder, "assertions.mjs"), assertions, 0o600); err != nil {
		t.Fatal(err)
	}
	output := run(t, folder, environment, "node", "check.mjs")
	if !strings.Contains(output, "assertions hold") {
		t.Errorf("the check says %q, want how many assertions hold", output)
	}
	t.Log(strings.TrimSpace(output))
}

// Install returns a copy of a folder with the packages that its package-lock.json pins.
func Install(t *testing.T, source string) (folder string) {
	t.Helper()
	testlevel.Full(t)
	folder = t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	run(t, folder, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	return folder
}

func run(t *testing.T, folder string, environment []string, name string, args ...string) (output string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = folder, append(os.Environ(), environment...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
	return string(out)
}
