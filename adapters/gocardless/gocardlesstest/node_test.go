package gocardlesstest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/gocardless/gocardlesstest"
)

// The official client judges the simulator. It is fetched from npm, so only with PROVIDER_CHECKOUT_TEST_NODE=1, which .ci/run
// sets.
func TestOfficialNodeClient(t *testing.T) {
	if os.Getenv("PROVIDER_CHECKOUT_TEST_NODE") != "1" {
		t.Skip("PROVIDER_CHECKOUT_TEST_NODE is not 1")
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/node")); err != nil {
		t.Fatal(err)
	}
	run := func(environment []string, name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir, c.Env = folder, append(os.Environ(), environment...)
		output, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c, err, output)
		}
		return string(output)
	}
	run(nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	b := newBench(t, func(o *gocardlesstest.Options) { o.Now = time.Now })
	output := run([]string{"GOCARDLESS_URL=" + b.server.URL, "GOCARDLESS_TOKEN=" + token}, "node", "check.mjs")
	if !strings.Contains(output, "assertions hold") {
		t.Errorf("the check says %q, want how many assertions hold", output)
	}
	t.Log(strings.TrimSpace(output))
}
