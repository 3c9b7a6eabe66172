package ops_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestEveryOutcomeHasACounterOfItsOwn(t *testing.T) {
	series := map[service.Count]string{
		service.CountCreate:          "provider_checkout_creates_total",
		service.CountReplay:          "provider_checkout_replays_total",
		service.CountConflict:        "provider_checkout_conflicts_total",
		service.CountConfirm:         `provider_checkout_confirms_total{confirm="first"}`,
		service.CountRepeatedConfirm: `provider_checkout_confirms_total{confirm="repeated"}`,
		service.CountDelivered:       `provider_checkout_deliveries_total{outcome="delivered"}`,
		service.CountFailed:          `provider_checkout_deliveries_total{outcome="failed"}`,
		service.CountNotConfigured:   `provider_checkout_deliveries_total{outcome="not_configured"}`,
		service.CountRecovery:        "provider_checkout_recoveries_total",
		service.CountStepDone:        `provider_checkout_crm_steps_total{outcome="done"}`,
		service.CountStepUnknown:     `provider_checkout_crm_steps_total{outcome="unknown"}`,
		service.CountClocksApart:     "provider_checkout_evidence_clocks_apart_total",
		service.CountNotSealed:       "provider_checkout_evidence_seal_failures_total",
		service.CountStepRefused:     `provider_checkout_crm_steps_total{outcome="refused"}`,
	}
	for _, counted := range service.Counts() {
		handler, metrics, _ := newHandler(t, &outside{})
		metrics.Count(counted)
		metrics.Count(counted)
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
	metrics.ObserveRequest("GET", one, 200, 250*time.Millisecond)
	metrics.ObserveRequest("GET", one, 200, 500*time.Millisecond)
	metrics.ObserveRequest("GET", one, 404, 4*time.Second)
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

func TestCommitsAreCountedBySize(t *testing.T) {
	handler, metrics, _ := newHandler(t, &outside{})
	for _, writes := range []int{1, 1, 7, 64} {
		metrics.ObserveCommit(writes)
	}
	has(t, handler,
		`provider_checkout_commit_batch_size_bucket{le="1"} 2`,
		`provider_checkout_commit_batch_size_bucket{le="8"} 3`,
		`provider_checkout_commit_batch_size_bucket{le="64"} 4`,
		`provider_checkout_commit_batch_size_count 4`,
		`provider_checkout_commit_batch_size_sum 73`,
	)
}

func TestOutboxIsCountedWhenItIsAskedFor(t *testing.T) {
	const pending, age = "provider_checkout_outbox_pending_events ", "provider_checkout_outbox_oldest_pending_age_seconds "
	for _, tt := range []struct {
		name         string
		outside      *outside
		pending, age string
	}{
		{"an empty outbox", &outside{}, "0", "0"},
		{"three events, the oldest 90 seconds old", &outside{pending: 3, oldest: now.Add(-90 * time.Second)}, "3", "90"},
		{"an event of a machine whose clock is ahead", &outside{pending: 1, oldest: now.Add(time.Hour)}, "1", "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler, _, _ := newHandler(t, tt.outside)
			has(t, handler, pending+tt.pending, age+tt.age)
		})
	}
}

func TestWhatWaitsForTheCRMIsCountedWhenItIsAskedFor(t *testing.T) {
	o := &outside{}
	handler, _, _ := newHandler(t, o)
	at := now.Add(-40 * time.Second)
	change := checkout.Create{ProviderCode: checkout.Some("KOWHAI"), OrderID: checkout.Some("1")}.Reserve(checkout.Intent{}, "KOWHAI-1", at)
	if err := o.InsertCheckout(t.Context(), change, checkout.JobEntry{Now: at}); err != nil {
		t.Fatal(err)
	}
	has(t, handler, "provider_checkout_crm_steps_waiting 1", "provider_checkout_crm_steps_oldest_age_seconds 40")
}

func TestWhatIsNotSealedIsCountedWhenItIsAskedFor(t *testing.T) {
	const age = "provider_checkout_evidence_checkpoint_age_seconds"
	o := &outside{}
	handler, _, _ := newHandler(t, o)
	if samples := lines(t, handler); !slices.Contains(samples, "provider_checkout_evidence_unsealed_entries 0") ||
		slices.ContainsFunc(samples, func(s string) bool { return strings.HasPrefix(s, age) }) {
		t.Errorf("of an empty log without a checkpoint it says\n%s", strings.Join(samples, "\n"))
	}
	for i := range 3 {
		e := evidence.OfOperation(string(rune('1'+i)), evidence.Operation{At: now.Add(-time.Duration(i+1) * time.Minute)})
		if err := o.RecordEvidence(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	sign := func(keys evidence.Keys) {
		err := o.SealEvidence(t.Context(), 0, func(h evidence.Head, _ []evidence.Entry) (s evidence.Sealing, err error) {
			s.Head = h
			s.Head.Checkpoint, err = keys.Sign(evidence.Checkpoint{Size: h.Size, Root: h.Root(), At: now.Add(-90 * time.Second)})
			return s, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sign(evidenceKeys(t))
	has(t, handler, "provider_checkout_evidence_unsealed_entries 3",
		"provider_checkout_evidence_oldest_unsealed_age_seconds 180", age+" 90")
}

func TestOutboxThatCannotBeCountedTakesNothingElseAway(t *testing.T) {
	handler, _, log := newHandler(t, &outside{backlogErr: errors.New("the disk is gone")})
	samples := lines(t, handler)
	if slices.ContainsFunc(samples, func(s string) bool { return strings.Contains(s, "outbox") }) {
		t.Errorf("a made-up outbox is answered:\n%s", strings.Join(samples, "\n"))
	}
	for _, prefix := range []string{"provider_checkout_creates_total 0", "go_goroutines ", "process_resident_memory_bytes "} {
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
