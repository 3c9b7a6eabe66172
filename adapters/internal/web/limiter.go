package web

import (
	"cmp"
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
	perSecond float64
	now       func() time.Time

	mu      sync.Mutex
	buckets *bounded.Map[string, *rate.Limiter]
}

// NewLimiter allows perSecond requests for each name, in bursts of twice that; 0 allows all.
func NewLimiter(perSecond float64, now func() time.Time) *Limiter {
	return &Limiter{perSecond: perSecond, now: now, buckets: bounded.New[string, *rate.Limiter](limitedNames)}
}

// Allow counts one request, and returns how long to wait if there were too many. A request
// that is refused does not count.
func (l *Limiter) Allow(name string) (wait time.Duration, ok bool) { return l.AllowAt(name, 0) }

// AllowAt is Allow for a name that has a rate of its own; 0 for that of any other name. A Limiter that allows all allows that name all too.
func (l *Limiter) AllowAt(name string, perSecond float64) (wait time.Duration, ok bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	limit := cmp.Or(perSecond, l.perSecond)
	create := func() *rate.Limiter { return rate.NewLimiter(rate.Limit(limit), max(1, int(math.Ceil(2*limit)))) }
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket := l.buckets.Use(name, create)
	if bucket.Limit() != rate.Limit(limit) { // the operator changed it
		bucket = create()
		l.buckets.Put(name, bucket)
	}
	now := l.now()
	reserved := bucket.ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait == 0 {
		return 0, true
	}
	reserved.CancelAt(now)
	return wait, false
}
