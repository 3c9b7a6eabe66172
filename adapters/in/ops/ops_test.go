package ops_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

var now = time.Date(2026, 11, 20, 4, 5, 6, 0, time.UTC)

// outside has the dependencies of the service of a test. With the zero value all checks succeed.
type outside struct {
	*memory.Store
	storeErr, processorErr error

	backlog    map[checkout.JobKind]checkout.Backlog
	backlogErr error

	providers []string // their codes
}

func (o *outside) Providers(context.Context, ...string) (all []catalogue.Provider, err error) {
	for _, code := range o.providers {
		all = append(all, catalogue.Provider{Code: code})
	}
	return all, nil
}

func (o *outside) Backlog(context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	return maps.Clone(o.backlog), o.backlogErr
}

func (o *outside) Ready(context.Context) error { return o.storeErr }

// events returns dependencies with events that wait.
func events(waiting int, oldest time.Time) *outside {
	return &outside{backlog: map[checkout.JobKind]checkout.Backlog{checkout.JobDeliver: {Waiting: waiting, Oldest: oldest}}}
}

// processor is a processor whose state the test sets.
type processor struct {
	*fakeprocessor.Processor
	err error
}

func (p processor) Ready(context.Context) error { return p.err }

type printer struct{}

func (printer) SignedBy() string { return "" }

func (printer) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return []byte("%PDF"), nil
}

