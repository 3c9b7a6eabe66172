package ops

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/checkout"
)

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
	for _, code := range codes {
		b.metrics.begin(code)
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
