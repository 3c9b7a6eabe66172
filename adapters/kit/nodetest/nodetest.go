// Package nodetest has tools and clients for Node judge what a test serves.
package nodetest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed assertions.mjs
var assertions []byte

// Check runs testdata/node/check.mjs, beside the test, with assertions.mjs beside it, with its packages as package-lock.json pins them and these
// environment variables. The packages are fetched from npm, so it runs only with PROVIDER_CHECKOUT_TEST_NODE=1, which
// .ci/run sets.
func Check(t *testing.T, environment ...string) {
	t.Helper()
	if os.Getenv("PROVIDER_CHECKOUT_TEST_NODE") != "1" {
		t.Skip("PROVIDER_CHECKOUT_TEST_NODE is not 1")
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/node")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "assertions.mjs"), assertions, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir, c.Env = folder, append(os.Environ(), environment...)
		output, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c, err, output)
		}
		return string(output)
	}
	run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	output := run("node", "check.mjs")
	if !strings.Contains(output, "assertions hold") {
		t.Errorf("the check says %q, want how many assertions hold", output)
	}
	t.Log(strings.TrimSpace(output))
}
