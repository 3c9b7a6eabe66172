package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
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
	says(t, got.stdout, "POST /v1/provider-checkouts: 201 Created",
		"idempotent_replay: true",
		"already_confirmed: true",
		"event checkout.created", "event checkout.confirmed", "event agreement.generated",
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
	ends  func(stderr string) // waits for the end, and checks what was printed beside the results
	end   func() result       // waits for the end
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
		ended <- run(ctx, append([]string{"demo"}, args...), variables(nil), nil, in, &stderr)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	guide := proc.ReadUntil(lines, "# The events")
	go io.Copy(io.Discard, out) // the events
	end := func() result { return result{code: <-ended, stderr: stderr.String()} }
	return runningDemo{guide, cancel, func(want string) {
		if got := end(); got.code != cli.ExitDone || got.stderr != want {
			t.Errorf("status %d, stderr %q, want %q", got.code, got.stderr, want)
		}
	}, end}
}

// says returns what stands in a line of the guide after its beginning.
func (d runningDemo) says(beginning string) string {
	_, rest, _ := strings.Cut(d.guide, "\n"+beginning)
	word, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(word)
}

// At GoCardless the payer has a browser of their own, and the lines wait for that.
func TestDemoLinesWaitForThePayerAtGoCardless(t *testing.T) {
	testlevel.Full(t)
	for _, tool := range []string{"sh", "curl", "sed", "head", "grep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal(err)
		}
	}
	inEmptyTemp(t)
	d := startDemo(t, "--addr", "127.0.0.1:0", "--processor", "gocardless", "--crm", "salesforce")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // the lines wait for ever
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-eu")
	shell.Stdin = strings.NewReader(d.guide)
	shell.Stderr = os.Stderr
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	browser := apiclient.NewBrowser(&http.Client{Timeout: 2 * time.Minute})
	setUps := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if setUps == 0 && strings.HasPrefix(lines.Text(), "http://") {
			setUps++
			if err := browser.SetUp(t.Context(), lines.Text()); err != nil {
				t.Error(err)
			}
		}
	}
	if err := shell.Wait(); err != nil {
		t.Errorf("sh: %v", err)
	}
	if !strings.Contains(said.String(), `"already_confirmed":false`) {
		t.Errorf("the lines lead to no confirm:\n%s", said.String())
	}
	d.stop()
	d.ends("")
}

// A newcomer opens the address that the demonstration prints first, and goes on from page to page.
func TestDemoWebsiteLeadsToAnAgreement(t *testing.T) {
	for _, outside := range [][2]string{{"fake", "embedded"}, {"gocardless", "salesforce"}} {
		t.Run(strings.Join(outside[:], " and "), func(t *testing.T) {
			inEmptyTemp(t)
			d := startDemo(t, "--addr", "127.0.0.1:0", "--processor", outside[0], "--crm", outside[1])
			heard := &recorder{}
			enrolOnWebsite(t, apiclient.NewBrowser(&http.Client{Timeout: 2 * time.Minute, Transport: heard}), d.says("#   Open this first:"))
			says(t, heard.last, "PPA-20", "checkout.created", "checkout.confirmed", "agreement.generated")
			if key := d.says("KEY="); len(key) < 20 || strings.Contains(heard.all.String(), key) {
				t.Errorf("the browser was given the API key %q", key)
			}
			d.stop()
			d.ends("")
		})
	}
}

