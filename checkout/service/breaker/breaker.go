// Package breaker holds a circuit breaker: while something outside does not answer, it is left alone but for a call now
// and then that finds out whether it answers again.
package breaker

import (
	"sync"
	"time"
)

const (
	// threshold is the number of failures in a row that opens the breaker.
	threshold = 5
	// probeEvery is the pause between two probes of an open breaker, unless New says otherwise.
	probeEvery = time.Second
)

// Breaker is closed at first. It is safe for concurrent use, and the zero value is ready.
type Breaker struct {
	first, longest time.Duration // between two probes; probeEvery if 0

	mu       sync.Mutex
	failures int           // in a row
	pause    time.Duration // before the next probe, while it is open
	next     time.Time     // when that is due
}

// New returns a breaker whose probes are made after a pause that doubles with each of them, from the first to the longest.
func New(first, longest time.Duration) *Breaker { return &Breaker{first: first, longest: longest} }

// Open reports whether no calls are to be made, but for probes.
func (b *Breaker) Open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= threshold
}

// Probe reports whether the caller is to make a call though the breaker is open, and to say with Done how it ended. A clock that
// steps back makes no pause longer.
func (b *Breaker) Probe(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	longest := max(b.longest, probeEvery)
	if left := b.next.Sub(now); b.failures < threshold || 0 < left && left <= longest {
		return false
	}
	b.pause = min(2*b.pause, longest)
	b.next = now.Add(b.pause)
	return true
}

// Done says whether a call was answered. An answer closes the breaker. It reports whether that has opened or closed it.
func (b *Breaker) Done(answered bool, now time.Time) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answered {
		changed = b.failures >= threshold
		b.failures = 0
		return changed
	}
	if b.failures++; b.failures == threshold {
		b.pause = max(b.first, probeEvery)
		b.next = now.Add(b.pause)
	}
	return b.failures == threshold
}
