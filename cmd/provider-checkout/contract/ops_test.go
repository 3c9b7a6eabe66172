package contract_test

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// operatorOf serves the operator's handler of the sandbox.
func operatorOf(t *testing.T, s *suite, o ops.Options) (url string) {
	t.Helper()
	svc := s.Service(t)
	o.Log = s.Options.Log
	handler, err := ops.New(svc, o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestMetricsMoveWithAWholeFlow(t *testing.T) {
	withTheFake(t)
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			registry := ops.NewRegistry()
			metrics := ops.NewMetrics(registry)
			s := newSuite(t, store.open, func(c *service.Config, o *httpapi.Options) {
				c.Count, o.Observe = metrics.Count, metrics.ObserveRequest
			})
			url := operatorOf(t, s, ops.Options{Metrics: metrics, Gatherer: registry})

			created := s.Create(t, "ORDER-1")
			s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1"))
			other := set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2027-03-01"`)
			refused(t, s.Post(t, "KOWHAI", "/v1/provider-checkouts", other), 409, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
			refused(t, s.Confirm(t, created), 409, "DIRECT_DEBIT_SETUP_INCOMPLETE")
			s.SetUp(t, created)
			s.Get(t, "KOWHAI", created.CheckoutPath())
			for range 3 {
				if r := s.Confirm(t, created); r.Status != http.StatusOK {
					t.Fatalf("confirm: %d %s", r.Status, r.Body)
				}
			}
			s.Create(t, "ORDER-2")

			s.Keys["STRANGER"] = "pck_sandbox_nobody"
			refused(t, s.Post(t, "STRANGER", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-3")), 403, "INVALID_API_KEY")
			sandbox.Fetch(t, s.URL+"/STRANGER")

			scrape := sandbox.Fetch(t, url+"/metrics").Body
			const total = "provider_checkout_http_requests_total"
			for _, want := range []string{
				`provider_checkout_creates_total{provider="KOWHAI"} 2`,
				`provider_checkout_confirms_total{confirm="first",provider="KOWHAI"} 1`,
				`provider_checkout_confirms_total{confirm="repeated",provider="KOWHAI"} 2`,
				total + `{method="POST",route="/v1/provider-checkouts",status="403"} 1`,
				total + `{method="GET",route="other",status="404"} 1`,
				"provider_checkout_outbox_pending_events 0",
				"provider_checkout_outbox_oldest_pending_age_seconds 0",
				total + `{method="POST",route="/v1/provider-checkouts",status="201"} 2`,
				total + `{method="POST",route="/v1/provider-checkouts",status="200"} 1`,
				total + `{method="POST",route="/v1/provider-checkouts",status="409"} 1`,
				total + `{method="GET",route="/v1/provider-checkouts/{checkoutId}",status="200"} 1`,
				total + `{method="POST",route="/v1/provider-checkouts/{checkoutId}/confirm",status="200"} 3`,
				total + `{method="POST",route="/v1/provider-checkouts/{checkoutId}/confirm",status="409"} 1`,
				total + `{method="POST",route="/api/dd-setup",status="303"} 1`,
				total + `{method="POST",route="/sandbox/processor/billing-requests/{id}",status="303"} 1`,
				`provider_checkout_http_request_duration_seconds_count{method="POST",route="/v1/provider-checkouts"} 5`,
			} {
				if !strings.Contains(scrape, "\n"+want+"\n") {
					t.Errorf("%q is missing in\n%s", want, scrape)
				}
			}
			for _, secret := range []string{created.String("direct_debit.token"), created.String("checkout.checkout_id"), "STRANGER", "ORDER-1"} {
				if strings.Contains(scrape, secret) {
					t.Errorf("%q is exposed in\n%s", secret, scrape)
				}
			}
		})
	}
}

func TestReadinessFollowsTheStore(t *testing.T) {
	testlevel.Full(t) // it waits for a lock of SQLite
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Environment: catalogue.Sandbox})
	if err != nil {
		t.Fatal(err)
	}
	s := newSuite(t, sandbox.On(db))
	url := operatorOf(t, s, ops.Options{})
	// settled repeats the request until the answer is as wanted, because an earlier check may still be in progress.
	settled := func(url string, want func(response) bool) (r response, ok bool) {
		for began := time.Now(); !ok && time.Since(began) < patience; ok = want(r) {
			s.Clock.Forward(time.Second) // the earlier result is no longer cached
			r = sandbox.Fetch(t, url)
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
			return r.Status == status && r.At("ready") == want && r.At("checks.store") == want
		}); !ok {
			t.Errorf("%s: /readyz = %d %s, want %v", when, got.Status, got.Body, want)
		}
		if got, ok := settled(s.URL+"/v1/environment", func(r response) bool {
			return r.Status == http.StatusOK && r.At("readiness.ready_for_api_calls") == want
		}); !ok {
			t.Errorf("%s: /v1/environment = %d %s, want ready_for_api_calls %v", when, got.Status, got.Body, want)
		}
		if got := sandbox.Fetch(t, url+"/healthz"); got.Status != http.StatusOK {
			t.Errorf("%s: /healthz = %d %s", when, got.Status, got.Body)
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
