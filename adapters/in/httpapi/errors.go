package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
)

type problem struct {
	status     int
	code       string
	message    string
	faults     []checkout.Fault
	allow      string        // the Allow header; optional
	retryAfter time.Duration // for the Retry-After header; optional
}

func (p *problem) Error() string { return p.message }

// codeInternal is the contract's word for every failure of the service (section 7).
const codeInternal = "INTERNAL_ERROR"

func notFound() *problem {
	return &problem{status: http.StatusNotFound, code: "NOT_FOUND",
		message: "there is nothing at this path; the paths of the API begin with /v1 and have no slash at the end"}
}

func methodNotAllowed(allow string) *problem {
	return &problem{status: http.StatusMethodNotAllowed, code: "METHOD_NOT_ALLOWED",
		message: "this path does not take that method; it takes " + allow, allow: allow}
}

func tooLarge() *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, code: "REQUEST_TOO_LARGE",
		message: "the request body is too large; it must be at most 64 KiB"}
}

func unsupported(message string) *problem {
	return &problem{status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_MEDIA_TYPE", message: message}
}

func rateLimited(wait time.Duration) *problem {
	return &problem{status: http.StatusTooManyRequests, code: "RATE_LIMITED",
		message: "there were too many requests; wait as long as Retry-After says and send this one again", retryAfter: wait}
}

// internal says no more to a client than that the fault is not its own.
func internal() *problem {
	return &problem{status: http.StatusInternalServerError, code: codeInternal,
		message: "something went wrong here; the same request may be sent again"}
}

// problemOf converts an error to the wire's terms. ok is false for an error that is no
// refusal: the client does not see its cause, so it must be logged.
func problemOf(err error) (p *problem, ok bool) {
	if errors.As(err, &p) {
		return p, true
	}
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok || web.APIStatus(refusal.Code) == 0 {
		return internal(), false
	}
	p = &problem{status: web.APIStatus(refusal.Code), code: string(refusal.Code), message: refusal.Message, faults: refusal.Faults}
	if refusal.Code == checkout.CodeBusy {
		p.code, p.retryAfter = codeInternal, web.BusyFor
	}
	return p, true
}

func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := problemOf(err)
	info := web.RequestOf(r.Context())
	info.Code = p.code
	info.Refused, _ = errors.AsType[*checkout.Error](err)
	if !ok {
		level := slog.LevelError
		if r.Context().Err() != nil {
			level = slog.LevelInfo // the client hung up, which ended what it asked for
		}
		a.log.Log(r.Context(), level, "request failed", slog.String("error", err.Error()))
	}
	h := w.Header()
	if p.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.retryAfter > 0 {
		web.SetRetryAfter(h, p.retryAfter)
	}
	web.WriteJSON(w, p.status, toEnvelopeWire(p, a.app.BaseURL(), web.RequestID(r.Context())))
}
