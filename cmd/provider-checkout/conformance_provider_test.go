package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// rehearsed is a run of "conformance provider", with what it prints.
type rehearsed struct {
	base, key   string
	json, junit string // files
	stop        func()
	end         func() (code int, stdout, stderr string)
}

// startRehearsal starts "conformance provider" and reads its guide.
func startRehearsal(t *testing.T) rehearsed {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	dir := t.TempDir()
	r := rehearsed{json: filepath.Join(dir, "report.json"), junit: filepath.Join(dir, "report.xml"), stop: stop}
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stdout, stderr bytes.Buffer
	go func() {
		ended <- run(ctx, []string{"conformance", "provider", "--listen", "127.0.0.1:0", "--json", r.json, "--junit", r.junit},
			variables(nil), nil, in, &stderr)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	guide := proc.ReadUntil(lines, "Without --forward-to")
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
			fmt.Fprintln(&stdout, lines.Text())
		}
	})
	r.end = func() (int, string, string) {
		reading.Wait()
		return <-ended, stdout.String(), stderr.String()
	}
	found := func(expression string) string {
		m := regexp.MustCompile(expression).FindStringSubmatch(guide)
		if m == nil {
			t.Fatalf("the guide has no %s:\n%s", expression, guide)
		}
		return m[1]
	}
	r.base, r.key = found(`(http://127\.0\.0\.1:[0-9]+)\.`), found(`KOWHAI, .*\n +key +(\S+)`)
	return r
}

// states returns the states of the situations in the JSON report.
func (r rehearsed) states(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(r.json)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Situations []struct{ Situation, State string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, s := range report.Situations {
		states[s.Situation] = s.State
	}
	return states
}

// Checkouts get the situations in their order. A rehearsal that is ended early says what is missing.
func TestARehearsalThatIsEndedEarlySaysWhatIsMissing(t *testing.T) {
	r := startRehearsal(t)
	again := startRehearsal(t)
	again.stop()
	again.end()
	if again.key != r.key {
		t.Errorf("the key is %s, and %s in another run", r.key, again.key)
	}
	client := apiclient.New(r.base, map[string]string{"KOWHAI": r.key})
	body := func(order string) string {
		return apiclient.CreateRequest{ProviderCode: "KOWHAI", OrderID: order, FirstName: "Aroha", LastName: "Ngata",
			Email: "aroha@example.nz", CourseCode: "NZDIP-BUS", Frequency: "Weekly", FirstPayment: "2027-02-01"}.String()
	}
	if got, err := client.Create(t.Context(), "KOWHAI", body("A-1")); err != nil || got.Status != http.StatusCreated {
		t.Fatalf("create: %d %s, %v", got.Status, got.Body, err)
	}
	if got, err := client.Create(t.Context(), "KOWHAI", body("A-2")); !apiclient.IsCut(err) {
		t.Fatalf("the second create is answered %d %s, %v", got.Status, got.Body, err)
	}
	got, err := client.Create(t.Context(), "KOWHAI", body("A-3+create_5o3"))
	if err != nil || got.Status != http.StatusServiceUnavailable {
		t.Fatalf("the third create: %d %s, %v", got.Status, got.Body, err)
	}
	r.stop()
	code, stdout, stderr := r.end()
	const want = "of 21 situations 0 failed, 3 had not ended and 12 had no checkout\n"
	if code != cli.ExitFailed || !strings.HasSuffix(stderr, want) {
		t.Errorf("status %d, stderr %q, want %q", code, stderr, want)
	}
	says(t, stdout, "running  plain                 A-1", "running  create_answer_lost    A-2",
		"order A-3+create_5o3: it ends with +create_5o3, which is no situation\n",
		"the create was not sent again; the same came under the order id A-3", "the create was not sent again after a 503",
		"waiting  create_429", "skipped  events_late")
	states := r.states(t)
	for name, want := range map[string]string{"plain": "running", "create_answer_lost": "running", "create_503": "running",
		"create_429": "waiting", "events_late": "skipped"} {
		if states[name] != want {
			t.Errorf("%s is %q, want %q", name, states[name], want)
		}
	}
	text, err := os.ReadFile(r.junit)
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests   int `xml:"tests,attr"`
		Errors  int `xml:"errors,attr"`
		Skipped int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal(text, &suite); err != nil || suite.Tests != 21 || suite.Errors != 15 || suite.Skipped != 6 {
		t.Errorf("JUnit: %+v, %v", suite, err)
	}
}

func TestARehearsalNeedsAReceiverThatCanBeCalled(t *testing.T) {
	got := try(t, nil, "", "conformance", "provider", "--forward-to", "localhost:3000")
	if got.code != cli.ExitUsage || !isLine(got.stderr) || !strings.Contains(got.stderr, "must be a URL such as http://localhost:3000/events") {
		t.Errorf("%+v", got)
	}
}
