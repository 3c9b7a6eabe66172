package salesforce

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// The pauses between two calls once Salesforce has refused a call for the number of calls.
const (
	firstGap   = 20 * time.Millisecond // it doubles with each further refusal
	longestGap = 8 * time.Second
	leastGap   = 10 * time.Millisecond // a shorter gap is no gap
	regrowth   = 4 * time.Second       // in which answers make the calls of a second e times as many
)

// refusedInARow is the number of refusals without another answer in between that say more than that a call was unlucky.
const refusedInARow = 3

// errThrottled is the error of a call that was not sent.
var errThrottled = fmt.Errorf("%w: Salesforce refuses calls for their number", ports.ErrBusy)

// pace spaces the calls of all enrolments once Salesforce has refused calls for the number of calls. Each further refusal
// doubles the gap between two calls, and answers shorten it little by little, until there is no gap. The zero value has no gap.
type pace struct {
	mu      sync.Mutex
	refused int // in a row
	gap     time.Duration
	next    time.Time // when the next call may be sent
	raised  time.Time // when the gap was raised last
}

// take takes the turn of a call and returns 0, or returns how long it is until the next turn. A clock that steps back makes no gap
// longer.
func (p *pace) take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait := p.next.Sub(now); p.gap > 0 && 0 < wait && wait <= longestGap {
		return wait
	}
	p.next = now.Add(p.gap)
	return 0
}

// observe learns from the answer to a call. The answer to a call that was sent before the gap was raised says nothing of the
// present gap.
func (p *pace) observe(throttled bool, sent, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused++; !throttled {
		p.refused = 0
	}
	if p.raised.After(now) { // the clock has stepped back since
		p.raised = time.Time{}
	}
	switch {
	case !sent.After(p.raised), throttled && p.refused < refusedInARow:
	case throttled:
		p.gap = min(max(2*p.gap, firstGap), longestGap)
		p.raised, p.next = now, now.Add(p.gap)
	default:
		if p.gap -= min(p.gap/2, time.Duration(p.gap.Seconds()*float64(p.gap)/regrowth.Seconds())); p.gap < leastGap {
			p.gap = 0
		}
	}
}

// turn waits for the turn of a call, with fewer than maxCalls under way; the call ends with done. If its turn does not come
// before ctx ends, the error is an ErrBusy.
func (c *CRM) turn(ctx context.Context) (done func(), err error) {
	for {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		done = func() { <-c.slots }
		wait := c.pace.take(c.options.Now())
		if wait == 0 {
			return done, nil
		}
		done()
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return nil, errThrottled
		}
		if !c.pause(ctx, wait) {
			return nil, errors.Join(errThrottled, ctx.Err())
		}
	}
}
