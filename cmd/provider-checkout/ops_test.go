package main

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/ops"
	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

func TestOperatorIsAnsweredApartFromThePublic(t *testing.T) {
	p := started(t, "--ops-addr", "127.0.0.1:0")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/"} {
		public := fetch(t, p.base+path)
		if public.status != http.StatusNotFound || public.string("error.code") != "NOT_FOUND" {
			t.Errorf("the public asks for %s and gets %d %s", path, public.status, public.text)
		}
		want := http.StatusOK
		if path == "/debug/pprof/" {
			want = http.StatusNotFound
		}
		if got := fetch(t, p.ops+path); got.status != want {
			t.Errorf("the operator asks for %s and gets %d %s, want %d", path, got.status, got.text, want)
		}
	}
	if got := fetch(t, p.ops+"/v1"); got.status != http.StatusNotFound {
		t.Errorf("the operator's listener answers /v1 with %d %s", got.status, got.text)
	}
	scrape := fetch(t, p.ops+"/metrics").text
	for _, want := range []string{
		"\nprovider_checkout_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 4\n",
		"\nprovider_checkout_outbox_pending_events 0\n",
		"\ngo_goroutines ",
	} {
		if !strings.Contains(scrape, want) {
			t.Errorf("%q is missing in\n%s", want, scrape)
		}
	}
	if strings.Contains(scrape, "\nprovider_checkout_commit_batch_size_count 0\n") {
		t.Error("no commit of the store was counted")
	}
	if code, stdout, _ := p.stop(); code != cli.ExitDone || stdout != "" {
		t.Errorf("status %d, stdout %q", code, stdout)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.ops, "http://")); err == nil {
		conn.Close()
		t.Error("the operator's listener is open after the end")
	}
}

func TestWithoutItsFlagThereIsNoOperatorsListener(t *testing.T) {
	p := started(t)
	defer p.stop()
	if p.ops != "" {
		t.Errorf("the operator is answered on %s", p.ops)
	}
}

// fetch gets a URL.
func fetch(t *testing.T, url string) response {
	t.Helper()
	return new(sandbox).send(t, http.MethodGet, url, "")
}

// doorOf serves the operator's door of the sandbox.
func doorOf(t *testing.T, s *sandbox, metrics *ops.Metrics) (url string) {
	t.Helper()
	svc, err := service.New(s.config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(ops.New(svc, metrics, s.options.Log))
	t.Cleanup(server.Close)
	return server.URL
}

func TestMetricsMoveWithAWholeFlow(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			metrics := ops.NewMetrics()
			s := newSandbox(t, store.open(t), func(c *service.Config, o *httpapi.Options) {
				c.Count, o.Observe = metrics.Count, metrics.ObserveRequest
			})
			url := doorOf(t, s, metrics)

			created := s.create(t, "ORDER-1")
			s.post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1"))
			other := set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2027-03-01"`)
			refused(t, s.post(t, "KOWHAI", "/v1/provider-checkouts", other), 409, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
			refused(t, s.confirm(t, created), 409, "DIRECT_DEBIT_SETUP_INCOMPLETE")
			s.setUp(t, created)
			s.get(t, "KOWHAI", checkoutPath(created))
			for range 3 {
				if r := s.confirm(t, created); r.status != http.StatusOK {
					t.Fatalf("confirm: %d %s", r.status, r.text)
				}
			}
			s.hooks.answer(func(hook) int { return http.StatusInternalServerError })
			s.create(t, "ORDER-2")

			scrape := fetch(t, url+"/metrics").text
			const total = "provider_checkout_http_requests_total"
			for _, want := range []string{
				"provider_checkout_creates_total 2",
				"provider_checkout_replays_total 1",
				"provider_checkout_conflicts_total 1",
				`provider_checkout_confirms_total{confirm="first"} 1`,
				`provider_checkout_confirms_total{confirm="repeated"} 2`,
				`provider_checkout_deliveries_total{outcome="delivered"} 3`,
				`provider_checkout_deliveries_total{outcome="failed"} 1`,
				`provider_checkout_deliveries_total{outcome="not_configured"} 0`,
				"provider_checkout_recoveries_total 0",
				"provider_checkout_outbox_pending_events 0",
				"provider_checkout_outbox_oldest_pending_age_seconds 0",
				total + `{method="POST",route="/v1/provider-checkouts",status="201"} 2`,
				total + `{method="POST",route="/v1/provider-checkouts",status="200"} 1`,
				total + `{method="POST",route="/v1/provider-checkouts",status="409"} 1`,
				total + `{method="GET",route="/v1/provider-checkouts/{checkoutId}",status="200"} 1`,
				total + `{method="POST",route="/v1/provider-checkouts/{checkoutId}/confirm",status="200"} 3`,
				total + `{method="POST",route="/v1/provider-checkouts/{checkoutId}/confirm",status="409"} 1`,
				total + `{method="POST",route="/api/dd-setup",status="303"} 1`,
				total + `{method="POST",route="/sandbox/processor/billing-requests",status="303"} 1`,
				`provider_checkout_http_request_duration_seconds_count{method="POST",route="/v1/provider-checkouts"} 4`,
			} {
				if !strings.Contains(scrape, "\n"+want+"\n") {
					t.Errorf("%q is missing in\n%s", want, scrape)
				}
			}
			for _, secret := range []string{created.string("direct_debit.token"), created.string("checkout.checkout_id"), "KOWHAI"} {
				if strings.Contains(scrape, secret) {
					t.Errorf("%q is told in\n%s", secret, scrape)
				}
			}
		})
	}
}

func TestReadinessFollowsTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Environment: catalogue.Sandbox})
	if err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, db)
	url := doorOf(t, s, ops.NewMetrics())
	// settled asks until the answer is as wanted, for a check that was begun before may still be under way.
	settled := func(url string, want func(response) bool) (r response, ok bool) {
		for began := time.Now(); !ok && time.Since(began) < 5*time.Second; ok = want(r) {
			s.clock.forward(time.Second) // what was found before is not believed any longer
			r = fetch(t, url)
		}
		return r, ok
	}
	ready := func(when string, want bool) {
		t.Helper()
		status := http.StatusServiceUnavailable
		if want {
			status = http.StatusOK
		}
		if got, ok := settled(url+"/readyz", func(r response) bool {
			return r.status == status && r.at("ready") == want && r.at("checks.store") == want
		}); !ok {
			t.Errorf("%s: /readyz = %d %s, want %v", when, got.status, got.text, want)
		}
		if got, ok := settled(s.url+"/v1/environment", func(r response) bool {
			return r.status == http.StatusOK && r.at("readiness.ready_for_api_calls") == want
		}); !ok {
			t.Errorf("%s: /v1/environment = %d %s, want ready_for_api_calls %v", when, got.status, got.text, want)
		}
		if got := fetch(t, url+"/healthz"); got.status != http.StatusOK {
			t.Errorf("%s: /healthz = %d %s", when, got.status, got.text)
		}
	}
	ready("an open store", true)

	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	ready("a store that can be read and not written", false)
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	ready("a store that can be written again", true)

	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ready("a closed store", false)
}

func TestOperatorIsAnsweredWhileTheServerDrains(t *testing.T) {
	s := newSandbox(t, stores[0].open(t))
	svc, err := service.New(s.config)
	if err != nil {
		t.Fatal(err)
	}
	entered, finish := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-finish
		io.WriteString(w, "done")
	})
	public, private := local(t), local(t)
	ctx, stop := context.WithCancel(t.Context())
	log := slog.New(slog.DiscardHandler)
	ended := make(chan error, 1)
	go func() {
		ended <- (&site.Site{Service: svc, Handler: slow, Ops: ops.New(svc, ops.NewMetrics(), log), Log: log}).Serve(ctx, public, private)
	}()
	answered := make(chan string, 1)
	go func() { answered <- fetch(t, "http://"+public.Addr().String()).text }()
	<-entered
	url := "http://" + private.Addr().String()
	if got := fetch(t, url+"/readyz"); got.status != http.StatusOK {
		t.Errorf("before: /readyz = %d %s", got.status, got.text)
	}

	stop()
	for began := time.Now(); fetch(t, url+"/readyz").status == http.StatusOK && time.Since(began) < 5*time.Second; {
		// the server learns of the stop at once, but not from this goroutine
	}
	if got := fetch(t, url+"/readyz"); got.status != http.StatusServiceUnavailable || got.at("checks.serving") != false {
		t.Errorf("draining: /readyz = %d %s, want 503 that names serving", got.status, got.text)
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		if got := fetch(t, url+path); got.status != http.StatusOK {
			t.Errorf("draining: %s = %d %s", path, got.status, got.text)
		}
	}
	close(finish)
	if got := <-answered; got != "done" {
		t.Errorf("what was under way is answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	if conn, err := net.Dial("tcp", private.Addr().String()); err == nil {
		conn.Close()
		t.Error("the operator's listener is open after the end")
	}
}

func local(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}
