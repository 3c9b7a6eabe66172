package gocardlesstest

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"path"
	"slices"
	"time"
)

// FaultKind is what goes wrong with a call.
type FaultKind string

// The faults. Those without "after" happen before the call has an effect.
const (
	FaultTimeout      FaultKind = "timeout"       // no answer comes, and then the connection ends
	FaultTimeoutAfter FaultKind = "timeout_after" // the same, once the call is carried out
	FaultReset        FaultKind = "reset"         // the connection is reset
	FaultResetAfter   FaultKind = "reset_after"   // the same, once the call is carried out
	FaultConflict     FaultKind = "conflict"      // 409 that names a resource of another call
	FaultRateLimit    FaultKind = "rate_limit"    // 429
	FaultError        FaultKind = "error"         // 500
	FaultErrorAfter   FaultKind = "error_after"   // 500, once the call is carried out
	FaultStringError  FaultKind = "string_error"  // an error that is a string: 500
	FaultTornBody     FaultKind = "torn_body"     // the call is carried out; half of the answer's JSON comes
	FaultHugeBody     FaultKind = "huge_body"     // the call is carried out; the answer has no end for a long time
	FaultForbidden    FaultKind = "forbidden"     // 403
	FaultUnauthorized FaultKind = "unauthorized"  // 401
	FaultHTML         FaultKind = "html"          // 502 with a page of a proxy
)

// FaultKinds lists all faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultTimeout, FaultTimeoutAfter, FaultReset, FaultResetAfter, FaultConflict, FaultRateLimit, FaultError,
		FaultErrorAfter, FaultStringError, FaultTornBody, FaultHugeBody, FaultForbidden, FaultUnauthorized, FaultHTML}
}

// Fault is armed for some calls.
type Fault struct {
	Kind        FaultKind
	Method      string        // of the calls; any if empty
	Path        string        // of the calls, a pattern as of path.Match ("/billing_requests/*"); any if empty
	Times       int           // for how many calls; any number if 0
	Probability float64       // with which a call suffers it; always if 0
	Hang        time.Duration // for a time-out: how long the client is kept waiting at most; 30 s if 0
	Conflict    string        // for a conflict: the id to name; the newest resource of another call if empty
}

// armed is a fault with the number of calls that are left to it.
type armed struct {
	Fault
	left int
}

type faults []*armed

// Arm arms faults, behind those that are armed. The first one that fits a call is suffered.
func (s *Simulator) Arm(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range list {
		s.faults = append(s.faults, &armed{f, f.Times})
	}
}

// Disarm takes all faults away.
func (s *Simulator) Disarm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// pick returns the fault that a request suffers.
func (s *Simulator) pick(r *http.Request) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if !f.fits(r) || f.Probability > 0 && s.chance() >= f.Probability {
			continue
		}
		if f.Times > 0 {
			f.left--
		}
		s.counts.faults[f.Kind]++
		return f.Fault, true
	}
	return Fault{}, false
}

// chance returns a number from 0 to 1, without 1.
func (s *Simulator) chance() float64 {
	var b [8]byte
	if _, err := io.ReadFull(s.options.Rand, b[:]); err != nil {
		panic("gocardlesstest: Options.Rand: " + err.Error())
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// fits reports whether a fault is for a request.
func (f *armed) fits(r *http.Request) bool {
	if f.Times > 0 && f.left == 0 || f.Method != "" && f.Method != r.Method {
		return false
	}
	ok, err := path.Match(f.Path, r.URL.Path)
	return f.Path == "" || ok && err == nil
}

// suffer answers a call as its fault has it.
func (s *Simulator) suffer(w http.ResponseWriter, r *http.Request, c *call, f Fault, header http.Header, carryOut func() response) {
	after := slices.Contains([]FaultKind{FaultTimeoutAfter, FaultResetAfter, FaultErrorAfter, FaultTornBody, FaultHugeBody}, f.Kind)
	var res response
	if after {
		res = carryOut()
	}
	switch f.Kind {
	case FaultTimeout, FaultTimeoutAfter:
		s.hang(r, f.Hang)
	case FaultReset, FaultResetAfter:
		reset(w)
	case FaultTornBody:
		res.body = res.body[:len(res.body)/2]
		s.write(w, c.route, res)
	case FaultHugeBody:
		s.flood(w, res)
	case FaultStringError:
		s.write(w, c.route, response{http.StatusInternalServerError, encode(stringErrorWire{"bank_authorisation_expired"}), header})
	case FaultHTML:
		s.write(w, c.route, response{http.StatusBadGateway, []byte("<html><body><h1>502 Bad Gateway</h1></body></html>"), header})
	default:
		s.write(w, c.route, s.failed(s.faultError(c, f, header), header))
	}
}

// faultError returns the error that a fault answers with.
func (s *Simulator) faultError(c *call, f Fault, header http.Header) *apiError {
	switch f.Kind {
	case FaultConflict:
		return conflict(cmp.Or(f.Conflict, s.stranger(c)))
	case FaultRateLimit:
		setRateLimit(header, max(s.options.RateLimit, 0), 0, s.Now().Truncate(time.Minute).Add(time.Minute))
		return rateLimited()
	case FaultForbidden:
		return usage(http.StatusForbidden, "forbidden", "Forbidden")
	case FaultUnauthorized:
		return usage(http.StatusUnauthorized, "unauthorized", "Unauthorized")
	}
	return internalError()
}

// stranger returns the id of the newest billing request that a call has nothing to do with, or one that there is not.
func (s *Simulator) stranger(c *call) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range slices.Backward(s.state.requestOrder) {
		if b.id != c.id && (c.key == "" || b.key != c.key) {
			return b.id
		}
	}
	return s.state.newID("BRQ")
}

// hang keeps the client waiting until it gives up, and breaks the connection.
func (s *Simulator) hang(r *http.Request, most time.Duration) {
	timer := time.NewTimer(cmp.Or(most, 30*time.Second))
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-s.closing.Done():
	case <-timer.C:
	}
	panic(http.ErrAbortHandler)
}

// reset breaks the connection so that the client sees it reset, where the server lets it.
func reset(w http.ResponseWriter) {
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

// flood answers with JSON that goes on and on.
func (s *Simulator) flood(w http.ResponseWriter, res response) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(res.status)
	chunk := make([]byte, 64<<10)
	for i := range chunk {
		chunk[i] = ' '
	}
	for sent := 0; sent < floodSize; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
	_, _ = w.Write(res.body) // a client that went away is no fault
}
