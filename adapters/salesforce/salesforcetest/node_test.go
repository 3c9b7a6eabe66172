package salesforcetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// npm jsforce judges the simulator. It is fetched from npm, so only with PROVIDER_CHECKOUT_TEST_NODE=1, which .ci/run
// sets.
func TestNodeClient(t *testing.T) {
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
	b := newBench(t, func(o *options) { o.Now, o.QueryPage = time.Now, 3 })
	output := run([]string{"SALESFORCE_URL=" + b.server.URL, "SALESFORCE_CLIENT_ID=" + clientID, "SALESFORCE_CLIENT_SECRET=" + clientSecret},
		"node", "check.mjs")
	if !strings.Contains(output, "assertions hold") {
		t.Errorf("the check says %q, want how many assertions hold", output)
	}
	t.Log(strings.TrimSpace(output))
}
