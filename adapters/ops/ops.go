// Package ops is the operator's own door to a running service: whether it is alive and ready, and
// its metrics for Prometheus. It asks for no key, so it belongs on a listener that only the
// operator's network reaches, never on the public one.
//
// Metrics are made first, for they are what the service and its HTTP doors tell:
//
//	metrics := ops.NewMetrics()
//	svc, err := service.New(service.Config{…, Count: metrics.Count})
//	api := httpapi.New(svc, httpapi.Options{…, Observe: metrics.ObserveRequest})
//	door := ops.New(svc, metrics, log)
package ops

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Door answers the operator at these paths:
//
//	/healthz   200 as long as the process answers at all
//	/readyz    200 if it should be sent requests, else 503; the body says which check failed
//	/metrics   everything that it counts, in Prometheus' text format
//
// Why a check failed is in the log and not in the answer, where it might tell more than it should.
type Door struct {
	service  *service.Service
	paths    *http.ServeMux
	draining atomic.Bool
}

// New returns the door of a service that tells metrics what happens. Metrics that cannot be
// collected are logged and left out of the answer.
func New(s *service.Service, metrics *Metrics, log *slog.Logger) *Door {
	d := &Door{service: s, paths: http.NewServeMux()}
	outbox := prometheus.NewRegistry()
	outbox.MustRegister(backlog{s})
	all := prometheus.Gatherers{metrics.registry, outbox}

	d.paths.HandleFunc("GET /healthz", d.healthz)
	d.paths.HandleFunc("GET /readyz", d.readyz)
	d.paths.Handle("GET /metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling: promhttp.ContinueOnError,
	}))
	return d
}

// Drain has /readyz answer 503 from now on: what comes from a load balancer should go elsewhere.
func (d *Door) Drain() { d.draining.Store(true) }

// ServeHTTP implements [http.Handler].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	d.paths.ServeHTTP(w, r)
}

func (d *Door) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, aliveWire{Alive: true})
}

func (d *Door) readyz(w http.ResponseWriter, r *http.Request) {
	answer := readyOf(!d.draining.Load(), d.service.Health(r.Context()))
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, answer)
}

// writeJSON answers with v. A client that is gone is nobody to tell of an error.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
