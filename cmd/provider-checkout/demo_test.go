package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/providerfile"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// inEmptyTemp points the program at a temporary folder of its own and returns a function that lists it.
func inEmptyTemp(t *testing.T) (left func() []string) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return func() []string {
		paths, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
}

func TestDemoWalkHoldsAndLeavesOnlyThePDF(t *testing.T) {
	for _, outside := range [][2]string{{"fake", "embedded"}, {"gocardless", "embedded"}, {"gocardless", "salesforce"}} {
		t.Run(strings.Join(outside[:], " and "), func(t *testing.T) { demoWalkHolds(t, outside[0], outside[1]) })
	}
}

func demoWalkHolds(t *testing.T, processor, crm string) {
	left := inEmptyTemp(t)
	got := try(t, nil, "", "demo", "--walk", "--processor", processor, "--crm", crm)
	if got.code != cli.ExitDone || got.stderr != "" {
		t.Fatalf("status %d, stderr %s\n%s", got.code, got.stderr, got.stdout)
	}
	for _, want := range []string{
		"POST /v1/provider-checkouts: 201 Created",
		"idempotent_replay: true",
		"already_confirmed: true",
		"event checkout.created", "event checkout.confirmed", "event agreement.generated",
		"everything held",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.stdout)
		}
	}
	files := left()
	if len(files) != 1 || !strings.HasSuffix(files[0], ".pdf") || !strings.Contains(got.stdout, files[0]) {
		t.Errorf("%q are left, want the PDF that is named in\n%s", files, got.stdout)
	}
}

func TestDemoLinesWorkInAShell(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "sed", "head"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	left := inEmptyTemp(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"demo", "--addr", "127.0.0.1:0"}, func(string) string { return "" }, nil, in, &stderr)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	guide := proc.ReadUntil(lines, "# The events")
	var arrived []string
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			arrived = append(arrived, strings.Join(strings.Fields(lines.Text())[:3], " "))
		}
	}()

	shell := exec.CommandContext(ctx, "sh", "-eu")
	shell.Stdin = strings.NewReader(guide)
	said, err := shell.CombinedOutput()
	if err != nil {
		t.Errorf("sh: %v\n%s", err, said)
	}
	for _, want := range []string{`"environment":"sandbox"`, `"provider_order_id":"ENROL-1001"`, "Bank details saved: one step left",
		`"setup_complete":true`, `"already_confirmed":false`, `"provider_order_id":"T-77"`} {
		if !strings.Contains(string(said), want) {
			t.Errorf("%s is missing in\n%s", want, said)
		}
	}
	stop()
	if code := <-ended; code != cli.ExitDone || stderr.Len() != 0 {
		t.Errorf("status %d, stderr %s", code, stderr.String())
	}
	<-read
	want := []string{"# event checkout.created", "# event checkout.confirmed", "# event agreement.generated", "# event checkout.created"}
	if !slices.Equal(arrived, want) {
		t.Errorf("events %q, want %q", arrived, want)
	}
	if files := left(); len(files) != 0 {
		t.Errorf("%q are left, want nothing", files)
	}
}

func TestDemoSaysThatItsPortIsTaken(t *testing.T) {
	left := inEmptyTemp(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := try(t, nil, "", "demo", "--addr", ln.Addr().String())
	if got.code != cli.ExitFailed || got.stdout != "" || !isLine(got.stderr) || !strings.Contains(got.stderr, "is taken") {
		t.Errorf("demo = %+v, want status 1 and one line that says so", got)
	}
	if files := left(); len(files) != 0 {
		t.Errorf("%q are left, want nothing", files)
	}
}

func TestDemoIsAnExampleOfAProviderFile(t *testing.T) {
	data, err := os.ReadFile("demo.json")
	if err != nil {
		t.Fatal(err)
	}
	configurations, err := providerfile.Parse(data)
	if err != nil || len(configurations) != 2 {
		t.Errorf("Parse(demo.json) = %d providers, %v; want 2", len(configurations), err)
	}
}
