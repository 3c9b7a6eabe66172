package contract_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
)

// recipes are the example programs for a provider's engineers that enrol a student and take events, by language.
var recipes = []struct{ language, interpreter, checkout, receiver string }{
	{"Node", "node", "checkout.mjs", "receiver.mjs"},
	{"Python", "python3", "checkout.py", "receiver.py"},
	{"Shell", "sh", "checkout.sh", ""},
}

// recipe returns the command that runs a recipe.
func recipe(t *testing.T, interpreter, name string, args ...string) *exec.Cmd {
	t.Helper()
	testlevel.Full(t)
	tool, err := exec.LookPath(interpreter)
	if err != nil {
		t.Fatal(err)
	}
	read(t, recipeFile(name))                                                            // so that go test sees a change of it, and does not answer from its cache
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // for a program that hangs
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, tool, append([]string{recipeFile(name)}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// recipe returns the command that runs a recipe for KOWHAI, with further variables.
func (s *suite) recipe(t *testing.T, interpreter, name string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := recipe(t, interpreter, name)
	cmd.Env = append(append(cmd.Env, "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "PROVIDER=KOWHAI", "ORDER=RECIPE-1", "COURSE=NZDIP",
		"FIRST_PAYMENT=2027-02-01"), env...)
	return cmd
}

func recipeFile(name string) string { return "../../../testdata/recipes/" + name }

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRecipesVerifyTheVectors(t *testing.T) {
	t.Parallel()
	for _, r := range [][3]string{{"Node", "node", "verify_event.mjs"}, {"Python", "python3", "verify_event.py"},
		{"PHP", "php", "verify_event.php"}} {
		t.Run(r[0], func(t *testing.T) {
			t.Parallel()
			cmd := recipe(t, r[1], r[2], filepath.Join("..", "..", "..", "testdata", "signatures.json"))
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), " vectors, 0 wrong\n") {
				t.Errorf("%s: %v\n%s", r[2], err, out)
			}
		})
	}
}

// A recipe that enrols a student ends with one checkout and one agreement, though its first create gets a 503,
// its first poll a 429 with Retry-After, and the answer to its first confirm is lost.
func TestRecipesEnrolThroughFaults(t *testing.T) {
	t.Parallel()
	for _, r := range recipes {
		t.Run(r.language, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, sandbox.Memory)
			p := newFaultyProxy(t, s.URL)
			printed := enrolsBy(t, s.recipe(t, r.interpreter, r.checkout, "BASE="+p.url), s.setUpAt)

			d := s.record(t, "RECIPE-1")
			if d.Checkout.Status != checkout.Confirmed || d.Agreement == nil {
				t.Fatalf("on record: %+v", d.Checkout)
			}
			if want := "agreement " + d.Agreement.Number + "\n"; printed != want {
				t.Errorf("the recipe prints %q, want %q", printed, want)
			}
			p.check(t)

			again := s.recipe(t, r.interpreter, r.checkout) // as after a crash: the order is confirmed, and has no token any more
			if out, err := again.CombinedOutput(); err != nil || string(out) != "\n"+printed {
				t.Errorf("the recipe, run again, prints %q, %v; want %q", out, err, "\n"+printed)
			}
		})
	}
}

