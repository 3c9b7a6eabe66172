package httpserver

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// drainListener is a listener that can be drained: connections that are already established are accepted, and later
// ones refused. A listener that is merely closed resets the connections that it has not accepted yet, though their
// clients may have sent requests.
type drainListener struct {
	net.Listener
	draining atomic.Bool
	backlog  []net.Conn     // connections that were established but not accepted when the drain began
	drained  chan struct{}  // closed when backlog is set
	conns    sync.WaitGroup // open connections
}

func newDrainListener(ln net.Listener) *drainListener {
	return &drainListener{Listener: ln, drained: make(chan struct{})}
}

// Accept implements [net.Listener]. Only one goroutine may call it, in a loop.
func (l *drainListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil || !l.draining.Load() {
		return conn, err
	}
	if <-l.drained; len(l.backlog) == 0 {
		return nil, err
	}
	conn, l.backlog = l.backlog[0], l.backlog[1:]
	return conn, nil
}

// drain closes the listener. Accept still returns the connections that are already established.
func (l *drainListener) drain() {
	l.draining.Store(true)
	l.backlog = acceptBacklog(l.Listener)
	close(l.drained)
	_ = l.Close() // an error changes nothing
}

// countConns counts the open connections. It is the ConnState of an [http.Server].
func (l *drainListener) countConns(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		l.conns.Done()
	}
}