// newService returns a service over o that counts with metrics.
func newService(t *testing.T, o *outside, metrics *ops.Metrics) *service.Service {
	t.Helper()
	o.Store = memory.New(func() time.Time { return now })
	keyring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	if err != nil {
		t.Fatal(err)
	}
	const baseURL = "https://pay.example"
	fake := fakeprocessor.New(fakeprocessor.Options{Records: o, BaseURL: baseURL})
	svc, err := service.New(service.Config{Environment: catalogue.Sandbox, BaseURL: baseURL, Keyring: keyring,
		Store: o, Processor: processor{fake, o.processorErr}, Printer: printer{}, Sender: webhook.New(webhook.Options{}),
		Now: func() time.Time { return now }, Rand: rand.Reader,
		Report: func(context.Context, service.Failure) {}, Count: metrics.Count})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// newHandler returns the operator's handler of a service over o with a registry of its own, its metrics, and what it logs.
func newHandler(t *testing.T, o *outside) (*ops.Handler, *ops.Metrics, *bytes.Buffer) {
	t.Helper()
	registry := ops.NewRegistry()
	metrics := ops.NewMetrics(registry)
	var log bytes.Buffer
	handler, err := ops.New(newService(t, o, metrics), ops.Options{Metrics: metrics, Gatherer: registry,
		Log: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return handler, metrics, &log
}

func get(handler http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestReadyNamesEachCheck(t *testing.T) {
	down := errors.New("dial tcp: password hunter2 refused")
	for _, tt := range []struct {
		name    string
		outside *outside
		drain   bool
		status  int
		body    string
	}{
		{"all is well", &outside{}, false, 200, `{"ready":true,"checks":{"serving":true,"store":true,"processor":true}}`},
		{"the store is down", &outside{storeErr: down}, false, 503,
			`{"ready":false,"checks":{"serving":true,"store":false,"processor":true}}`},
		{"the processor is down", &outside{processorErr: down}, false, 503,
			`{"ready":false,"checks":{"serving":true,"store":true,"processor":false}}`},
		{"the service drains", &outside{}, true, 503,
			`{"ready":false,"checks":{"serving":false,"store":true,"processor":true}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler, _, _ := newHandler(t, tt.outside)
			if tt.drain {
				handler.Drain()
			}
			w := get(handler, "/readyz")
			if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body {
				t.Errorf("/readyz = %d %s, want %d %s", w.Code, w.Body, tt.status, tt.body)
			}
			if w := get(handler, "/healthz"); w.Code != 200 || w.Body.String() != "{\"alive\":true}\n" {
				t.Errorf("/healthz = %d %s, want 200, whatever the service depends on", w.Code, w.Body)
			}
			for _, check := range []string{"serving", "store", "processor"} {
				measured := map[bool]string{true: "1", false: "0"}[strings.Contains(tt.body, `"`+check+`":true`)]
				has(t, handler, `provider_checkout_ready{check="`+check+`"} `+measured)
			}
		})
	}
}

func TestHostWithMetricsOfItsOwn(t *testing.T) {
	t.Run("may answer Prometheus elsewhere", func(t *testing.T) {
		registry := prometheus.NewRegistry()
		metrics := ops.NewMetrics(registry)
		handler, err := ops.New(newService(t, events(3, now), metrics), ops.Options{Metrics: metrics})
		if err != nil {
			t.Fatal(err)
		}
		if w := get(handler, "/metrics"); w.Code != http.StatusNotFound {
			t.Errorf("/metrics = %d, want 404", w.Code)
		}
		has(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), "provider_checkout_outbox_pending_events 3")
	})
	t.Run("may do without those of the service", func(t *testing.T) {
		registry := ops.NewRegistry()
		handler, err := ops.New(newService(t, &outside{}, ops.NewMetrics(prometheus.NewRegistry())), ops.Options{Gatherer: registry})
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range lines(t, handler) {
			if strings.HasPrefix(sample, "provider_checkout_") {
				t.Errorf("/metrics has %q", sample)
			}
		}
	})
	t.Run("may run two services under labels", func(t *testing.T) {
		registry := prometheus.NewRegistry()
		for _, name := range []string{"a", "b"} {
			metrics := ops.NewMetrics(prometheus.WrapRegistererWith(prometheus.Labels{"service": name}, registry))
			if _, err := ops.New(newService(t, &outside{}, metrics), ops.Options{Metrics: metrics}); err != nil {
				t.Errorf("service %s: %v", name, err)
			}
		}
	})
	t.Run("cannot register two outboxes with one registry", func(t *testing.T) {
		metrics := ops.NewMetrics(prometheus.NewRegistry())
		for i, want := range []bool{true, false} {
			handler, err := ops.New(newService(t, &outside{}, metrics), ops.Options{Metrics: metrics})
			if (err == nil) != want || (handler != nil) != want {
				t.Errorf("handler %d: %v, %v; want it to be made: %v", i+1, handler, err, want)
			}
		}
	})
}

// lines returns the samples among a scrape, without their comments.
func lines(t *testing.T, handler http.Handler) []string {
	t.Helper()
	w := get(handler, "/metrics")
	text, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("/metrics = %d, %v", w.Code, err)
	}
	var samples []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			samples = append(samples, strings.TrimSpace(line))
		}
	}
	return samples
}

// has reports the samples that a scrape lacks.
func has(t *testing.T, handler http.Handler, wants ...string) {
	t.Helper()
	samples := lines(t, handler)
	for _, want := range wants {
		if !slices.Contains(samples, want) {
			t.Errorf("there is no %q in\n%s", want, strings.Join(samples, "\n"))
		}
	}
}

func TestEveryOutcomeHasACounterOfItsOwn(t *testing.T) {
	const by = `,provider="KOWHAI"}`
	series := map[service.Count]string{
		service.CountCreate:           `provider_checkout_creates_total{provider="KOWHAI"}`,
		service.CountConfirm:          `provider_checkout_confirms_total{confirm="first"` + by,
		service.CountRepeatedConfirm:  `provider_checkout_confirms_total{confirm="repeated"` + by,
		service.CountUnprinted:        `provider_checkout_unprinted_total{provider="KOWHAI"}`,
		service.CountSyncRefused:      "provider_checkout_crm_refusals_total",
		service.CountMandateFailed:    `provider_checkout_mandates_ended_total{status="failed"}`,
		service.CountMandateCancelled: `provider_checkout_mandates_ended_total{status="cancelled"}`,
		service.CountMandateExpired:   `provider_checkout_mandates_ended_total{status="expired"}`,
		service.CountMandateBlocked:   `provider_checkout_mandates_ended_total{status="blocked"}`,
	}
	for _, counted := range service.Counts() {
		handler, metrics, _ := newHandler(t, &outside{providers: []string{"KOWHAI"}})
		lines(t, handler) // the counters of a provider begin with the first scrape
		metrics.Count(counted, "KOWHAI")
		metrics.Count(counted, "KOWHAI")
		for o, name := range series {
			count := " 0"
			if o == counted {
				count = " 2"
			}
			has(t, handler, name+count)
		}
	}
}

func TestRequestsAreCountedAndTimed(t *testing.T) {
	handler, metrics, _ := newHandler(t, &outside{})
	const one = "/v1/provider-checkouts/{checkoutId}"
	metrics.ObserveRequest(httpapi.Answered{Method: "GET", Route: one, Status: 200, Took: 250 * time.Millisecond})
	metrics.ObserveRequest(httpapi.Answered{Method: "GET", Route: one, Status: 200, Took: 500 * time.Millisecond})
	metrics.ObserveRequest(httpapi.Answered{Method: "GET", Route: one, Status: 404, Took: 4 * time.Second})
	has(t, handler,
		`provider_checkout_http_requests_total{method="GET",route="`+one+`",status="200"} 2`,
		`provider_checkout_http_requests_total{method="GET",route="`+one+`",status="404"} 1`,
		`provider_checkout_http_request_duration_seconds_bucket{method="GET",route="`+one+`",le="0.1"} 0`,
		`provider_checkout_http_request_duration_seconds_bucket{method="GET",route="`+one+`",le="0.25"} 1`,
		`provider_checkout_http_request_duration_seconds_bucket{method="GET",route="`+one+`",le="0.5"} 2`,
		`provider_checkout_http_request_duration_seconds_count{method="GET",route="`+one+`"} 3`,
		`provider_checkout_http_request_duration_seconds_sum{method="GET",route="`+one+`"} 4.75`,
	)
}

func TestEveryQueueIsCountedWhenItIsAskedFor(t *testing.T) {
	o := &outside{backlog: map[checkout.JobKind]checkout.Backlog{}}
	for kind, waiting := range map[checkout.JobKind]int{checkout.JobDeliver: 4, checkout.JobSync: 3, checkout.JobEnd: 2} {
		o.backlog[kind] = checkout.Backlog{Waiting: waiting, Failing: waiting - 1, Oldest: now.Add(-40 * time.Second)}
	}
	ahead := o.backlog[checkout.JobEnd]
	ahead.Oldest = now.Add(time.Hour) // of a machine whose clock is ahead
	o.backlog[checkout.JobEnd] = ahead
	handler, _, _ := newHandler(t, o)
	has(t, handler,
		"provider_checkout_outbox_pending_events 4", "provider_checkout_outbox_oldest_pending_age_seconds 40",
		"provider_checkout_outbox_failing 3",
		"provider_checkout_crm_waiting 3", "provider_checkout_crm_oldest_age_seconds 40", "provider_checkout_crm_failing 2",
		"provider_checkout_ends_waiting 2", "provider_checkout_ends_oldest_age_seconds 0", "provider_checkout_ends_failing 1",
		"provider_checkout_notices_waiting 0", "provider_checkout_notices_oldest_age_seconds 0", "provider_checkout_notices_failing 0",
	)
}

// One metric's error could make a host's handler answer with an error and no metrics at all.
func TestOutboxThatCannotBeCountedIsNoErrorOfTheHostsRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := ops.NewMetrics(registry)
	if _, err := ops.New(newService(t, &outside{backlogErr: errors.New("the disk is gone")}, metrics), ops.Options{Metrics: metrics}); err != nil {
		t.Fatal(err)
	}
	if families, err := registry.Gather(); err != nil || len(families) == 0 {
		t.Errorf("Gather() = %d families, %v; want all others", len(families), err)
	}
}