// A student is enrolled by one recipe, and another takes the events.
func TestRecipesTakeTheEventsOfAnEnrolment(t *testing.T) {
	t.Parallel()
	for _, r := range recipes {
		if r.receiver == "" {
			continue
		}
		t.Run(r.language, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, sandbox.Memory)
			address, printed := receiving(t, recipe(t, r.interpreter, r.receiver), receiverSecret)
			s.Configure(t, strings.ReplaceAll(providers, "HOOKS/KOWHAI", address))
			enrolled := enrolsBy(t, s.recipe(t, r.interpreter, r.checkout), s.setUpAt)

			again := []byte(`{"event_id": "evt_1", "event": "checkout.confirmed", "data": {"provider_order_id": "AGAIN"}}`)
			signature := events.Sign(receiverSecret, time.Now(), again)
			last := []byte(`{"event_id": "evt_2", "event": "agreement.generated", "data": {"payment_plan_agreement_number": "LAST"}}`)
			for _, e := range []struct {
				body      []byte
				signature string
				want      int
			}{
				{again, signature, http.StatusNoContent},
				{again, signature, http.StatusNoContent},
				{again, events.Sign("another secret", time.Now(), again), http.StatusUnauthorized},
				{again, "", http.StatusUnauthorized},
				{last, events.Sign(receiverSecret, time.Now(), last), http.StatusNoContent},
			} {
				got := s.Send(t, http.MethodPost, address, string(e.body), events.HeaderSignature, e.signature)
				if got.Status != e.want {
					t.Errorf("an event under %q is answered %d, want %d", e.signature, got.Status, e.want)
				}
			}
			for _, want := range []string{"confirmed RECIPE-1\n", enrolled, "confirmed AGAIN\n", "agreement LAST\n"} {
				if got, err := printed.ReadString('\n'); got != want {
					t.Errorf("the receiver prints %q, %v; want %q", got, err, want)
				}
			}
		})
	}
}

func TestRecipesPrintTheReadinessOfTheService(t *testing.T) {
	s := newSuite(t, sandbox.Memory)
	for _, r := range []struct{ interpreter, name, want string }{
		{"node", "ready.mjs", "sandbox v1\nready: true\n"},
		{"python3", "ready.py", "sandbox v1\nready: true\n"}, {"sh", "ready.sh", `"ready_for_api_calls":true`},
	} {
		t.Run(r.name, func(t *testing.T) {
			if out, err := s.recipe(t, r.interpreter, r.name).CombinedOutput(); err != nil || !strings.Contains(string(out), r.want) {
				t.Errorf("%v, %s; want %s", err, out, r.want)
			}
		})
	}
}

func TestRecipesCancelAnOpenCheckoutOnly(t *testing.T) {
	s := newSuite(t, sandbox.Memory)
	confirmed := s.Ready(t, "ORDER-1")
	s.Confirm(t, confirmed)
	for _, r := range [][2]string{{"node", "cancel.mjs"}, {"python3", "cancel.py"}, {"sh", "cancel.sh"}} {
		t.Run(r[1], func(t *testing.T) {
			open := s.Create(t, "ENROL-"+r[1])
			for created, want := range map[*response]string{&open: "cancelled", &confirmed: "CONFLICT"} {
				if r[0] == "sh" {
					want = strings.TrimPrefix(want, "CONFLICT") // curl --fail prints no body
				}
				cmd := s.recipe(t, r[0], r[1], "CHECKOUT="+created.String("checkout.checkout_id"))
				if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
					t.Errorf("%s; want %s", out, want)
				}
			}
		})
	}
}

func TestRecipesCatchUpByTheListOfEvents(t *testing.T) {
	s := newSuite(t, sandbox.Memory)
	for i := range 101 { // more than a page
		s.Create(t, fmt.Sprint("ORDER-", i))
	}
	all, next := s.walk(t, "KOWHAI", "", 100)
	for _, r := range [][2]string{{"node", "catchup.mjs"}, {"python3", "catchup.py"}, {"sh", "catchup.sh"}} {
		t.Run(r[1], func(t *testing.T) {
			out, _ := s.recipe(t, r[0], r[1], "CURSOR="+all[0].Text("cursor")).CombinedOutput()
			if r[0] == "sh" { // one page
				if strings.Count(string(out), `"event_id":`) != 100 {
					t.Errorf("%s", out)
				}
				return
			}
			var want strings.Builder
			for _, e := range all[1:] {
				fmt.Fprintln(&want, e.Text("event_id"), e.Text("status"))
			}
			if fmt.Fprintln(&want, "next", next); string(out) != want.String() {
				t.Errorf("the recipe prints\n%s\nwant\n%s", out, want.String())
			}
		})
	}
}

// walk returns the entries of a list from a cursor to its end, and the cursor to go on from.
func (s *suite) walk(t *testing.T, provider, after string, limit int) (all []apiclient.Object, next string) {
	t.Helper()
	for {
		r := s.Get(t, provider, fmt.Sprintf("%s?limit=%d&after=%s", "/v1/events", limit, after))
		page := r.List("events")
		if r.Status != http.StatusOK || len(page) > limit {
			t.Fatalf("a page of %d is %d %s", limit, r.Status, r.Body)
		}
		all, after = append(all, page...), r.String("next")
		if len(page) == 0 {
			return all, after
		}
	}
}

