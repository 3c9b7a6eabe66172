package upgrade_test

import (
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// The binary runs on the real clock, so that it answers here only what is the same on every day.
func TestBinary(t *testing.T) {
	b := proc.Build(t)
	eachStore(t, func(t *testing.T, p place, was history) {
		exportHolds(t, p.run(t, b, "export"), was) // which migrates the store
		p.serves(t, b, was)
		exportHolds(t, p.run(t, b, "export"), was)

		if out := p.run(t, b, "evidence", "adopt"); out != "PPA-2026-000001\nPPA-2026-000002\n" {
			t.Errorf("evidence adopt prints %q, want the two agreements of before", out)
		}
		for _, number := range []string{"PPA-2026-000001", "PPA-2026-000002"} {
			out := p.run(t, b, "agreements", "verify", number)
			if strings.Count(out, "ok  ") < 6 || strings.Contains(out, "FAIL") {
				t.Errorf("agreements verify %s says\n%swant six checks that hold", number, out)
			}
		}
	})
}

// serves checks that the server answers with the providers' keys and what was on record, until it is stopped.
func (p place) serves(t *testing.T, b proc.Binary, was history) {
	t.Helper()
	server := proc.Start(t, p.command(b, "serve", "--addr", "127.0.0.1:0"))
	s := suite{&sandbox.Sandbox{URL: server.Listening(t), Keys: was.keys}, was}
	for _, order := range []string{"OPEN-1", "LEGACY-OPEN", "FAILED-EVENT"} {
		agrees(t, s.get(t, order), http.StatusOK, was.orders[order].poll())
	}
	server.Stop(t, syscall.SIGTERM)
}

// command returns a command of the program on the store.
func (p place) command(b proc.Binary, args ...string) *exec.Cmd {
	cmd := b.Command(append(args, "--store", p.store)...)
	if p.secret != "" {
		cmd.Env = append(cmd.Env, "PROVIDER_CHECKOUT_SECRET="+p.secret)
	}
	return cmd
}

// run runs a command that ends by itself and must succeed, and returns what it prints.
func (p place) run(t *testing.T, b proc.Binary, args ...string) string {
	t.Helper()
	cmd := p.command(b, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, out, stderr.String())
	}
	return string(out)
}

// exportHolds checks that an export has every record of the earlier version's, in its order and with the same values.
// A later version may add fields to a record, and ends with a checkpoint of the evidence log; nothing else differs.
func exportHolds(t *testing.T, export string, was history) {
	t.Helper()
	now := parseExport(t, []byte(export))
	if last := now[len(now)-1]; last.Text("kind") != "checkpoint" {
		t.Fatalf("the export ends with %v, want a checkpoint", last)
	}
	now = now[:len(now)-1]
	if len(now) != len(was.export) {
		t.Fatalf("the export has %d records, want %d", len(now), len(was.export))
	}
	for i, record := range was.export {
		for name, value := range record {
			if !reflect.DeepEqual(now[i][name], value) {
				t.Errorf("%s: %s is %v, want %v", describe(record), name, now[i][name], value)
			}
		}
	}
}

// describe names a record of an export: its kind, and what it belongs to.
func describe(record demo.Object) string {
	name := record.Text("kind")
	for _, id := range []string{"provider_code", "checkout_id", "event", "sequence"} {
		if text := record.Text(id); text != "" {
			name += " " + text
		}
	}
	return name
}
