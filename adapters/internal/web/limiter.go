package web

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
)

// limitedNames is the number of names that a Limiter keeps at least. A name that was dropped starts with a full burst.
const limitedNames = 8192

// Limiter limits requests by name (a key, an address, a token). It is bounded in memory and
// safe for concurrent use.
type Limiter struct {
	perSecond rate.Limit
	burst     int
	now       func() time.Time

	mu      sync.Mutex
	buckets *bounded.Map[string, *rate.Limiter]
}

// NewLimiter allows perSecond requests for each name, in bursts of twice that; 0 allows all.
func NewLimiter(perSecond float64, now func() time.Time) *Limiter {
	return &Limiter{
		perSecond: rate.Limit(perSecond),
		burst:     burstOf(perSecond),
		now:       now,
		buckets:   bounded.New[string, *rate.Limiter](limitedNames),
	}
}

// SetRate allows a name perSecond requests from now on, in bursts of twice that; 0 allows it as many as any other name. A Limiter
// that allows all is not changed.
func (l *Limiter) SetRate(name string, perSecond float64) {
	limit, burst := l.perSecond, l.burst
	if perSecond > 0 {
		limit, burst = rate.Limit(perSecond), burstOf(perSecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if bucket := l.bucket(name); l.perSecond > 0 && bucket.Limit() != limit {
		l.buckets.Put(name, rate.NewLimiter(limit, burst))
	}
}

// bucket returns the bucket of a name. The caller holds the lock.
func (l *Limiter) bucket(name string) *rate.Limiter {
	return l.buckets.Use(name, func() *rate.Limiter { return rate.NewLimiter(l.perSecond, l.burst) })
}

// burstOf returns the largest number of requests at once.
func burstOf(perSecond float64) int { return max(1, int(math.Ceil(2*perSecond))) }

// Allow counts one request, and returns how long to wait if there were too many. A request
// that is refused does not count.
func (l *Limiter) Allow(name string) (wait time.Duration, ok bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	bucket := l.bucket(name)
	reserved := bucket.ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait == 0 {
		return 0, true
	}
	reserved.CancelAt(now)
	return wait, false
}
