package evidencelog

import (
	"context"
	"math"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// page is the number of sealed entries that are read at a time.
const page = 500

// Each calls visit with every entry: the sealed ones in the order of their positions, then the others, the oldest first. An
// entry that is sealed meanwhile is visited once.
func (l Log) Each(ctx context.Context, visit func(e evidence.Entry, position int64) error) error {
	next, err := l.eachSealed(ctx, 0, visit)
	if err != nil {
		return err
	}
	waiting, err := l.Store.UnsealedEvidence(ctx, math.MaxInt32)
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
