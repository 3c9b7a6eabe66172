package ops

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// backlogLimit is how long the store may take to count its outbox.
const backlogLimit = time.Second

// backlog collects the state of the outbox whenever metrics are collected. If the store cannot count it, backlog logs
// why and collects nothing, because an error could make a host's handler drop all other metrics too.
type backlog struct {
	service *service.Service
	log     *slog.Logger
}

// Describe implements [prometheus.Collector].
func (b backlog) Describe(to chan<- *prometheus.Desc) {
	to <- pendingEvents()
	to <- oldestAge()
}

// Collect implements [prometheus.Collector].
func (b backlog) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), backlogLimit)
	defer cancel()
	pending, age, err := b.service.Backlog(ctx)
	if err != nil {
		b.log.ErrorContext(ctx, "collect metrics of the outbox", "error", err)
		return
	}
	to <- prometheus.MustNewConstMetric(pendingEvents(), prometheus.GaugeValue, float64(pending))
	to <- prometheus.MustNewConstMetric(oldestAge(), prometheus.GaugeValue, age.Seconds())
}

func pendingEvents() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_outbox_pending_events",
		"Events that are neither delivered nor given up, those being delivered included.", nil, nil)
}

func oldestAge() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_outbox_oldest_pending_age_seconds",
		"Age of the oldest pending event; 0 if there is none.", nil, nil)
}
