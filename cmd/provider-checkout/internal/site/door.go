package site

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// door is a listener that can be closed without dropping anybody: whose connection is made is let
// in, and who comes later is refused. (A listener that is just closed resets the connections that
// nobody accepted yet, whose clients may have sent their requests.)
type door struct {
	net.Listener
	closing atomic.Bool
	last    []net.Conn    // those who were waiting when it closed
	known   chan struct{} // closed when they are
	guests  sync.WaitGroup
}

func newDoor(ln net.Listener) *door { return &door{Listener: ln, known: make(chan struct{})} }

// Accept implements [net.Listener], for one who calls it time after time.
func (d *door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err == nil || !d.closing.Load() {
		return conn, err
	}
	if <-d.known; len(d.last) == 0 {
		return nil, err
	}
	conn, d.last = d.last[0], d.last[1:]
	return conn, nil
}

// closeGently closes the door. Accept still returns who was let in.
func (d *door) closeGently() {
	d.closing.Store(true)
	d.last = acceptWaiting(d.Listener)
	close(d.known)
	_ = d.Close() // nothing hangs on a listener's end
}

// count is an [http.Server]'s ConnState, and keeps the number of guests.
func (d *door) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		d.guests.Add(1)
	case http.StateClosed, http.StateHijacked:
		d.guests.Done()
	}
}
