package sandbox

import (
	"bytes"
	"sync"
	"time"
)

// Clock is the service's clock, real or stopped. Tests move it forward.
type Clock struct {
	still time.Time           // at which it is stopped before it is moved; zero for the real clock
	with  func(time.Duration) // moves another clock, such as that of a database; may be nil
	mu    sync.Mutex
	moved time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.still.IsZero() {
		return c.still.Add(c.moved)
	}
	return time.Now().Add(c.moved)
}

// Forward moves the clock forward.
func (c *Clock) Forward(d time.Duration) {
	if c.with != nil {
		c.with(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// Log keeps what the service logs.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
