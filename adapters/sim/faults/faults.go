// Package faults lets the calls of a simulator go wrong on demand: it picks the fault of a call, and lets a connection
// hang, break, or carry too much. The names of the faults and their other effects are the simulator's.
package faults

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"
)

// Kind names a fault. The kinds are the simulator's.
type Kind string

// Fault is armed for some calls.
type Fault struct {
	Kind        Kind
	Method      string        // of the calls; any if empty
	Path        string        // of the calls, a pattern as of path.Match ("/billing_requests/*"); any if empty
	Object      string        // of the calls, of their parts and records, where the simulator has objects; any if empty
	Times       int           // for how many calls; any number if 0
	Probability float64       // with which a call suffers it; always if 0
	Hang        time.Duration // for a time-out: how long the client is kept waiting at most; 30 s if 0
	Conflict    string        // for a conflict: the id to name; the newest resource of another call if empty
}

// FromWire returns the fault of a request to the control path, which must be of one of the kinds.
func FromWire(w Wire, kinds []Kind) (Fault, error) {
	_, badPath := path.Match(w.Path, "")
	hang, err := time.ParseDuration(cmp.Or(w.Hang, "0s"))
	switch {
	case !slices.Contains(kinds, Kind(w.Kind)):
		return Fault{}, fmt.Errorf("kind must be one of %v", kinds)
	case err != nil:
		return Fault{}, fmt.Errorf("hang: %w", err)
	case badPath != nil:
		return Fault{}, fmt.Errorf("path: %w", badPath)
	}
	return Fault{Kind(w.Kind), w.Method, w.Path, w.Object, w.Times, w.Probability, hang, w.Conflict}, nil
}

// Armed is the list of a simulator's faults, in the order in which they were armed, under the simulator's lock.
type Armed struct {
	lock     sync.Locker
	list     []*armed
	suffered map[Kind]int
}

// armed is a fault with the number of calls that are left to it.
type armed struct {
	Fault
	left int
}

// New returns an empty list.
func New(lock sync.Locker) *Armed { return &Armed{lock: lock, suffered: map[Kind]int{}} }

// Arm adds faults behind the armed faults. A call suffers the first fault that fits.
func (a *Armed) Arm(list ...Fault) {
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, f := range list {
		a.list = append(a.list, &armed{f, f.Times})
	}
}

// Disarm takes all faults away.
func (a *Armed) Disarm() {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.list = nil
}

// Pick returns the fault that a call suffers, and counts it. accept has the simulator's own conditions; it may be nil.
func (a *Armed) Pick(r *http.Request, rand io.Reader, accept func(Fault) bool) (fault Fault, ok bool) {
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, f := range a.list {
		switch {
		case !f.fits(r.Method, r.URL.Path) || accept != nil && !accept(f.Fault):
		case f.Probability > 0 && Chance(rand) >= f.Probability:
		default:
			f.left--
			a.suffered[f.Kind]++
			return f.Fault, true
		}
	}
	return fault, false
}

// Suffered returns the number of calls that suffered each fault. The lock is held.
func (a *Armed) Suffered() map[Kind]int { return maps.Clone(a.suffered) }

// fits reports whether a fault is for a call.
func (f *armed) fits(method, at string) bool {
	if f.Times > 0 && f.left <= 0 || f.Method != "" && f.Method != method {
		return false
	}
	ok, err := path.Match(f.Path, at)
	return f.Path == "" || ok && err == nil
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
