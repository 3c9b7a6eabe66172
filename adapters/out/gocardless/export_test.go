package gocardless

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// PassPauses replaces the pauses between attempts and after a refusal for the rate limit, which is not kept otherwise.
func (p *Processor) PassPauses(pass func(time.Duration)) {
	p.client.limit.bucket.SetLimit(rate.Inf)
	p.client.limit.pause = func(ctx context.Context, d time.Duration) bool {
		pass(d)
		return ctx.Err() == nil
	}
}

// RetryAfter is the reading of the headers of a refusal for too many calls.
var RetryAfter = retryAfter
