package salesforce

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// readyLife is how long it is remembered that the CRM was ready: each look is a call that counts for the daily limit.
const readyLife = 15 * time.Second

// readiness remembers when the CRM was ready.
type readiness struct {
	mu sync.Mutex
	at time.Time
}

func (r *readiness) recent(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.at.IsZero() && now.Sub(r.at) < readyLife
}

func (r *readiness) set(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = now
}

// Ready implements ports.CRM: the client can sign in, and the organisation has calls left.
func (c *CRM) Ready(ctx context.Context) error {
	if now := c.client.now(); ctx.Err() == nil && c.ready.recent(now) {
		return nil
	}
	limits, err := send[limitsWire](ctx, c.client, call{method: "GET", path: "/limits"})
	switch {
	case err != nil:
		return err
	case limits.Requests.Remaining <= 0:
		return errors.Join(errors.New("the organisation's daily limit of calls is used up"), ports.ErrBusy)
	}
	c.ready.set(c.client.now())
	return nil
}
