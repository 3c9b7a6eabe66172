package ops

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// namespace begins the name of every metric but those of Go and of the process.
const namespace = "provider_checkout"

// Metrics counts what a service does, in a registry of its own. It is safe for concurrent use.
type Metrics struct {
	registry    *prometheus.Registry
	occurrences map[service.Occurrence]prometheus.Counter
	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	commits     prometheus.Histogram
}

// NewMetrics returns metrics that stand at zero, with those of Go and of the process.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	in := promauto.With(registry)
	return &Metrics{
		registry:    registry,
		occurrences: occurrenceCounters(in),
		requests: in.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "http_requests_total",
			Help: "Requests to the public listener that were answered."}, []string{"method", "route", "status"}),
		durations: in.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "http_request_duration_seconds",
			Help:    "How long requests took, the delivery of their events included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"method", "route"}),
		commits: in.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "commit_batch_size",
			Help:    "Writes that the store committed together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9)}),
	}
}

// occurrenceCounters has a counter for every occurrence.
func occurrenceCounters(in promauto.Factory) map[service.Occurrence]prometheus.Counter {
	count := func(name, help string) prometheus.Counter {
		return in.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	countBy := func(label, name, help string) *prometheus.CounterVec {
		return in.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
	}
	confirms := countBy("confirm", "confirms_total", "Confirms that were answered with success.")
	deliveries := countBy("outcome", "deliveries_total", "Events by what became of them.")
	return map[service.Occurrence]prometheus.Counter{
		service.OccurrenceCreate:   count("creates_total", "Checkouts that were opened."),
		service.OccurrenceReplay:   count("replays_total", "Creates that found the checkout that they opened before."),
		service.OccurrenceConflict: count("conflicts_total", "Creates and confirms that contradicted what is on record."),

		service.OccurrenceConfirm:         confirms.WithLabelValues("first"),
		service.OccurrenceRepeatedConfirm: confirms.WithLabelValues("repeated"),

		service.OccurrenceDelivered:     deliveries.WithLabelValues("delivered"),
		service.OccurrenceFailed:        deliveries.WithLabelValues("failed"),
		service.OccurrenceNotConfigured: deliveries.WithLabelValues("not_configured"),

		service.OccurrenceRecovery: count("recoveries_total", "Events that their request left and that were settled after all."),
	}
}

// Count counts an occurrence: it is for service.Config.Count.
func (m *Metrics) Count(o service.Occurrence) { m.occurrences[o].Inc() }

// ObserveRequest counts a request: it is for the Observe of the HTTP doors' options.
func (m *Metrics) ObserveRequest(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(method, route).Observe(took.Seconds())
}

// ObserveCommit counts a commit that took so many writes together: it is for a store that has
// something to say of it.
func (m *Metrics) ObserveCommit(writes int) { m.commits.Observe(float64(writes)) }
