package ops

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// namespace is the prefix of every metric of this package.
const namespace = "provider_checkout"

// Metrics counts what a service does. It is safe for concurrent use.
type Metrics struct {
	registerer prometheus.Registerer
	counters   map[service.Count]prometheus.Counter
	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	commits    prometheus.Histogram
	retries    *prometheus.CounterVec
}

// NewRegistry returns a registry with the metrics of Go and of the process, for a program that has none of its own.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// NewMetrics returns metrics that are registered with r. It panics if r has them already: two services in one program
// each need labels of their own (prometheus.WrapRegistererWith).
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(r)
	return &Metrics{
		registerer: r,
		counters:   newCounters(in),
		requests: in.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "http_requests_total",
			Help: "Requests to the public listener that were answered."}, []string{"method", "route", "status"}),
		durations: in.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "http_request_duration_seconds",
			Help:    "How long requests took, the delivery of their events included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"method", "route"}),
		commits: in.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "commit_batch_size",
			Help:    "Writes that the store committed together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9)}),
		retries: in.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "crm_retries_total",
			Help: "Calls of a CRM outside of the store that were made again at once, by their reason."}, []string{"kind"}),
	}
}

// newCounters returns a counter for everything that the service counts.
func newCounters(in promauto.Factory) map[service.Count]prometheus.Counter {
	count := func(name, help string) prometheus.Counter {
		return in.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	countBy := func(label, name, help string) *prometheus.CounterVec {
		return in.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
	}
	confirms := countBy("confirm", "confirms_total", "Confirms that were answered with success.")
	deliveries := countBy("outcome", "deliveries_total", "Events by their outcome.")
	steps := countBy("outcome", "crm_steps_total", "Attempts at what checkouts wait for in a CRM outside of the store, by their outcome.")
	notices := countBy("outcome", "notices_total", "Notices to payers by their outcome; put_off is an attempt that another follows.")
	ended := countBy("status", "mandates_ended_total", "Mandates of confirmed checkouts that ended, by the status that they reached.")
	return map[service.Count]prometheus.Counter{
		service.CountCreate:   count("creates_total", "Checkouts that were opened."),
		service.CountReplay:   count("replays_total", "Creates that found the checkout that they opened before."),
		service.CountConflict: count("conflicts_total", "Creates and confirms that contradicted what is on record."),

		service.CountConfirm:         confirms.WithLabelValues("first"),
		service.CountRepeatedConfirm: confirms.WithLabelValues("repeated"),

		service.CountDelivered:     deliveries.WithLabelValues("delivered"),
		service.CountFailed:        deliveries.WithLabelValues("failed"),
		service.CountNotConfigured: deliveries.WithLabelValues("not_configured"),

		service.CountStepDone:    steps.WithLabelValues("done"),
		service.CountStepUnknown: steps.WithLabelValues("unknown"),
		service.CountStepRefused: steps.WithLabelValues("refused"),

		service.CountNoticeSent:    notices.WithLabelValues("sent"),
		service.CountNoticePutOff:  notices.WithLabelValues("put_off"),
		service.CountNoticeFailed:  notices.WithLabelValues("failed"),
		service.CountNoticeDropped: notices.WithLabelValues("dropped"),

		service.CountMandateFailed:    ended.WithLabelValues("failed"),
		service.CountMandateCancelled: ended.WithLabelValues("cancelled"),
		service.CountMandateExpired:   ended.WithLabelValues("expired"),
		service.CountMandateBlocked:   ended.WithLabelValues("blocked"),

		service.CountClocksApart: count("evidence_clocks_apart_total", "Looks at the evidence log that found clocks more than two minutes apart."),
		service.CountNotSealed:   count("evidence_seal_failures_total", "Attempts to seal the evidence log that failed."),

		service.CountRecovery: count("recoveries_total", "Events that their request left and that were settled after all."),
	}
}

// Count counts. Pass it as service.Config.Count.
func (m *Metrics) Count(c service.Count) { m.counters[c].Inc() }

// ObserveRequest counts a request. Pass it as httpapi.Options.Observe.
func (m *Metrics) ObserveRequest(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(method, route).Observe(took.Seconds())
}

// ObserveCommit counts a commit of this many writes. Pass it as sqlite.Options.OnCommit.
func (m *Metrics) ObserveCommit(writes int) { m.commits.Observe(float64(writes)) }

// CountCRMRetry counts a call of a CRM outside of the store that is made again at once, by its reason.
func (m *Metrics) CountCRMRetry(kind string) { m.retries.WithLabelValues(kind).Inc() }

// ObserveCRMLimit adds how many calls of a CRM outside of the store are left, and of how many. It panics if they are there.
func (m *Metrics) ObserveCRMLimit(limit func() (left, of int, known bool)) {
	m.registerer.MustRegister(crmLimit{limit,
		newGauge("crm_calls_left", "Calls that the CRM still takes today, of all its clients."),
		newGauge("crm_calls_limit", "Calls that the CRM takes in a day.")})
}

// crmLimit collects the limit of a CRM, once that is known.
type crmLimit struct {
	limit    func() (left, of int, known bool)
	left, of gauge
}

// Describe implements [prometheus.Collector].
func (c crmLimit) Describe(to chan<- *prometheus.Desc) {
	to <- c.left.Desc
	to <- c.of.Desc
}

// Collect implements [prometheus.Collector].
func (c crmLimit) Collect(to chan<- prometheus.Metric) {
	if left, of, known := c.limit(); known {
		to <- c.left.at(float64(left))
		to <- c.of.at(float64(of))
	}
}
