package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
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
	left := inEmptyTemp(t)
	got := try(t, nil, "", "demo", "--walk")
	if got.code != exitDone || got.stderr != "" {
		t.Fatalf("status %d, stderr %s\n%s", got.code, got.stderr, got.stdout)
	}
	says(t, got.stdout, "POST /enrol: 200 OK", "/done: You are enrolled", "event checkout.created", "event checkout.confirmed", "event agreement.generated",
		"everything held")
	files := left()
	if len(files) != 1 || !strings.HasSuffix(files[0], ".pdf") || !strings.Contains(got.stdout, files[0]) {
		t.Errorf("%q are left, want the PDF that is named in\n%s", files, got.stdout)
	}
}

// runningDemo is a demonstration that serves.
type runningDemo struct {
	guide string
	stop  func()
	ends  func() // waits for the end, and checks that nothing was printed beside the results
}

// startDemo starts a demonstration and reads its guide.
func startDemo(t *testing.T, args ...string) runningDemo {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- run(ctx, append([]string{"demo"}, args...), nil, nil, in, &stderr)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	guide := proc.ReadUntil(lines, "# The events")
	go io.Copy(io.Discard, out) // the events
	return runningDemo{guide, cancel, func() {
		if code := <-ended; code != exitDone || stderr.Len() > 0 {
			t.Errorf("status %d, stderr %q, want no error output", code, stderr.String())
		}
	}}
}

// says returns what stands in a line of the guide after its beginning.
func (d runningDemo) says(beginning string) string {
	_, rest, _ := strings.Cut(d.guide, "\n"+beginning)
	word, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(word)
}

// A developer's receiver gets the provider's events as the service sent them.
func TestDemoSendsEventsToADevelopersReceiver(t *testing.T) {
	inEmptyTemp(t)
	own := sandbox.NewReceiver(t) // which checks each delivery against the document of the events
	d := startDemo(t, "--addr", "127.0.0.1:0", "--webhook", own.URL+"/hook")
	_, secret, _ := strings.Cut(d.says("# Your receiver at "+own.URL+"/hook gets KOWHAI's events too"), "signed with  ")
	got := own.Deliveries()
	if len(got) != 1 || got[0].JSON.Text("data.provider_order_id") != "WEB-1" {
		t.Fatalf("%v, want the event of the website's checkout alone", got)
	}
	if err := events.Verify(secret, got[0].Header.Get(events.HeaderSignature), got[0].Body, time.Now(), time.Minute); err != nil {
		t.Errorf("under %q: %v", secret, err)
	}
	d.stop()
	d.ends()
	walk := try(t, nil, "", "demo", "--walk", "--webhook", own.URL+"/hook")
	ids := make(map[string]bool) // an attempt may be made again on a slow machine
	for _, d := range own.Deliveries() {
		ids[d.JSON.Text("event_id")] = true
	}
	if walk.code != exitDone || len(ids) != 4 {
		t.Errorf("the walk: %+v; the receiver has %d events, want three more", walk, len(ids))
	}
	help := strings.Join(strings.Fields(try(t, nil, "", "demo", "--help").stdout), " ") // its lines are wrapped
	says(t, help, "KOWHAI's events too, signed with "+secret)
	try(t, nil, "", "demo", "--webhook", "3000").refuses(t, exitUsage, "must be a URL such as http://localhost:3000")
}

func TestDemoSaysThatItsPortIsTaken(t *testing.T) {
	left := inEmptyTemp(t)
	ln := sample.Listen(t)
	got := try(t, nil, "", "demo", "--addr", ln.Addr().String())
	got.refuses(t, exitFailed, "is taken")
	if files := left(); len(files) != 0 {
		t.Errorf("%q are left, want nothing", files)
	}
}
