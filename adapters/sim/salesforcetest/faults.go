package salesforcetest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

// FaultKind names a fault.
type FaultKind = faults.Kind

// The faults. Those without "after" happen before the call has an effect.
const (
	FaultTimeout        FaultKind = "timeout"         // no answer comes, and then the connection ends
	FaultTimeoutAfter   FaultKind = "timeout_after"   // the same, once the call is carried out
	FaultReset          FaultKind = "reset"           // the connection is reset
	FaultResetAfter     FaultKind = "reset_after"     // the same, once the call is carried out
	FaultSlow           FaultKind = "slow"            // the call is carried out and answered, but late
	FaultError          FaultKind = "error"           // 500 UNKNOWN_EXCEPTION
	FaultErrorAfter     FaultKind = "error_after"     // the same, once the call is carried out
	FaultUnavailable    FaultKind = "unavailable"     // 503 SERVER_UNAVAILABLE
	FaultHTML           FaultKind = "html"            // 503 with a page
	FaultHTMLAfter      FaultKind = "html_after"      // 502 with a page, once the call is carried out
	FaultTornBody       FaultKind = "torn_body"       // the call is carried out; half of the answer's JSON comes
	FaultOtherBody      FaultKind = "other_body"      // the call is carried out; the answer is 200 {}
	FaultHugeBody       FaultKind = "huge_body"       // the call is carried out; the answer has no end for a long time
	FaultRequestLimit   FaultKind = "request_limit"   // 403 REQUEST_LIMIT_EXCEEDED
	FaultExpiredToken   FaultKind = "expired_token"   // 401 INVALID_SESSION_ID, and the token has ended
	FaultLockedRow      FaultKind = "locked_row"      // UNABLE_TO_LOCK_ROW for one record
	FaultValidation     FaultKind = "validation_rule" // FIELD_CUSTOM_VALIDATION_EXCEPTION for one record
	FaultDuplicateValue FaultKind = "duplicate_value" // another client does the same first: DUPLICATE_VALUE for one record
)

// FaultKinds lists all faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultTimeout, FaultTimeoutAfter, FaultReset, FaultResetAfter, FaultSlow, FaultError, FaultErrorAfter,
		FaultUnavailable, FaultHTML, FaultHTMLAfter, FaultTornBody, FaultOtherBody, FaultHugeBody, FaultRequestLimit,
		FaultExpiredToken, FaultLockedRow, FaultValidation, FaultDuplicateValue}
}

// Fault is armed for some calls. The last three kinds are for calls that write records; in a composite request
// the first fitting record suffers them, and with allOrNone the others fail with it. A query is about no object, and
// FaultSlow hangs for a second if Hang is 0. It has no Conflict.
type Fault = faults.Fault

// suffersInRecord reports whether one record of a call suffers the fault.
func suffersInRecord(f Fault) bool {
	return slices.Contains([]FaultKind{FaultLockedRow, FaultValidation, FaultDuplicateValue}, f.Kind)
}

// fitsToken reports whether a token request, or a call for the versions, can suffer the fault.
func fitsToken(f Fault) bool {
	return f.Object == "" && !suffersInRecord(f) && !slices.Contains([]FaultKind{FaultRequestLimit, FaultExpiredToken, FaultUnavailable}, f.Kind)
}

// suffers reports whether a call can suffer the fault: it, or one of its parts, is about the fault's object. One record suffers the fault only if the call writes it.
func (c *call) suffers(g *org, f Fault) bool {
	if f.Object == "" && !suffersInRecord(f) {
		return true
	}
	writes := c.hasBody() || c.method == http.MethodDelete && f.Kind != FaultDuplicateValue
	if name := c.params["type"]; (writes || !suffersInRecord(f)) && g.table(name) != nil && (f.Object == "" || strings.EqualFold(f.Object, name)) {
		return true
	}
	return slices.ContainsFunc(c.unit.Parts, func(p partWire) bool {
		path, _, _ := strings.Cut(p.URL, "?")
		inner, err := match(p.Method, path)
		return err == nil && inner.suffers(g, f)
	})
}

// Arm arms faults behind the armed faults. A call suffers the first fault that fits.
func (s *Simulator) Arm(list ...Fault) { s.faults.Arm(list...) }

// Disarm takes all faults away.
func (s *Simulator) Disarm() { s.faults.Disarm() }

// sufferer is a request that suffers a fault.
type sufferer struct {
	send     func(response)
	carryOut func() response
	fail     func(*apiError) response // gives an error the form of the request's answers
}

// page is the answer of a proxy.
const page = "<html><head><title>Down for Maintenance</title></head><body><h1>We are down for maintenance.</h1></body></html>"

// suffer answers a request as its fault has it.
func (s *Simulator) suffer(w http.ResponseWriter, r *http.Request, f Fault, to sufferer) {
	var res response
	if slices.Contains([]FaultKind{FaultTimeoutAfter, FaultResetAfter, FaultErrorAfter, FaultHTMLAfter, FaultTornBody, FaultOtherBody,
		FaultHugeBody}, f.Kind) {
		res = to.carryOut()
	}
	html := response{status: http.StatusServiceUnavailable, media: "text/html", body: []byte(page), header: http.Header{}}
	switch f.Kind {
	case FaultTimeout, FaultTimeoutAfter:
		faults.Hang(r, s.closing.Done(), f.Hang)
	case FaultReset, FaultResetAfter:
		faults.Reset(w)
	case FaultSlow:
		faults.Wait(r, s.closing.Done(), cmp.Or(f.Hang, time.Second))
		to.send(to.carryOut())
	case FaultError, FaultErrorAfter:
		to.send(to.fail(failure(http.StatusInternalServerError, codeUnknownException, "An unexpected error occurred.")))
	case FaultUnavailable:
		to.send(to.fail(failure(http.StatusServiceUnavailable, codeServerUnavailable, "The server is unavailable.")))
	case FaultHTML:
		to.send(html)
	case FaultHTMLAfter:
		html.status = http.StatusBadGateway
		to.send(html)
	case FaultTornBody:
		res.body = res.body[:len(res.body)/2]
		to.send(res)
	case FaultOtherBody:
		to.send(response{status: http.StatusOK, media: jsonMedia, body: []byte("{}"), header: http.Header{}})
	case FaultHugeBody:
		faults.Flood(w, res.status, res.body)
	case FaultRequestLimit:
		to.send(to.fail(requestLimit()))
	case FaultExpiredToken:
		to.send(to.fail(invalidSession()))
	default: // a record suffers it
		to.send(to.carryOut())
	}
}

// suffer returns the error that the first write of a fitting record gets.
func (t *transaction) suffer(table *table) *apiError {
	f := t.fault
	if f == nil || f.Object != "" && !strings.EqualFold(f.Object, table.Name) {
		return nil
	}
	t.fault = nil
	switch f.Kind {
	case FaultLockedRow:
		return refused(about(codeLockedRow, "unable to obtain exclusive access to this record"))
	case FaultDuplicateValue:
		return refused(about(codeDuplicateValue, "duplicate value found: <unknown> duplicates value on record with id: <unknown>"))
	}
	return refused(about(codeValidation, "Not in this organisation."))
}
