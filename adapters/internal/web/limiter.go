package web

import (
	"fmt"
	"math"
	"net/http"
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
		burst:     max(1, int(math.Ceil(2*perSecond))),
		now:       now,
		buckets:   bounded.New[string, *rate.Limiter](limitedNames),
	}
}

// SetHeaders sets RateLimit-Policy to the requests in a time, and RateLimit to the requests that the name may make at once, and the
// seconds until they are as many as ever.
func (l *Limiter) SetHeaders(h http.Header, name string) {
	if l.perSecond <= 0 {
		return
	}
	left := l.tokens(name)
	full := math.Ceil((float64(l.burst) - left) / float64(l.perSecond))
	h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, max(1, int(l.perSecond)), max(1, int(math.Ceil(1/float64(l.perSecond))))))
	h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, max(0, int(left)), int(full)))
}

func (l *Limiter) tokens(name string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket(name).TokensAt(l.now())
}

// bucket returns the bucket of a name. The caller holds the lock.
func (l *Limiter) bucket(name string) *rate.Limiter {
	return l.buckets.Use(name, func() *rate.Limiter { return rate.NewLimiter(l.perSecond, l.burst) })
}

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
