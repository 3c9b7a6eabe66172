package ops_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/adapters/ops"
	"github.com/provider-checkout/provider-checkout/adapters/webhook"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

var now = time.Date(2026, 11, 20, 4, 5, 6, 0, time.UTC)

// outside is what the service of a test depends on: all is well with its zero value.
type outside struct {
	*memory.Store
	fakeprocessor.Processor
	storeErr, processorErr error

	pending    int
	oldest     time.Time
	backlogErr error
}

func (o *outside) Backlog(context.Context) (int, time.Time, error) {
	return o.pending, o.oldest, o.backlogErr
}

// store and processor tell the two apart by what Ready says.
type store struct{ *outside }

func (s store) Ready(context.Context) error { return s.storeErr }

type processor struct{ *outside }

func (p processor) Ready(context.Context) error { return p.processorErr }

type printer struct{}

func (printer) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return []byte("%PDF"), nil
}

// newDoor returns the operator's door of a service over o, and what it logs.
func newDoor(t *testing.T, o *outside, metrics *ops.Metrics) (*ops.Door, *bytes.Buffer) {
	t.Helper()
	o.Store = memory.New()
	keyring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	if err != nil {
		t.Fatal(err)
	}
	svc, err := service.New(service.Config{Environment: catalogue.Sandbox, BaseURL: "https://pay.example", Keyring: keyring,
		Store: store{o}, Processor: processor{o}, Printer: printer{}, Sender: webhook.New(webhook.Options{}),
		Now: func() time.Time { return now }, Rand: rand.Reader,
		Report: func(context.Context, error) {}, Count: metrics.Count})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	return ops.New(svc, metrics, slog.New(slog.NewJSONHandler(&log, nil))), &log
}

func get(door http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	door.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
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
			door, _ := newDoor(t, tt.outside, ops.NewMetrics())
			if tt.drain {
				door.Drain()
			}
			w := get(door, "/readyz")
			if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body {
				t.Errorf("/readyz = %d %s, want %d %s", w.Code, w.Body, tt.status, tt.body)
			}
			if w := get(door, "/healthz"); w.Code != 200 || w.Body.String() != "{\"alive\":true}\n" {
				t.Errorf("/healthz = %d %s: it lives, whatever it depends on", w.Code, w.Body)
			}
		})
	}
}

func TestDoorHasThreePathsToRead(t *testing.T) {
	door, _ := newDoor(t, &outside{}, ops.NewMetrics())
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/healthz", 200}, {"HEAD", "/healthz", 200}, {"GET", "/readyz", 200}, {"GET", "/metrics", 200},
		{"POST", "/readyz", 405}, {"DELETE", "/metrics", 405},
		{"GET", "/", 404}, {"GET", "/debug/pprof/", 404}, {"GET", "/v1", 404}, {"GET", "/metrics/x", 404},
	} {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.status || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s = %d with %v, want %d", tt.method, tt.path, w.Code, w.Header(), tt.status)
		}
	}
}

// lines returns the samples among a scrape, without their comments.
func lines(t *testing.T, door http.Handler) []string {
	t.Helper()
	w := get(door, "/metrics")
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
