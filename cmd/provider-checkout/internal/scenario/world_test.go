package scenario_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// world is a site over HTTP, with a receiver of the events and a clock that the test moves.
type world struct {
	*sandbox.Sandbox
	payer http.RoundTripper // of the payer's browser
}

// newWorld serves a site until the test ends, composed as serve composes it, with the fake processor in a sandbox and GoCardless in
// production.
func newWorld(t *testing.T, env catalogue.Environment) world {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	at := "http://" + server.Listener.Addr().String()
	w := world{&sandbox.Sandbox{URL: at, Store: memory.New(time.Now), Clock: &sandbox.Clock{}, Receiver: sandbox.NewReceiver(t),
		Keys: map[string]string{}}, http.DefaultTransport}
	cfg := site.Config{Store: w.Store, Secrets: [][]byte{bytes.Repeat([]byte("s"), checkout.MinSecret)}, AllowPrivate: true,
		Service: service.Config{Environment: env, BaseURL: at}, Now: w.Clock.Now, Log: slog.New(slog.DiscardHandler)}
	providers := sandbox.Providers
	if env == catalogue.Production { // whose addresses are public
		const public, hooks = "https://pay.example", "https://hooks.example"
		to := redirected{public: at}
		cfg.Service.BaseURL, w.payer = public, to
		cfg.Service.Sender = toReceiver{webhook.New(webhook.Options{AllowPrivate: true}), hooks, w.Receiver.URL}
		cfg.GoCardless = to.goCardless(t, w.Clock.Now)
		providers = strings.NewReplacer(`"environment": "sandbox"`, `"environment": "production"`, "HOOKS", hooks).Replace(providers)
	}
	s, err := site.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s.Handler
	server.Start()
	t.Cleanup(server.Close)
	w.Configure(t, providers)
	w.Keys["KOWHAI"] = sandbox.IssueKey(t, w.Store, "KOWHAI", env)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Service.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return w
}

// toReceiver is a sender that sends the events for an address to a receiver.
type toReceiver struct {
	ports.Sender
	public, receiver string
}

func (s toReceiver) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	to.URL = strings.Replace(to.URL, s.public, s.receiver, 1)
	return s.Sender.Send(ctx, to, d, attempt)
}

// redirected sends the requests to an origin to another one.
type redirected map[string]string

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	if to, ok := r[req.URL.Scheme+"://"+req.URL.Host]; ok {
		u, err := url.Parse(to + req.URL.RequestURI())
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.URL = u
	}
	return http.DefaultTransport.RoundTrip(req)
}

// goCardless returns GoCardless of production, whose API and pages are a simulator's.
func (r redirected) goCardless(t *testing.T, now func() time.Time) *site.GoCardless {
	t.Helper()
	const token, api, pages = "live_hunter2_token", "https://api.gocardless.com", "https://pay.gocardless.com"
	bank := gocardlesstest.New(gocardlesstest.Options{Token: token, PublicURL: pages, Now: now})
	server := httptest.NewServer(bank)
	t.Cleanup(func() { bank.Close(); server.Close() })
	r[api], r[pages] = server.URL, server.URL
	p, err := gocardless.New(gocardless.Options{Environment: catalogue.Production, Token: token, URL: api, Transport: r, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return &site.GoCardless{Processor: p, WebhookSecrets: [][]byte{[]byte("webhook_secret_hunter2")}}
}

// order returns the order id of a scenario.
func order(s scenario.Scenario) string { return "ENROL-1+" + string(s) }

// poll returns the provider's view of a checkout.
func (w world) poll(t *testing.T, created apiclient.Response) apiclient.Response {
	t.Helper()
	return w.Get(t, "KOWHAI", created.CheckoutPath())
}

// setUp has the payer complete the bank setup once.
func (w world) setUp(t *testing.T, created apiclient.Response) error {
	t.Helper()
	return apiclient.NewBrowser(&http.Client{Transport: w.payer}).SetUp(t.Context(), created.SetupURL())
}

// received are the events that arrived, in their order.
func (w world) received() (names []string) {
	for _, d := range w.Receiver.Deliveries() {
		names = append(names, d.JSON.Text("event"))
	}
	return names
}

// verifies reports whether a delivery has the signature of the provider's secret.
func (w world) verifies(d sandbox.Delivery) bool {
	return events.Verify("whsec_kowhai_0123456789abcdef", d.Header.Get(events.HeaderSignature), d.Body, w.Clock.Now(), time.Hour) == nil
}

// answered checks the status of an answer, and values by their paths.
func answered(t *testing.T, r apiclient.Response, status int, want map[string]any) {
	t.Helper()
	if r.Status != status {
		t.Fatalf("answered %d %s, want %d", r.Status, r.Body, status)
	}
	for path, value := range want {
		if got := r.At(path); got != value {
			t.Errorf("%s is %v, want %v, in %s", path, got, value, r.Body)
		}
	}
}

// arrived checks the names of the events that arrived.
func (w world) arrived(t *testing.T, want ...string) {
	t.Helper()
	if got := w.received(); !slices.Equal(got, want) {
		t.Errorf("the receiver got %q, want %q", got, want)
	}
}
