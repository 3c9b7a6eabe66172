package evidencelog

import (
	"context"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// page is the number of sealed entries that are read at a time.
	page = 500
	// waitingAtFirst is the number of unsealed entries that are read first; ten times as many where there are more, which
	// happens only where nothing seals.
	waitingAtFirst = 10_000
)

// Each calls visit with every entry: the sealed ones in the order of their positions, then the others, the oldest first. An
// entry that is sealed meanwhile is visited once.
func (l Log) Each(ctx context.Context, visit func(e evidence.Entry, position int64) error) error {
	next, err := l.eachSealed(ctx, 0, visit)
	if err != nil {
		return err
	}
	waiting, err := allUnsealed(ctx, l.Store)
	if err != nil {
		return err
	}
	meanwhile := map[string]bool{}
	if _, err := l.eachSealed(ctx, next, func(e evidence.Entry, position int64) error {
		meanwhile[e.ID] = true
		return visit(e, position)
	}); err != nil {
		return err
	}
	for _, e := range waiting {
		if meanwhile[e.ID] {
			continue
		}
		if err := visit(e, evidence.Unsealed); err != nil {
			return err
		}
	}
	return nil
}

// eachSealed calls visit with every sealed entry from a position on, and returns the position after the last.
func (l Log) eachSealed(ctx context.Context, from int64, visit func(e evidence.Entry, position int64) error) (next int64, err error) {
	for next = from; ; {
		entries, err := l.Store.SealedEvidence(ctx, next, page)
		if err != nil {
			return next, err
		}
		for _, e := range entries {
			if err := visit(e, next); err != nil {
				return next, err
			}
			next++
		}
		if len(entries) < page {
			return next, nil
		}
	}
}

// allUnsealed returns every entry that is not sealed, the oldest first.
func allUnsealed(ctx context.Context, store ports.EvidenceReader) ([]evidence.Entry, error) {
	for limit := waitingAtFirst; ; limit *= 10 {
		entries, err := store.UnsealedEvidence(ctx, limit)
		if err != nil || len(entries) < limit {
			return entries, err
		}
	}
}
