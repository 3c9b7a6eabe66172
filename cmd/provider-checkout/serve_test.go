package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// running is a run of "serve" on free ports.
type running struct {
	base string // URL of the public listener
	ops  string // of the operator's listener; "" without it
	desk string // of the web desk; "" without it
	stop func() (code int, stdout, stderr string)
}

// started runs "serve" on a new store. stop ends it and returns its status and its output.
func started(t *testing.T, args ...string) (s running) {
	t.Helper()
	return startedWith(t, nil, args...)
}

// startedWith is started with environment variables.
func startedWith(t *testing.T, env []string, args ...string) (s running) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	store := "sqlite:" + filepath.Join(t.TempDir(), "records.db")
	args = append([]string{"serve", "--addr", "127.0.0.1:0", "--store", store}, args...)
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stdout strings.Builder
	go func() {
		ended <- run(ctx, args, env, nil, &stdout, in)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	before := proc.ReadUntil(lines, `{"time"`)
	var listening struct {
		Msg     string
		Addr    string
		OpsAddr string `json:"ops_addr"`
		DeskURL string `json:"desk_url"`
	}
	if err := json.Unmarshal(lines.Bytes(), &listening); err != nil || listening.Msg != "listening" {
		t.Fatalf("stderr begins with %q %q", before, lines.Text())
	}
	rest := make(chan string)
	go func() { rest <- proc.ReadUntil(lines, "no line begins like this") }()
	s.base, s.desk = "http://"+listening.Addr, listening.DeskURL
	if listening.OpsAddr != "" {
		s.ops = "http://" + listening.OpsAddr
	}
	s.stop = func() (int, string, string) {
		cancel()
		said := <-rest
		return <-ended, stdout.String(), said
	}
	return s
}

func TestServeAnswersAndDrains(t *testing.T) {
	s := started(t)
	says(t, get(t, s.base+"/v1/environment"), `"api_base_url":"`+s.base+`"`)
	code, stdout, logged := s.stop()
	if code != exitDone || stdout != "" || !strings.Contains(logged, `"msg":"stopped"`) {
		t.Errorf("status %d, stdout %q, stderr %s", code, stdout, logged)
	}
	for line := range strings.Lines(logged) {
		if !json.Valid([]byte(line)) {
			t.Errorf("log line %q is not JSON", line)
		}
	}
}

// A proxy may serve the service under a path of another site.
func TestServeUnderABasePath(t *testing.T) {
	s := started(t, "--base-url", "http://pay.example/enrol/")
	defer s.stop()
	for path, want := range map[string]string{
		"/enrol/v1":                 `"base_url":"http://pay.example/enrol"`,
		"/enrol/docs":               `href="v1/openapi.json"`,
		"/enrol/api/dd-setup":       `href="/enrol/api/dd-setup/assets/style.css`,
		"/enrol/v1/nothing":         "/enrol/docs#error-NOT_FOUND",
		"/v1":                       `"success":true`, // from a proxy that strips the path
		"/enrol/sandbox/processor/": `href="/enrol/sandbox/processor/assets/style.css`,
	} {
		says(t, get(t, s.base+path), want)
	}
}

func TestBaseURLFollowsTheAddress(t *testing.T) {
	for _, tt := range []struct{ addr, baseURL, want string }{
		{"127.0.0.1:8080", "", "http://127.0.0.1:8080"},
		{"127.0.0.1:0", "", "http://127.0.0.1:4321"},
		{":8080", "", "http://localhost:8080"},
		{"[::1]:8080", "", "http://[::1]:8080"},
		{"127.0.0.1:8080", "https://pay.example/enrol", "https://pay.example/enrol"},
	} {
		s := server{ServerFlags: ServerFlags{Addr: tt.addr, BaseURL: tt.baseURL}}
		if got := s.base(boundTo{4321}); got != tt.want {
			t.Errorf("base of %s and %q = %s, want %s", tt.addr, tt.baseURL, got, tt.want)
		}
	}
}

// boundTo is a listener on a port.
type boundTo struct{ port int }

func (b boundTo) Addr() net.Addr          { return &net.TCPAddr{Port: b.port} }
func (boundTo) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (boundTo) Close() error              { return nil }

