package salesforce

import (
	"context"
	"time"
)

// PassPauses replaces the pauses between attempts.
func (c *CRM) PassPauses(pass func(time.Duration)) {
	c.pause = func(ctx context.Context, d time.Duration) bool {
		pass(d)
		return ctx.Err() == nil
	}
}
