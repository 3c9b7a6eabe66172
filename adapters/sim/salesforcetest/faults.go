package salesforcetest

import (
	"net/http"
)

// FaultKind names a fault.
type FaultKind string

// The faults.
const (
	Hang         FaultKind = "hang"          // no answer comes
	Reset        FaultKind = "reset"         // the connection breaks
	ServerError  FaultKind = "server_error"  // 500 UNKNOWN_EXCEPTION
	Unavailable  FaultKind = "unavailable"   // 503 SERVER_UNAVAILABLE
	HTML         FaultKind = "html"          // 503 with a page
	RequestLimit FaultKind = "request_limit" // 403 REQUEST_LIMIT_EXCEEDED
	ExpiredToken FaultKind = "expired_token" // 401 INVALID_SESSION_ID, and all tokens have ended
	TornBody     FaultKind = "torn_body"     // half of the answer comes
	OtherBody    FaultKind = "other_body"    // the answer is 200 with Fault.Body
	Refuse       FaultKind = "refuse"        // the write of a record fails with Code and Field
)

// Fault is the trouble of a call. The zero Fault is no trouble.
type Fault struct {
	Kind   FaultKind
	After  bool   // the call is carried out; it always is for TornBody, and without effect for Refuse
	Body   string // of OtherBody
	Object string // of Refuse: whose record it is; "" for the first record that is written
	Code   string // of Refuse: FIELD_CUSTOM_VALIDATION_EXCEPTION if empty
	Field  string // of Refuse
}

// page is the answer of a proxy.
const page = "<html><head><title>Down for Maintenance</title></head><body><h1>We are down for maintenance.</h1></body></html>"

// suffer answers a call as its fault has it. carryOut carries the call out.
func (g *Org) suffer(w http.ResponseWriter, r *http.Request, f Fault, carryOut func() answer) {
	var done answer
	if f.After || f.Kind == "" || f.Kind == TornBody || f.Kind == Refuse {
		done = carryOut()
	}
	switch f.Kind {
	case Hang:
		select {
		case <-r.Context().Done():
		case <-g.ended:
		}
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler)
	case ServerError:
		done = failure(http.StatusInternalServerError, "UNKNOWN_EXCEPTION", "An unexpected error occurred.").answer()
	case Unavailable:
		done = failure(http.StatusServiceUnavailable, "SERVER_UNAVAILABLE", "The server is unavailable.").answer()
	case HTML:
		done = answer{status: http.StatusServiceUnavailable, media: "text/html", content: page}
	case RequestLimit:
		done = failure(http.StatusForbidden, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.").answer()
	case ExpiredToken:
		g.mu.Lock()
		clear(g.tokens)
		g.mu.Unlock()
		done = invalidSession().answer()
	case TornBody:
		whole := string(done.bytes())
		done = answer{status: done.status, content: whole[:len(whole)/2]}
	case OtherBody:
		done = answer{status: http.StatusOK, content: f.Body}
	}
	done.write(w)
}