// enrolOnWebsite enrols on the website at an address as a student does who clicks on.
func enrolOnWebsite(t *testing.T, browser *apiclient.Browser, website string) {
	t.Helper()
	submit := func(p apiclient.Page, heading string) apiclient.Page {
		t.Helper()
		next, err := browser.Open(t.Context(), http.MethodPost, p.Action, apiclient.FillIn(p.Form))
		if err != nil || next.Heading != heading {
			t.Fatalf("the form of %q leads to %q, %v; want %q", p.Heading, next.Heading, err, heading)
		}
		return next
	}
	course, err := browser.Open(t.Context(), http.MethodGet, website, nil)
	if err != nil {
		t.Fatal(err)
	}
	setup := submit(course, "Set up your direct debit")
	if err := browser.SetUp(t.Context(), setup.At); err != nil {
		t.Fatal(err)
	}
	done := strings.TrimSuffix(website, "/") + fakeprovider.DonePath // which is the provider's success_url
	for until := time.Now().Add(2 * time.Minute); ; {
		p, err := browser.Open(t.Context(), http.MethodGet, done, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Form != nil {
			submit(p, "You are enrolled")
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the website still shows %q", p.Heading)
		}
		time.Sleep(50 * time.Millisecond) // a processor that notifies does so in its own time
	}
}

// recorder is a transport that keeps the headers and bodies of all answers.
type recorder struct {
	all  bytes.Buffer
	last string // body
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r.last = string(body)
	fmt.Fprintf(&r.all, "%v\n%s\n", resp.Header, body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

// Whoever opens the desk of a demonstration finds work, of which everything is proven as if it had happened in its time.
func TestDemoHasAWeeksWorkForTheDesk(t *testing.T) {
	inEmptyTemp(t)
	d := startDemo(t, "--addr", "127.0.0.1:0")
	_, at, _ := strings.Cut(d.guide, "by a click):")
	desk := strings.TrimSuffix(strings.Fields(at)[0], "/")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	resp, err := client.PostForm(desk+"/sign-in", url.Values{"name": {"Aroha"}, "role": {"support"}})
	if err != nil {
		t.Fatal(err)
	}
	today, err := io.ReadAll(resp.Body)
	for tries := 0; err == nil && tries < 1200 && !strings.Contains(string(today), "trouble=events"); tries++ { // its attempts take a second
		resp.Body.Close()
		<-time.After(100 * time.Millisecond)
		if resp, err = client.Get(desk + "/"); err == nil {
			today, err = io.ReadAll(resp.Body)
		}
	}
	if err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	says(t, string(today), "trouble=mandates", "trouble=unconfirmed", "trouble=unfinished", "trouble=events")
	_, store, _ := strings.Cut(d.guide, "export --store ")
	store, _, _ = strings.Cut(store, "\n")
	verified := try(t, nil, "", "agreements", "verify", "--all", "--store", store)
	if verified.code != cli.ExitDone || strings.Count(verified.stdout, "PPA-") < 2 {
		t.Errorf("status %d: %s%s", verified.code, verified.stdout, verified.stderr)
	}
	d.stop()
	d.ends("")
}

func TestDemoTakesAFreePortWhereTheUsualIsTaken(t *testing.T) {
	inEmptyTemp(t)
	if ln, err := net.Listen("tcp", "127.0.0.1:8080"); err == nil { // else another process has it
		defer ln.Close()
	}
	d := startDemo(t)
	base := d.says("BASE=")
	resp, err := http.Get(base + "/v1/environment")
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s is not the sandbox: %v, %v", base, resp, err)
	}
	d.stop()
	d.ends("127.0.0.1:8080 is taken: the sandbox is at " + strings.TrimPrefix(base, "http://") + "\n")
}

// A developer's receiver gets the provider's events as the service sent them, and no events of the week before.
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
	d.ends("")
	walk := try(t, nil, "", "demo", "--walk", "--webhook", own.URL+"/hook")
	ids := make(map[string]bool) // an attempt may be made again on a slow machine
	for _, d := range own.Deliveries() {
		ids[d.JSON.Text("event_id")] = true
	}
	if walk.code != cli.ExitDone || len(ids) != 4 {
		t.Errorf("the walk: %+v; the receiver has %d events, want three more", walk, len(ids))
	}
	help := strings.Join(strings.Fields(try(t, nil, "", "demo", "--help").stdout), " ") // its lines are wrapped
	says(t, help, "KOWHAI's events too, signed with "+secret)
	try(t, nil, "", "demo", "--webhook", "3000").refuses(t, cli.ExitUsage, "must be a URL such as http://localhost:3000")
}

// A ping says what a developer's receiver does, and not what the demonstration's does.
func TestAPingOfADemonstrationAsksTheDevelopersReceiver(t *testing.T) {
	inEmptyTemp(t)
	var secret string
	var checks bool
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		err = cmp.Or(err, events.Verify(secret, r.Header.Get(events.HeaderSignature), body, time.Now(), time.Minute))
		if checks && err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer own.Close()
	d := startDemo(t, "--addr", "127.0.0.1:0", "--webhook", own.URL)
	_, secret, _ = strings.Cut(d.says("# Your receiver at "+own.URL+" gets KOWHAI's events too"), "signed with  ")
	store, _, _ := strings.Cut(d.says("#    provider-checkout export --store "), " ")
	ping := func() result {
		return try(t, nil, "", "providers", "ping", "KOWHAI", "--store", store, "--allow-private-destinations")
	}
	if got := ping(); got.code != cli.ExitDone || !strings.Contains(got.stderr, "takes events whose signature is wrong") {
		t.Errorf("the ping of a receiver that checks nothing: %+v", got)
	}
	checks = true
	if got := ping(); got.code != cli.ExitDone || strings.Contains(got.stderr, "signature") {
		t.Errorf("the ping of a receiver that checks signatures: %+v", got)
	}
	own.Close()
	if got := ping(); got.code != cli.ExitFailed || !strings.Contains(got.stdout, "refused") {
		t.Errorf("the ping of a receiver that does not listen: %+v", got)
	}
}

// The clock of a checkout leads to the end of its retention: what was not confirmed is gone, and of an agreement nothing goes on.
func TestDemoErasesWhatIsKeptNoLonger(t *testing.T) {
	inEmptyTemp(t)
	d := startDemo(t, "--addr", "127.0.0.1:0")
	api := apiclient.New(d.says("BASE="), map[string]string{"KOWHAI": d.says("KEY=")})
	play := func(created apiclient.Response, call, body string) apiclient.Response {
		t.Helper()
		path := "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id") + "/" + call
		r, err := api.Call(t.Context(), "KOWHAI", http.MethodPost, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct {
		order        string
		agreed       bool
		before, then string
		code         string
	}{{"abandoned", false, "P96D", "P2D", "CHECKOUT_ERASED"}, {"agreed", true, "P2550D", "P734D", "CONFLICT"}} {
		body := strings.Replace(sandbox.Order(sandbox.CatalogueCreate, tt.order), "NZDIP", "NZDIP-BUS", 1)
		created, err := api.Create(t.Context(), "KOWHAI", body)
		if err != nil || created.Status != http.StatusCreated {
			t.Fatalf("create: %d %s, %v", created.Status, created.Body, err)
		}
		if tt.agreed {
			play(created, "scenarios", `{"scenario": "setup_succeeds"}`)
			if r, err := api.Confirm(t.Context(), created, created.ConfirmBody()); err != nil || r.Status != http.StatusOK {
				t.Fatalf("confirm: %d %s, %v", r.Status, r.Body, err)
			}
		}
		play(created, "clock", `{"advance": "`+tt.before+`"}`)
		if r := play(created, "clock", `{"advance": "PT1S"}`); r.Status != http.StatusOK {
			t.Errorf("what is %s is gone after %s: %d %s", tt.order, tt.before, r.Status, r.Body)
		}
		play(created, "clock", `{"advance": "`+tt.then+`"}`)
		if r := play(created, "scenarios", `{"scenario": "crm_away"}`); r.String("error.code") != tt.code || !strings.Contains(r.Body, "erased") {
			t.Errorf("after %s more what is %s is there: %d %s", tt.then, tt.order, r.Status, r.Body)
		}
	}
	d.stop()
	d.ends("")
}

func TestDemoLeavesNothingWhenItsTerminalIsClosed(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("run under nohup, where a terminal that is closed ends nothing")
	}
	left := inEmptyTemp(t)
	d := startDemo(t, "--addr", "127.0.0.1:0")
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.ends("")
	if files := left(); len(files) != 0 {
		t.Errorf("%q are left, want nothing", files)
	}
}

func TestDemoSaysThatItsPortIsTaken(t *testing.T) {
	left := inEmptyTemp(t)
	ln := sample.Listen(t)
	got := try(t, nil, "", "demo", "--addr", ln.Addr().String())
	got.refuses(t, cli.ExitFailed, "is taken")
	if files := left(); len(files) != 0 {
		t.Errorf("%q are left, want nothing", files)
	}
}
