package httpapi

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// wireCode is how a refusal is answered.
type wireCode struct {
	status int
	code   string
}

// wireCodes has every code of package checkout (sections 5 and 7 of the contract).
var wireCodes = map[checkout.Code]wireCode{
	checkout.CodeInvalid:            {http.StatusBadRequest, "VALIDATION_ERROR"},
	checkout.CodeKeyMissing:         {http.StatusUnauthorized, "MISSING_API_KEY"},
	checkout.CodeKeyInvalid:         {http.StatusForbidden, "INVALID_API_KEY"},
	checkout.CodeKeyMismatch:        {http.StatusForbidden, "PROVIDER_KEY_MISMATCH"},
	checkout.CodeProviderUnknown:    {http.StatusNotFound, "PROVIDER_NOT_FOUND"},
	checkout.CodeProviderNotEnabled: {http.StatusForbidden, "PROVIDER_NOT_ENABLED"},
	checkout.CodeCheckoutUnknown:    {http.StatusNotFound, "CHECKOUT_NOT_FOUND"},
	checkout.CodeConflict:           {http.StatusConflict, "CONFLICT"},
	checkout.CodeIntentConflict:     {http.StatusConflict, "IDEMPOTENCY_CONFLICT"},
	checkout.CodeSetupIncomplete:    {http.StatusConflict, "DIRECT_DEBIT_SETUP_INCOMPLETE"},
	checkout.CodeTokenUnknown:       {http.StatusNotFound, "NOT_FOUND"},
	checkout.CodeTokenExpired:       {http.StatusGone, "GONE"},
	checkout.CodeTermsChanged:       {http.StatusConflict, "CONFLICT"},
	checkout.CodeBusy:               {http.StatusServiceUnavailable, "INTERNAL_ERROR"},
}

// problem is a refusal as the wire has it.
type problem struct {
	wireCode
	message    string
	faults     []checkout.Fault
	allow      string // the Allow header; "" for none
	retryAfter string // the Retry-After header; "" for none
}

func (p *problem) Error() string { return p.message }

// What only the HTTP edge refuses.

// notFound refuses a path. slashed tells that there is something at it without its last slash.
func notFound(slashed bool) *problem {
	p := &problem{wireCode: wireCode{http.StatusNotFound, "NOT_FOUND"},
		message: "there is nothing at this path; the paths of the API begin with /v1"}
	if slashed {
		p.message = "there is nothing at this path; leave out the slash at its end"
	}
	return p
}

// withoutSlash returns the request as it would be without a slash at the end of its path.
func withoutSlash(r *http.Request) *http.Request {
	to, at := *r, *r.URL
	at.Path = strings.TrimSuffix(at.Path, "/")
	to.URL = &at
	return &to
}

func methodNotAllowed(allow string) *problem {
	return &problem{wireCode: wireCode{http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED"},
		message: "this path does not take that method; it takes " + allow, allow: allow}
}

func tooLarge() *problem {
	return &problem{wireCode: wireCode{http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE"},
		message: "the request body is too large; it must be at most 64 KiB"}
}

func unsupported(message string) *problem {
	return &problem{wireCode: wireCode{http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE"}, message: message}
}

func rateLimited(wait time.Duration) *problem {
	return &problem{wireCode: wireCode{http.StatusTooManyRequests, "RATE_LIMITED"},
		message: "there were too many requests; wait as long as Retry-After says and send this one again", retryAfter: web.RetryAfter(wait)}
}

// internal tells a client nothing but that the fault is not its own.
func internal() *problem {
	return &problem{wireCode: wireCode{http.StatusInternalServerError, "INTERNAL_ERROR"},
		message: "something went wrong here; the same request may be sent again"}
}

// problemOf puts an error into the wire's terms. ok is false for an error that no rule
// made: the client is not told of it, so the log must be.
func problemOf(err error) (p *problem, ok bool) {
	if errors.As(err, &p) {
		return p, true
	}
	var refusal *checkout.Error
	if !errors.As(err, &refusal) {
		return internal(), false
	}
	code, ok := wireCodes[refusal.Code]
	if !ok {
		return internal(), false
	}
	p = &problem{wireCode: code, message: refusal.Message, faults: refusal.Faults}
	if refusal.Code == checkout.CodeBusy {
		p.retryAfter = web.RetryAfter(time.Second)
	}
	return p, true
}

// refuse answers with err.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := problemOf(err)
	if !ok {
		level := slog.LevelError
		if r.Context().Err() != nil {
			level = slog.LevelInfo // the client went away, and what it asked for with it
		}
		a.log.Log(r.Context(), level, "request failed",
			slog.String("request_id", web.RequestID(r.Context())), slog.String("error", err.Error()))
	}
	h := w.Header()
	if p.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.retryAfter != "" {
		h.Set("Retry-After", p.retryAfter)
	}
	envelope := envelopeOf(p, web.RequestID(r.Context()))
	a.document.explain(&envelope)
	writeJSON(w, p.status, envelope)
}

// failed answers for a handler that panicked, which is on record already.
func (a *api) failed(w http.ResponseWriter, r *http.Request) { a.refuse(w, r, internal()) }

// writeJSON answers with v. A client that is gone is nobody to tell of an error.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}
