package ops_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

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

func TestReadinessIsMeasured(t *testing.T) {
	down := errors.New("connection refused")
	for _, tt := range []struct {
		name    string
		outside *outside
		drain   bool
		down    string
	}{
		{"all is well", &outside{}, false, ""},
		{"the store is down", &outside{storeErr: down}, false, "store"},
		{"the processor is down", &outside{processorErr: down}, false, "processor"},
		{"the service drains", &outside{}, true, "serving"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler, _, _ := newHandler(t, tt.outside)
			if tt.drain {
				handler.Drain()
			}
			for _, check := range []string{"serving", "store", "processor"} {
				want := "1"
				if check == tt.down {
					want = "0"
				}
				has(t, handler, `provider_checkout_ready{check="`+check+`"} `+want)
			}
		})
	}
}

func TestOutboxIsCountedWhenItIsAskedFor(t *testing.T) {
	const pending, age = "provider_checkout_outbox_pending_events ", "provider_checkout_outbox_oldest_pending_age_seconds "
	for _, tt := range []struct {
		name         string
		outside      *outside
		pending, age string
	}{
		{"an empty outbox", &outside{}, "0", "0"},
		{"three events, the oldest 90 seconds old", events(3, now.Add(-90*time.Second)), "3", "90"},
		{"an event of a machine whose clock is ahead", events(1, now.Add(time.Hour)), "1", "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler, _, _ := newHandler(t, tt.outside)
			has(t, handler, pending+tt.pending, age+tt.age)
		})
	}
}

func TestEveryQueueIsCountedWhenItIsAskedFor(t *testing.T) {
	o := &outside{backlog: map[checkout.JobKind]checkout.Backlog{}}
	for kind, waiting := range map[checkout.JobKind]int{checkout.JobDeliver: 4, checkout.JobSync: 3, checkout.JobEnd: 2} {
		o.backlog[kind] = checkout.Backlog{Waiting: waiting, Failing: waiting - 1, Oldest: now.Add(-40 * time.Second)}
	}
	handler, _, _ := newHandler(t, o)
	has(t, handler,
		"provider_checkout_outbox_pending_events 4", "provider_checkout_outbox_oldest_pending_age_seconds 40",
		"provider_checkout_outbox_failing 3",
		"provider_checkout_crm_waiting 3", "provider_checkout_crm_oldest_age_seconds 40", "provider_checkout_crm_failing 2",
		"provider_checkout_ends_waiting 2", "provider_checkout_ends_oldest_age_seconds 40", "provider_checkout_ends_failing 1",
		"provider_checkout_notices_waiting 0", "provider_checkout_notices_oldest_age_seconds 0", "provider_checkout_notices_failing 0",
	)
}

func TestOutboxThatCannotBeCountedTakesNothingElseAway(t *testing.T) {
	handler, _, log := newHandler(t, &outside{backlogErr: errors.New("the disk is gone")})
	samples := lines(t, handler)
	for _, prefix := range []string{`provider_checkout_mandates_ended_total{status="failed"} 0`, "go_goroutines ", "process_resident_memory_bytes ",
		"provider_checkout_outbox_pending_events NaN", "provider_checkout_outbox_oldest_pending_age_seconds NaN",
		"provider_checkout_crm_oldest_age_seconds NaN"} {
		if !slices.ContainsFunc(samples, func(s string) bool { return strings.HasPrefix(s, prefix) }) {
			t.Errorf("there is no %q", prefix)
		}
	}
	if !strings.Contains(log.String(), "the disk is gone") {
		t.Errorf("the log is %q, want the cause", log)
	}
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