func TestOperatorIsAnsweredApartFromThePublic(t *testing.T) {
	p := started(t, "--ops-addr", "127.0.0.1:0")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/"} {
		public := sandbox.Fetch(t, p.base+path)
		if public.Status != http.StatusNotFound || public.String("error.code") != "NOT_FOUND" {
			t.Errorf("GET %s on the public listener answers %d %s", path, public.Status, public.Body)
		}
		want := http.StatusOK
		if path == "/debug/pprof/" {
			want = http.StatusNotFound
		}
		if got := sandbox.Fetch(t, p.ops+path); got.Status != want {
			t.Errorf("GET %s on the operator's listener answers %d %s, want %d", path, got.Status, got.Body, want)
		}
	}
	if got := sandbox.Fetch(t, p.ops+"/v1"); got.Status != http.StatusNotFound {
		t.Errorf("the operator's listener answers /v1 with %d %s", got.Status, got.Body)
	}
	sandbox.Fetch(t, p.base+"/v1/provider-checkouts/")
	sandbox.Fetch(t, p.base+"/v1/provider-checkouts")
	if resp, err := http.Post(p.base+"/api/dd-setup/legal", "", nil); err != nil || resp.Body.Close() != nil {
		t.Error(err)
	}
	scrape := sandbox.Fetch(t, p.ops+"/metrics").Body
	says(t, scrape, "\nprovider_checkout_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 5\n",
		"{method=\"GET\",route=\"/v1/provider-checkouts\",status=\"405\"} 1\n", "{method=\"POST\",route=\"/api/dd-setup/legal\",status=\"405\"} 1\n",
		"\nprovider_checkout_outbox_pending_events 0\n",
		"\ngo_goroutines ")
	if code, stdout, _ := p.stop(); code != exitDone || stdout != "" {
		t.Errorf("status %d, stdout %q", code, stdout)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.ops, "http://")); err == nil {
		conn.Close()
		t.Error("the operator's listener is open after the shutdown")
	}
}

func TestWithoutItsFlagThereIsNoOperatorsListener(t *testing.T) {
	p := started(t)
	defer p.stop()
	if p.ops != "" {
		t.Errorf("the operator is answered on %s", p.ops)
	}
}

// Production is served over GoCardless, which nothing is asked of here: its address leads nowhere.
func TestServeProductionOverGoCardless(t *testing.T) {
	t.Parallel()
	const oldest, older, newer = "the first webhook secret", "the webhook secret before", "the present webhook secret"
	const secret = "0123456789abcdef0123456789abcdef"
	env := []string{secretVariable + "=" + secret, signing(t), tokenVariable + "=live_hunter2",
		webhookVariable + "_FILE=" + proc.TempFile(t, newer+"\n"+older+", "+oldest+"\n")}
	s := startedWith(t, env, "--environment", "production", "--processor", "gocardless", "--base-url", "https://pay.example",
		"--terms", "demo-terms.json", "--smtp", "none", "--gocardless-url", "https://127.0.0.1:1", "--ops-addr", "127.0.0.1:0")
	for signature, want := range map[string]int{
		gocardlesstest.Sign([]byte(`{"events":[]}`), newer):   http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), older):   http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), oldest):  http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), "other"): 498,
	} {
		notified := new(sandbox.Sandbox).Send(t, http.MethodPost, s.base+gocardless.WebhookPath, `{"events":[]}`, "Webhook-Signature", signature)
		if notified.Status != want {
			t.Errorf("a notification is answered %d, want %d", notified.Status, want)
		}
	}
	if got := sandbox.Fetch(t, s.ops+"/readyz"); got.Status != http.StatusServiceUnavailable {
		t.Errorf("without GoCardless /readyz answers %d, want 503", got.Status)
	}
	if got := sandbox.Fetch(t, s.base+"/sandbox/processor/billing-requests/BR1"); got.Status != http.StatusNotFound {
		t.Errorf("the fake processor's pages answer %d in production, want 404", got.Status)
	}
	code, _, stderr := s.stop()
	if code != 0 {
		t.Errorf("status %d:\n%s", code, stderr)
	}
	saysNot(t, stderr, "hunter2", oldest, older, newer, secret)
}

func TestADeskThatIsHalfConfiguredIsRefused(t *testing.T) {
	roles := proc.TempFile(t, `{"claim": "groups", "agent": ["grp-1"]}`)
	whole := []string{"--desk-addr=127.0.0.1:0", "--desk-url=https://desk.lender.example", "--desk-oidc-issuer=https://id.lender.example",
		"--desk-oidc-audience=desk", "--desk-roles=" + roles}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a URL without an address", whole[1:2], "--desk-url needs --desk-addr"},
		{"an issuer without an address", whole[2:3], "--desk-oidc-issuer needs --desk-addr"},
		{"an audience without an address", whole[3:4], "--desk-oidc-audience needs --desk-addr"},
		{"a header without an address", []string{"--desk-token-header=X-Token"}, "--desk-token-header needs --desk-addr"},
		{"an issuer alone", append(whole[:1:1], whole[2]), "--desk-addr needs --desk-url; --desk-addr needs --desk-oidc-audience; "},
		{"an address alone", whole[:1], "--desk-addr needs --desk-url; --desk-addr needs --desk-oidc-issuer; --desk-addr needs --desk-oidc-audience; " +
			"--desk-addr needs --desk-roles"},
		{"an address without a port", []string{"--desk-addr=9443"}, "--desk-addr \"9443\" must be HOST:PORT"},
		{"no file of roles", append(whole[:4:4], "--desk-roles=/nonexistent"), "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := try(t, nil, "", append([]string{"serve", "--addr=127.0.0.1:0", "--store=sqlite:" + t.TempDir() + "/a.db"}, tt.args...)...)
			got.refuses(t, exitUsage, tt.want)
		})
	}
}
