package gocardless

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	perMinute    = 1000 // requests of one account, by GoCardless' rate limit
	burst        = perMinute / 6
	longestPause = 20 * time.Second // after a refused request: GoCardless names a time up to a minute away
)

// errLimited is the error of a request that may not be sent within the caller's time.
var errLimited = fmt.Errorf("GoCardless' rate limit is used up: %w", ports.ErrBusy)

// limiter keeps the requests of this process within the rate limit, and holds them back after GoCardless has refused one, because
// other processes use the account too.
type limiter struct {
	bucket *rate.Limiter
	now    func() time.Time
	pause  func(context.Context, time.Duration) (lasted bool)
	mu     sync.Mutex
	closed time.Time // until then no request is sent
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{bucket: rate.NewLimiter(rate.Limit(perMinute-burst)/60, burst), now: now, pause: outbound.Pause}
}

// wait returns when a request may be sent. It fails at once if that is not within the caller's time.
func (l *limiter) wait(ctx context.Context) error {
	l.mu.Lock()
	closed := l.closed.Sub(l.now())
	l.mu.Unlock()
	if closed > 0 && !l.sleep(ctx, closed) || l.bucket.Wait(ctx) != nil {
		return errLimited
	}
	return nil
}

// sleep pauses, and reports whether ctx lasts as long. If it cannot, sleep does not pause.
func (l *limiter) sleep(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !(ok && time.Until(deadline) < d) && l.pause(ctx, d)
}

// refused holds further requests back for as long as the answer to a refused request says.
func (l *limiter) refused(h http.Header) {
	now := l.now()
	there, err := http.ParseTime(h.Get("Date")) // dates in the answer are by GoCardless' clock
	if err != nil {
		there = now
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = now.Add(min(retryAfter(h, there), longestPause))
}

// retryAfter returns the pause that an answer asks for: GoCardless says it as RateLimit-Reset, and a proxy before it as Retry-After.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16); err == nil {
		return time.Duration(seconds) * time.Second
	}
	for _, name := range []string{"Retry-After", "RateLimit-Reset"} {
		if at, err := http.ParseTime(h.Get(name)); err == nil {
			return max(at.Sub(now), 0)
		}
	}
	return 0
}
