package ops

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// backlogLimit is the longest time that the store may take to count its outbox.
const backlogLimit = time.Second

// backlog collects the state of the queue and of the evidence log, whenever metrics are collected. If the store
// cannot count it, backlog logs why and collects nothing, because an error could make a host's handler drop all other
// metrics too.
type backlog struct {
	service *service.Service
	log     *slog.Logger
}

// Describe implements [prometheus.Collector].
func (b backlog) Describe(to chan<- *prometheus.Desc) {
	to <- pendingEvents()
	to <- oldestAge()
	to <- waitingSteps()
	to <- oldestStepAge()
	to <- waitingNotices()
	to <- oldestNoticeAge()
	to <- unsealedEntries()
	to <- oldestUnsealedAge()
	to <- checkpointAge()
}

// Collect implements [prometheus.Collector].
func (b backlog) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), backlogLimit)
	defer cancel()
	if all, err := b.service.Backlogs(ctx); err != nil {
		b.log.ErrorContext(ctx, "collect metrics of the queue", "error", err)
	} else {
		gauges(to, pendingEvents(), oldestAge(), all[checkout.JobDeliver])
		gauges(to, waitingSteps(), oldestStepAge(), all[checkout.JobOpen], all[checkout.JobComplete])
		gauges(to, waitingNotices(), oldestNoticeAge(), all[checkout.JobNotify])
		gauges(to, unsealedEntries(), oldestUnsealedAge(), all[checkout.JobSeal])
	}
	switch age, ok, err := b.service.CheckpointAge(ctx); {
	case err != nil:
		b.log.ErrorContext(ctx, "collect metrics of the newest checkpoint", "error", err)
	case ok:
		to <- prometheus.MustNewConstMetric(checkpointAge(), prometheus.GaugeValue, age.Seconds())
	}
}

// gauges collects how many jobs of some kinds wait, and the age of the oldest.
func gauges(to chan<- prometheus.Metric, number, oldest *prometheus.Desc, kinds ...service.Backlog) {
	var sum service.Backlog
	for _, b := range kinds {
		sum.Waiting, sum.Age = sum.Waiting+b.Waiting, max(sum.Age, b.Age)
	}
	to <- prometheus.MustNewConstMetric(number, prometheus.GaugeValue, float64(sum.Waiting))
	to <- prometheus.MustNewConstMetric(oldest, prometheus.GaugeValue, sum.Age.Seconds())
}

func pendingEvents() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_outbox_pending_events",
		"Events that are neither delivered nor given up, those being delivered included.", nil, nil)
}

func oldestAge() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_outbox_oldest_pending_age_seconds",
		"Age of the oldest pending event; 0 if there is none.", nil, nil)
}

func waitingSteps() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_crm_steps_waiting",
		"Checkouts that wait for a CRM outside of the store, those under way included.", nil, nil)
}

func oldestStepAge() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_crm_steps_oldest_age_seconds",
		"How long the oldest of them has waited; 0 if there is none.", nil, nil)
}

func waitingNotices() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_notices_waiting", "Notices to payers that are neither sent nor given up.", nil, nil)
}

func oldestNoticeAge() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_notices_oldest_age_seconds", "Age of the oldest of them; 0 if there is none.", nil, nil)
}

func unsealedEntries() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_evidence_unsealed_entries",
		"Entries of the evidence log that are not sealed, those that nothing attests included.", nil, nil)
}

func oldestUnsealedAge() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_evidence_oldest_unsealed_age_seconds",
		"Age of the oldest of them; 0 if there is none.", nil, nil)
}

func checkpointAge() *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_evidence_checkpoint_age_seconds",
		"Age of the newest checkpoint of the evidence log; none without one that the evidence key signed.", nil, nil)
}
