package storetest

import (
	"context"
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Readiness tests a store against ports.Store.Ready.
func Readiness(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a new store is ready", newIsReady},
		{"a check of readiness changes nothing on record", readyChangesNothing},
		{"many checks of readiness at once succeed", readyTogether},
		{"a check of readiness ends with its context", readyEnds},
	})
}

func newIsReady(t *testing.T, s ports.Admin) {
	must(t, "Ready", s.Ready(t.Context()))
}

func readyChangesNothing(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	addKeys(t, s, key(1))
	insert(t, s, opened(1), opened(2))
	confirm(t, s, opened(1).Next.ID, 1)
	before := export(t, s)
	must(t, "Ready", s.Ready(t.Context()))
	must(t, "Ready again", s.Ready(t.Context()))
	same(t, "record", export(t, s), before)
}

func readyTogether(t *testing.T, s ports.Admin) {
	allSucceed(t, "Ready", many, func(int) error { return s.Ready(t.Context()) })
}

func readyEnds(t *testing.T, s ports.Admin) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, "Ready", s.Ready(ctx), context.Canceled)
}
