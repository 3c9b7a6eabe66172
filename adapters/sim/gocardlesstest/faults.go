package gocardlesstest

import (
	"bytes"
	"cmp"
	"net"
	"net/http"
	"path"
	"time"
)

// FaultKind names a fault.
type FaultKind string

// The faults. A fault without "after" happens before the call has an effect.
const (
	FaultTimeout     FaultKind = "timeout"      // no answer comes, and then the connection ends
	FaultReset       FaultKind = "reset"        // the connection is reset
	FaultResetAfter  FaultKind = "reset_after"  // the same, once the call is carried out
	FaultConflict    FaultKind = "conflict"     // 409 that names the resource Fault.Conflict
	FaultRateLimit   FaultKind = "rate_limit"   // 429 until the next whole minute
	FaultError       FaultKind = "error"        // 500
	FaultErrorAfter  FaultKind = "error_after"  // 500, once the call is carried out
	FaultStringError FaultKind = "string_error" // an error that is a string: 500
	FaultTornBody    FaultKind = "torn_body"    // the call is carried out; half of the answer's JSON comes
	FaultHugeBody    FaultKind = "huge_body"    // the call is carried out; the answer is larger than a client reads
	FaultForbidden   FaultKind = "forbidden"    // 403
	FaultHTML        FaultKind = "html"         // 502 with a page of a proxy
)

// FaultKinds lists all faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultTimeout, FaultReset, FaultResetAfter, FaultConflict, FaultRateLimit, FaultError, FaultErrorAfter,
		FaultStringError, FaultTornBody, FaultHugeBody, FaultForbidden, FaultHTML}
}

// Fault is armed for some calls of the API.
type Fault struct {
	Kind     FaultKind
	Method   string        // of the calls; any if empty
	Path     string        // of the calls, a pattern as of path.Match ("/billing_requests/*"); any if empty
	Times    int           // number of calls; any if 0
	Hang     time.Duration // for a time-out: how long the client is kept waiting at most; 30 s if 0
	Conflict string        // for a conflict: the id to name; an unknown id if empty
}

// Arm arms faults behind the armed faults. A call suffers the first fault that fits.
func (s *Simulator) Arm(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range list {
		if f.Times == 0 {
			f.Times = -1 // without end
		}
		s.faults = append(s.faults, &f)
	}
}

// Disarm takes all faults away.
func (s *Simulator) Disarm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// faultOf returns the fault that a call suffers; the zero Fault is no trouble.
func (s *Simulator) faultOf(r *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		at, _ := path.Match(f.Path, r.URL.Path)
		if f.Times != 0 && (f.Method == "" || f.Method == r.Method) && (f.Path == "" || at) {
			f.Times--
			return *f
		}
	}
	return Fault{}
}

// suffer carries out a call, and returns the response to it, as its fault has it.
func (s *Simulator) suffer(w http.ResponseWriter, r *http.Request, carryOut func() response) (res response) {
	f := s.faultOf(r)
	switch f.Kind {
	case "", FaultResetAfter, FaultErrorAfter, FaultTornBody, FaultHugeBody:
		res = carryOut()
	}
	switch f.Kind {
	case "":
	case FaultTimeout:
		s.hang(r, cmp.Or(f.Hang, 30*time.Second))
	case FaultReset, FaultResetAfter:
		reset(w)
		return response{}
	case FaultConflict:
		return s.failed(conflict(cmp.Or(f.Conflict, "BRQ00000000000000")))
	case FaultRateLimit:
		w.Header().Set("RateLimit-Limit", "1000")
		w.Header().Set("RateLimit-Remaining", "0")
		w.Header().Set("RateLimit-Reset", s.Now().Truncate(time.Minute).Add(time.Minute).UTC().Format(http.TimeFormat))
		return s.failed(usage(http.StatusTooManyRequests, "rate_limit_reached"))
	case FaultError, FaultErrorAfter:
		return s.failed(&apiError{status: http.StatusInternalServerError, kind: "gocardless", reason: "internal_server_error"})
	case FaultStringError:
		return response{http.StatusInternalServerError, encode(object{"error": "bank_authorisation_expired"})}
	case FaultTornBody:
		res.body = res.body[:len(res.body)/2]
	case FaultHugeBody:
		res.body = append(bytes.Repeat([]byte(" "), 16<<20), res.body...)
	case FaultForbidden:
		return s.failed(usage(http.StatusForbidden, "forbidden"))
	case FaultHTML:
		return response{http.StatusBadGateway, []byte("<html><body><h1>502 Bad Gateway</h1></body></html>")}
	}
	return res
}

// hang keeps the client waiting until it gives up or the simulator is closed, at most for a time, and breaks the connection.
func (s *Simulator) hang(r *http.Request, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-s.closing.Done():
	case <-timer.C:
	}
	panic(http.ErrAbortHandler)
}

// reset breaks the connection so that the client sees it reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closing then resets
	}
	_ = conn.Close()
}
