// Package ops is the operator's handler of a running service: whether it is alive and ready, and
// its metrics for Prometheus. It requires no key, so serve it on a listener that only the
// operator's network reaches, never on the public one.
//
// Create the metrics first, because the service and its handlers count with them:
//
//	registry := ops.NewRegistry() // or your own
//	metrics := ops.NewMetrics(registry)
//	svc, err := service.New(service.Config{…, Count: metrics.Count})
//	api := httpapi.New(svc, httpapi.Options{…, Observe: metrics.ObserveRequest})
//	operator, err := ops.New(svc, ops.Options{Metrics: metrics, Gatherer: registry, Log: log})
package ops

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Handler answers the operator at these paths:
//
//	/healthz   200 as long as the process answers at all
//	/readyz    200 if it should be sent requests, else 503; the body names the check that failed. A CRM that is away
//	           does not fail it
//	/metrics   all metrics, in Prometheus' text format; only with Options.Gatherer
//
// The cause of a failed check is in the log and not in the answer, because it might contain secrets.
type Handler struct {
	service  *service.Service
	paths    *http.ServeMux
	draining atomic.Bool
}

// Options are the options of the handler. It always shows the state of the service.
type Options struct {
	// Metrics are the metrics of the service; New adds the state of its outbox to them. Nil: there are no metrics.
	Metrics *Metrics
	// Gatherer collects the metrics for /metrics. Nil for a program that serves its metrics elsewhere.
	Gatherer prometheus.Gatherer
	Log      *slog.Logger // for metrics that cannot be collected, which are left out of the answer; optional
}

// New returns the handler of a service. An error means that the registry of the metrics already has the outbox of a
// service.
func New(s *service.Service, o Options) (*Handler, error) {
	h := &Handler{service: s, paths: http.NewServeMux()}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics != nil {
		if err := o.Metrics.registerer.Register(newBacklog(h, o.Metrics, o.Log)); err != nil {
			return nil, fmt.Errorf("register the metrics of the outbox: %w", err)
		}
	}
	h.paths.HandleFunc("GET /healthz", h.healthz)
	h.paths.HandleFunc("GET /readyz", h.readyz)
	if o.Gatherer != nil {
		h.paths.Handle("GET /metrics", promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
			ErrorLog:      slog.NewLogLogger(o.Log.Handler(), slog.LevelError),
			ErrorHandling: promhttp.ContinueOnError,
		}))
	}
	return h, nil
}

// Drain makes /readyz answer 503 from now on, so that a load balancer sends requests elsewhere.
func (h *Handler) Drain() { h.draining.Store(true) }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	h.paths.ServeHTTP(w, r)
}

func (h *Handler) healthz(w http.ResponseWriter, _ *http.Request) {
	web.WriteJSON(w, http.StatusOK, aliveWire{Alive: true})
}

func (h *Handler) readyz(w http.ResponseWriter, r *http.Request) {
	answer := toReadyWire(!h.draining.Load(), h.service.Health(r.Context()))
	status := http.StatusOK
	if !answer.Ready {
		w.Header().Set("Retry-After", "1") // for as long is the result of a check kept
		status = http.StatusServiceUnavailable
	}
	web.WriteJSON(w, status, answer)
}
