// Package faults lets the calls of a simulator go wrong on demand: which call suffers which fault, and how a connection
// hangs, is reset, or carries too much. What a fault is called and what else it does is the simulator's.
package faults

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"path"
	"time"
)

// When says which calls suffer a fault.
type When struct {
	Method      string  // of the calls; any if empty
	Path        string  // of the calls, a pattern as of path.Match; any if empty
	Times       int     // for how many calls; any number if 0
	Probability float64 // with which a call suffers it; always if 0
}

// Armed is a list of faults, in the order in which they were armed. It is not safe for concurrent use.
type Armed[F any] struct{ list []*armed[F] }

// armed is a fault with the number of calls that are left to it.
type armed[F any] struct {
	fault F
	when  When
	left  int
}

// Arm adds a fault behind those that are armed.
func (a *Armed[F]) Arm(fault F, when When) {
	a.list = append(a.list, &armed[F]{fault, when, when.Times})
}

// Disarm takes all faults away.
func (a *Armed[F]) Disarm() { a.list = nil }

// Pick returns the first fault for a call, as far as the simulator's own conditions let it be: accept may be nil.
func (a *Armed[F]) Pick(method, path string, rand io.Reader, accept func(F) bool) (fault F, ok bool) {
	for _, f := range a.list {
		switch {
		case !f.fits(method, path) || accept != nil && !accept(f.fault):
		case f.when.Probability > 0 && Chance(rand) >= f.when.Probability:
		default:
			f.left--
			return f.fault, true
		}
	}
	return fault, false
}

// fits reports whether a fault is for a call.
func (f *armed[F]) fits(method, at string) bool {
	if f.when.Times > 0 && f.left <= 0 || f.when.Method != "" && f.when.Method != method {
		return false
	}
	ok, err := path.Match(f.when.Path, at)
	return f.when.Path == "" || ok && err == nil
}

// Chance returns a number from 0 to 1, without 1. It panics if rand fails.
func Chance(rand io.Reader) float64 {
	var b [8]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		panic("faults: randomness: " + err.Error())
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// Hang keeps the client waiting until it gives up, closing is closed or most has passed (30 s if it is 0), and breaks the
// connection.
func Hang(r *http.Request, closing <-chan struct{}, most time.Duration) {
	Wait(r, closing, cmp.Or(most, 30*time.Second))
	panic(http.ErrAbortHandler)
}

// Wait waits until the client gives up, closing is closed or a time has passed.
func Wait(r *http.Request, closing <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-closing:
	case <-timer.C:
	}
}

// Reset breaks the connection so that the client sees it reset, where the server lets it.
func Reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closing then resets; if not, it closes
	}
	_ = conn.Close()
}

// floodSize is the size of an answer that is too large for anybody.
const floodSize = 16 << 20

// Flood answers with JSON that goes on and on before it comes to its body.
func Flood(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	chunk := make([]byte, 64<<10)
	for i := range chunk {
		chunk[i] = ' '
	}
	for sent := 0; sent < floodSize; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
	_, _ = w.Write(body) // a client that went away is no fault
}
