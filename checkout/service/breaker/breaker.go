// Package breaker holds a circuit breaker: while something outside does not answer, it is left alone but for a call now
// and then that finds out whether it answers again.
package breaker

import (
	"sync"
	"time"
)

const (
	// threshold is how many calls in a row must fail before it opens.
	threshold = 5
	// probeEvery is how often one call is let through while it is open.
	probeEvery = time.Second
)

// Breaker is closed at first. It is safe for concurrent use, and the zero value is ready.
type Breaker struct {
	mu       sync.Mutex
	failures int       // in a row
	probe    time.Time // when the next call is let through, while it is open
}

// Allow reports whether a call may be made now. Who is allowed makes one, and says with Done how it ended; or says with
// Unused that none was made.
func (b *Breaker) Allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < threshold:
		return true
	case now.Before(b.probe):
		return false
	}
	b.probe = now.Add(probeEvery)
	return true
}

// Unused gives back what Allow allowed: the next who asks may make a call.
func (b *Breaker) Unused() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probe = time.Time{}
}

// Open reports whether calls are not let through, but for some.
func (b *Breaker) Open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= threshold
}

// Done says whether a call was answered. An answer closes the breaker.
func (b *Breaker) Done(answered bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answered {
		b.failures = 0
		return
	}
	if b.failures++; b.failures == threshold {
		b.probe = now.Add(probeEvery)
	}
}
