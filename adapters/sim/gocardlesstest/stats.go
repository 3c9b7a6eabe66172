package gocardlesstest

import (
	"maps"
	"strconv"
)

// Statistics counts the work of a simulator so far.
type Statistics struct {
	Calls      map[string]int // by route: "POST /billing_requests", "GET /mandates/{id}", or "other"
	Answers    map[string]int // by route and status: "POST /billing_requests 201"; without calls that hung or were reset
	Faults     map[FaultKind]int
	WithoutKey int // calls that changed something and came without an Idempotency-Key

	BillingRequests int
	Fulfilled       int // billing requests
	Mandates        int
	Events          int

	// How many billing requests were created with each metadata ("checkout_id=CHK1") and each Idempotency-Key, and how many
	// mandates there are of billing requests with each metadata. A mandate that stands in another's place does not count.
	RequestsByMetadata map[string]int
	RequestsByKey      map[string]int
	MandatesByMetadata map[string]int

	Webhooks WebhookStatistics
}

// counts are the numbers that are counted at once.
type counts struct {
	calls      map[string]int
	answers    map[string]int
	withoutKey int
}

func newCounts() counts {
	return counts{calls: map[string]int{}, answers: map[string]int{}}
}

// routeName names a route for the statistics; nil is a path that the API does not have.
func routeName(r *route) string {
	if r == nil {
		return "other"
	}
	return r.name()
}

func (s *Simulator) count(r *route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.calls[routeName(r)]++
}

func (s *Simulator) countAnswer(r *route, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.answers[routeName(r)+" "+strconv.Itoa(status)]++
}

// Statistics returns what the simulator has done so far.
func (s *Simulator) Statistics() Statistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := Statistics{Calls: maps.Clone(s.counts.calls), Answers: maps.Clone(s.counts.answers), Faults: s.faults.Suffered(),
		WithoutKey: s.counts.withoutKey, BillingRequests: len(s.state.requestOrder), Mandates: len(s.state.mandateOrder),
		Events: len(s.state.events), RequestsByMetadata: map[string]int{}, RequestsByKey: map[string]int{},
		MandatesByMetadata: map[string]int{}, Webhooks: s.webhooks.statistics}
	for _, b := range s.state.requestOrder {
		if b.status == requestFulfilled {
			all.Fulfilled++
		}
		if b.key != "" {
			all.RequestsByKey[b.key]++
		}
		for name, value := range b.metadata {
			all.RequestsByMetadata[name+"="+value]++
			if b.mandateID != "" {
				all.MandatesByMetadata[name+"="+value]++
			}
		}
	}
	return all
}