const receiverSecret = "whsec_kowhai_0123456789abcdef" // of providers

// receiving runs a receiver of events, with a secret, until the test ends, and returns its address and output.
func receiving(t *testing.T, cmd *exec.Cmd, secret string) (address string, printed *bufio.Reader) {
	t.Helper()
	at := proc.QuietAddr(t, rand.New(rand.NewPCG(rand.Uint64(), 0)))
	cmd.Env = append(cmd.Environ(), "SECRET="+secret, "LISTEN="+at)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	proc.Start(t, cmd)
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return "http://" + at + "/events", bufio.NewReader(stdout)
		}
	}
	t.Fatalf("%s does not listen", cmd)
	return "", nil
}

// setUpAt has the payer complete the bank setup at an address.
func (s *suite) setUpAt(t *testing.T, address string) {
	t.Helper()
	created, err := apiclient.ParseObject(fmt.Appendf(nil, `{"direct_debit": {"setup_url": %q}}`, address))
	if err != nil {
		t.Fatal(err)
	}
	s.SetUp(t, response{JSON: created})
}

// enrolsBy runs a recipe, sets up the direct debit at the address that it prints first, and returns the rest of its
// output.
func enrolsBy(t *testing.T, cmd *exec.Cmd, setUp func(t *testing.T, address string)) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	address, err := out.ReadString('\n')
	if err == nil {
		setUp(t, strings.TrimSpace(address))
	}
	rest, _ := io.ReadAll(out) // the comparison shows what is missing
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(rest)
}

// faultyProxy is a proxy in front of a server that spoils the first request of each kind.
type faultyProxy struct {
	url     string
	mu      sync.Mutex
	sent    map[string][]string // bodies, by kind of request
	limited time.Time           // when the first poll was refused with a Retry-After of one second
	rest    time.Duration       // from then to the next poll
}

func newFaultyProxy(t *testing.T, server string) *faultyProxy {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := &faultyProxy{sent: make(map[string][]string)}
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read %s %s: %v", r.Method, r.URL, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		kind, count := p.note(r, string(body))
		switch {
		case count > 1:
			proxy.ServeHTTP(w, r)
		case kind == "poll":
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case kind == "create":
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // cuts the connection
		}
	}))
	t.Cleanup(front.Close)
	p.url = front.URL
	return p
}

// note records a request and returns its kind and the number of its kind so far.
func (p *faultyProxy) note(r *http.Request, body string) (kind string, count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.Method == http.MethodGet:
		kind = "poll"
	case strings.HasSuffix(r.URL.Path, "/confirm"):
		kind = "confirm"
	default:
		kind = "create"
	}
	p.sent[kind] = append(p.sent[kind], body)
	count = len(p.sent[kind])
	if kind == "poll" && count == 1 {
		p.limited = time.Now()
	}
	if kind == "poll" && count == 2 {
		p.rest = time.Since(p.limited)
	}
	return kind, count
}

// check checks that the client repeated the same request, and waited as long as Retry-After asked.
func (p *faultyProxy) check(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, kind := range []string{"create", "confirm"} {
		if sent := p.sent[kind]; len(sent) != 2 || sent[0] != sent[1] {
			t.Errorf("%s was sent as %q, want the same twice", kind, sent)
		}
	}
	if p.rest < 990*time.Millisecond { // timers may be a little early
		t.Errorf("after a Retry-After of one second the next poll came after %v", p.rest)
	}
}

// Linters for Node find nothing in the OpenAPI document that the service serves, and a client that is generated from it walks the
// whole flow.
func TestNodeToolsTakeTheDescriptionAndAGeneratedClientEnrols(t *testing.T) {
	withTheFake(t) // whose forms the client fills in
	if outside.Salesforce {
		t.Skip("the description is the same over any CRM")
	}
	t.Parallel()
	s := newSuite(t, sandbox.Memory)
	nodetest.Check(t, "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "PROVIDER=KOWHAI", "COURSE=NZDIP")
}
