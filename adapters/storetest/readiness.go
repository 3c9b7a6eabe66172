package storetest

import (
	"context"
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Readiness holds a store to what ports.Store says of Ready.
func Readiness(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a new store is ready", newIsReady},
		{"asking whether a store is ready changes nothing on record", readyChangesNothing},
		{"many may ask at once whether a store is ready", readyTogether},
		{"a store is not found ready once ctx has ended", readyEnds},
	})
}

func newIsReady(t *testing.T, s ports.Store) {
	must(t, "Ready", s.Ready(t.Context()))
}

func readyChangesNothing(t *testing.T, s ports.Store) {
	configure(t, s, configuration("KOWHAI"))
	addKeys(t, s, key(1))
	insert(t, s, opened(1), opened(2))
	confirm(t, s, opened(1).Next.ID, 1)
	before := export(t, s)
	must(t, "Ready", s.Ready(t.Context()))
	must(t, "Ready again", s.Ready(t.Context()))
	same(t, "record", export(t, s), before)
	n, err := s.DrawNumber(t.Context())
	must(t, "DrawNumber", err)
	same(t, "the next number", n, int64(1))
}

func readyTogether(t *testing.T, s ports.Store) {
	for _, err := range together(many, func(int) error { return s.Ready(t.Context()) }) {
		must(t, "Ready", err)
	}
}

func readyEnds(t *testing.T, s ports.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, "Ready", s.Ready(ctx), context.Canceled)
}
