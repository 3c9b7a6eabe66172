package gocardless

import (
	"context"
	"time"
)

// PassPauses replaces the pauses between attempts and for the budget.
func (p *Processor) PassPauses(pass func(time.Duration)) {
	p.client.budget.pause = func(ctx context.Context, d time.Duration) bool {
		pass(d)
		return ctx.Err() == nil
	}
}

// RetryAfter is the reading of the headers of a refusal for too many calls.
var RetryAfter = retryAfter
