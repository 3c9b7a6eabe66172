package gocardlesstest

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

// FaultKind names a fault.
type FaultKind = faults.Kind

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

// Fault is armed for some calls. It has no Object.
type Fault = faults.Fault

// Arm arms faults behind the armed faults. A call suffers the first fault that fits.
func (s *Simulator) Arm(list ...Fault) { s.faults.Arm(list...) }

// Disarm takes all faults away.
func (s *Simulator) Disarm() { s.faults.Disarm() }

// suffer answers a call as its fault has it.
func (s *Simulator) suffer(w http.ResponseWriter, r *http.Request, c *call, f Fault, header http.Header, carryOut func() response) {
	after := slices.Contains([]FaultKind{FaultTimeoutAfter, FaultResetAfter, FaultErrorAfter, FaultTornBody, FaultHugeBody}, f.Kind)
	var res response
	if after {
		res = carryOut()
	}
	switch f.Kind {
	case FaultTimeout, FaultTimeoutAfter:
		faults.Hang(r, s.closing.Done(), f.Hang)
	case FaultReset, FaultResetAfter:
		faults.Reset(w)
	case FaultTornBody:
		res.body = res.body[:len(res.body)/2]
		s.write(w, c.route, res)
	case FaultHugeBody:
		faults.Flood(w, res.status, res.body)
	case FaultStringError:
		s.write(w, c.route, response{http.StatusInternalServerError, control.Encode(object{"error": "bank_authorisation_expired"}), header})
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
	return because(http.StatusInternalServerError, typeGoCardless, "internal_server_error", "Uh-oh, something went wrong on our end")
}

// stranger returns the id of the newest billing request that a call has nothing to do with, or an unknown id.
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
