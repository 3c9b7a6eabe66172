package ops

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// namespace is the prefix of every metric of this package.
const namespace = "provider_checkout"

// Metrics counts what a service does. It is safe for concurrent use.
type Metrics struct {
	registerer prometheus.Registerer
	single     map[service.Count]prometheus.Counter
	byProvider map[service.Count]*prometheus.CounterVec
	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
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
	in := factory{promauto.With(r)}
	confirms := in.count("confirms_total", "Confirms that were answered with success.", "confirm", "provider")
	ended := in.count("mandates_ended_total", "Mandates of confirmed checkouts that ended, by the status that they reached.", "status")
	return &Metrics{
		registerer: r,
		requests:   in.count("http_requests_total", "Requests to the public listener that were answered.", "method", "route", "status"),
		durations: in.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "http_request_duration_seconds",
			Help:    "How long requests took, the delivery of their events included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"method", "route"}),
		byProvider: map[service.Count]*prometheus.CounterVec{
			service.CountCreate:          in.count("creates_total", "Checkouts that were opened.", "provider"),
			service.CountConfirm:         confirms.MustCurryWith(prometheus.Labels{"confirm": "first"}),
			service.CountRepeatedConfirm: confirms.MustCurryWith(prometheus.Labels{"confirm": "repeated"}),
			service.CountUnprinted:       in.count("unprinted_total", "Confirms whose agreement has no PDF.", "provider"),
		},
		single: map[service.Count]prometheus.Counter{ // which begin at once, so that their first increase is seen
			service.CountSyncRefused:      in.count("crm_refusals_total", "Updates that the CRM refused.").WithLabelValues(),
			service.CountMandateFailed:    ended.WithLabelValues("failed"),
			service.CountMandateCancelled: ended.WithLabelValues("cancelled"),
			service.CountMandateExpired:   ended.WithLabelValues("expired"),
			service.CountMandateBlocked:   ended.WithLabelValues("blocked"),
		},
	}
}

// ObserveLog exports the number of lines of the log that were lost.
func (m *Metrics) ObserveLog(lost func() int64) {
	promauto.With(m.registerer).NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: "log_lines_lost_total",
		Help: "Lines of the log that its reader was too slow for, or gone."}, func() float64 { return float64(lost()) })
}

// factory makes the metrics of this package.
type factory struct{ promauto.Factory }

func (f factory) count(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

// Count counts. Pass it as service.Config.Count.
func (m *Metrics) Count(c service.Count, provider string) {
	if vec, ok := m.byProvider[c]; ok {
		vec.WithLabelValues(provider).Inc()
		return
	}
	m.single[c].Inc()
}

// ObserveRequest counts a request. Pass it as httpapi.Options.Observe.
func (m *Metrics) ObserveRequest(a web.Answered) {
	m.requests.WithLabelValues(a.Method, a.Route, strconv.Itoa(a.Status)).Inc()
	m.durations.WithLabelValues(a.Method, a.Route).Observe(a.Took.Seconds())
}

// CountStamps adds the time-stamps of signatures. Call the function that it returns with each that was asked for, as
// pdf.Stamper.Count. It panics if they are there.
func (m *Metrics) CountStamps() (asked func(stamped bool)) {
	vec := factory{promauto.With(m.registerer)}.count("timestamps_total", "Time-stamps that were asked for, and whether they came.", "came")
	came, missed := vec.WithLabelValues("true"), vec.WithLabelValues("false")
	return func(stamped bool) {
		if stamped {
			came.Inc()
			return
		}
		missed.Inc()
	}
}

// Gauge adds a metric whose value is read when metrics are collected: NaN where it is not known. It panics if it is there.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registerer.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, read))
}

// backlogLimit is the longest time that the store may take to count its outbox.
const backlogLimit = time.Second

// backlog collects the checks of /readyz and the state of the queue, whenever metrics are collected. If the store cannot
// count it, backlog logs why and collects NaN, because an error could make a host's handler drop all other metrics too, and an
// alert on a series that is gone is resolved.
type backlog struct {
	*Handler
	metrics *Metrics
	checks  *prometheus.Desc
	log     *slog.Logger
	queues  []queue
}

// queue has the metrics of the pending jobs of a kind.
type queue struct {
	waiting, oldest, failing *prometheus.Desc
	kind                     checkout.JobKind
}

func newBacklog(h *Handler, m *Metrics, log *slog.Logger) backlog {
	return backlog{Handler: h, metrics: m, log: log,
		checks: describe("ready", "Whether a check of /readyz holds: 1, or 0.", "check"),
		queues: []queue{
			{describe("outbox_pending_events", "Events that are neither delivered nor given up, those being delivered included."),
				describe("outbox_oldest_pending_age_seconds", "Age of the oldest pending event; 0 if there is none."),
				describe("outbox_failing", "Pending events whose latest attempt failed."), checkout.JobDeliver},
			{describe("crm_waiting", "Checkouts of which the CRM is still to be told."),
				describe("crm_oldest_age_seconds", "How long the oldest of them has waited; 0 if there is none."),
				describe("crm_failing", "Checkouts of them whose latest attempt failed."), checkout.JobSync},
			{describe("ends_waiting", "Direct debits of cancelled checkouts and withdrawn agreements that the processor has yet to cancel."),
				describe("ends_oldest_age_seconds", "How long the oldest of them has waited; 0 if there is none."),
				describe("ends_failing", "Direct debits of them whose latest attempt failed."), checkout.JobEnd},
			{describe("notices_waiting", "Notices to payers that are neither sent nor given up."),
				describe("notices_oldest_age_seconds", "Age of the oldest of them; 0 if there is none."),
				describe("notices_failing", "Notices of them whose latest attempt failed."), checkout.JobNotify},
		},
	}
}

// Describe implements [prometheus.Collector].
func (b backlog) Describe(to chan<- *prometheus.Desc) {
	for _, q := range b.queues {
		to <- q.waiting
		to <- q.oldest
		to <- q.failing
	}
	to <- b.checks
}

// Collect implements [prometheus.Collector].
func (b backlog) Collect(to chan<- prometheus.Metric) {
	h := b.service.Health(context.Background())
	for check, holds := range map[string]bool{"serving": !b.draining.Load(), "store": h.Store == nil, "processor": h.Processor == nil} {
		to <- gauge(b.checks, map[bool]float64{true: 1}[holds], check)
	}
	ctx, cancel := context.WithTimeout(context.Background(), backlogLimit)
	defer cancel()
	all, err := b.service.Backlogs(ctx)
	if err != nil {
		b.log.ErrorContext(ctx, "collect metrics of the queue", "error", err)
	}
	for _, q := range b.queues {
		b := all[q.kind]
		waiting, age, failing := float64(b.Waiting), b.Age.Seconds(), float64(b.Failing)
		if err != nil {
			waiting, age, failing = math.NaN(), math.NaN(), math.NaN()
		}
		to <- gauge(q.waiting, waiting)
		to <- gauge(q.oldest, age)
		to <- gauge(q.failing, failing)
	}
	codes, err := b.service.ProviderCodes(ctx)
	if err != nil {
		b.log.ErrorContext(ctx, "collect metrics of providers", "error", err)
	}
	for _, code := range codes { // whose counters begin at 0, so that their first increases are seen
		for _, vec := range b.metrics.byProvider {
			vec.WithLabelValues(code)
		}
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
