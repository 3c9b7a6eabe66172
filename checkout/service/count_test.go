package service_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// counts holds how often each thing was counted.
type counts struct {
	mu  sync.Mutex
	all map[service.Count]int
}

func counted() (*counts, func(*service.Config)) {
	n := &counts{all: make(map[service.Count]int)}
	return n, func(c *service.Config) { c.Count = n.count }
}

func (n *counts) count(o service.Count, provider string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[o]++
	if provider != "KOWHAI" {
		n.all[o+" of "+service.Count(provider)]++
	}
}

// Every count is of what it says, once for each time that it happens, and of its provider.
func TestWhatHappensIsCounted(t *testing.T) {
	n, count := counted()
	seen := map[service.Count]bool{}
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		var cmd checkout.Confirm
		for _, step := range []struct {
			happens func()
			want    map[service.Count]int
		}{
			{func() { w.opened(t, "A") }, map[service.Count]int{service.CountCreate: 1}},
			{func() {
				w.opened(t, "A")
				w.Create(t.Context(), caller, checkout.Create{ProviderCode: checkout.Some("KOWHAI")})
			}, nil},
			{func() { cmd = w.ready(t, "A") }, nil},
			{func() { w.confirms(t, cmd); w.confirms(t, cmd) }, map[service.Count]int{service.CountConfirm: 1, service.CountRepeatedConfirm: 1}},
			{func() {
				for _, m := range []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateCancelled, checkout.MandateExpired, checkout.MandateBlocked} {
					w.becomes(t, m, "")
				}
			}, map[service.Count]int{service.CountMandateFailed: 1, service.CountMandateCancelled: 1, service.CountMandateExpired: 1,
				service.CountMandateBlocked: 1}},
			{func() { cmd = w.ready(t, "F"); w.printer.fail = 2; w.confirms(t, cmd) }, map[service.Count]int{service.CountCreate: 1,
				service.CountConfirm: 1, service.CountUnprinted: 1}},
			{func() { c.says(errBroken); w.opened(t, "D") }, map[service.Count]int{service.CountCreate: 1}},
			{func() { c.says(&checkout.CRMRefusal{Code: "RULE"}); w.opened(t, "E") },
				map[service.Count]int{service.CountCreate: 1, service.CountSyncRefused: 1}},
		} {
			clear(n.all)
			step.happens()
			if w.AwaitSent(); !maps.Equal(n.all, step.want) {
				t.Errorf("counted %v, want %v", n.all, step.want)
			}
			for o := range n.all {
				seen[o] = true
			}
		}
	}, count)
	for _, o := range service.Counts() {
		if !seen[o] {
			t.Errorf("nothing counts %q", o)
		}
	}
}
