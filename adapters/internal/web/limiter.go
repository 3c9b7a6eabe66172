package web

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxNames is how many names a generation of a Limiter holds.
const maxNames = 8192

// Limiter limits requests by name (a key, an address, a token). It is bounded in memory and
// safe for concurrent use.
//
// Names live in two generations: a full young one becomes the old one, whose names that were
// not seen since are forgotten, and begin anew when they come back.
type Limiter struct {
	perSecond rate.Limit
	burst     int
	now       func() time.Time

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
}

// NewLimiter allows perSecond requests for each name, in bursts of twice that; 0 allows all.
func NewLimiter(perSecond float64, now func() time.Time) *Limiter {
	return &Limiter{
		perSecond: rate.Limit(perSecond),
		burst:     max(1, int(math.Ceil(2*perSecond))),
		now:       now,
		young:     make(map[string]*rate.Limiter),
	}
}

// Allow counts one request, and says how long to wait where there were too many. A request
// that is refused does not count.
func (l *Limiter) Allow(name string) (wait time.Duration, ok bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	taken := l.bucket(name).ReserveN(now, 1)
	if wait = taken.DelayFrom(now); wait == 0 {
		return 0, true
	}
	taken.CancelAt(now)
	return wait, false
}

// bucket returns what the name has left, as a member of the young generation.
func (l *Limiter) bucket(name string) *rate.Limiter {
	if b, ok := l.young[name]; ok {
		return b
	}
	b, ok := l.old[name]
	if !ok {
		b = rate.NewLimiter(l.perSecond, l.burst)
	}
	if len(l.young) >= maxNames {
		l.old, l.young = l.young, make(map[string]*rate.Limiter)
	}
	l.young[name] = b
	return b
}
