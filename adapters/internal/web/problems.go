package web

import (
	"errors"
	"net/http"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// problem is the text of an error page for the payer.
type problem struct{ Title, Text string }

// problems has an error page for every status that has no page of its own.
var problems = map[int]problem{
	http.StatusBadRequest: {"The form could not be read",
		"Go back to the page before this one and send the form again."},
	http.StatusForbidden: {"This form came from another website",
		"For your safety it was not accepted. Open the link that your education provider gave you, and go on from there."},
	http.StatusNotFound: {"We cannot find this page",
		"This link does not work. It may have been cut off when it was copied. Check that you have the whole link, or ask your education provider for a new one."},
	http.StatusMethodNotAllowed: {"This page cannot be used in this way",
		"Open the link that your education provider gave you, and go on from there."},
	http.StatusGone: {"This link cannot be used any more",
		"Ask your education provider for a new one."},
	http.StatusRequestEntityTooLarge: {"The form is too large",
		"Go back to the page before this one and enter less."},
	http.StatusUnsupportedMediaType: {"The form could not be read",
		"Go back to the page before this one and send the form again."},
	http.StatusTooManyRequests: {"Too many requests",
		"Wait a few seconds, then try again."},
	http.StatusInternalServerError: {"Something went wrong",
		"Nothing is lost. Wait a minute, then try again."},
	http.StatusServiceUnavailable: {"We are too busy at the moment",
		"Nothing is lost. Wait a few seconds, then try again."},
}

// Fail answers with the error page for an error of the service, or of a store that the page reads by itself. An error
// that is no refusal is logged, and the page shows only the request id, unless the store was busy.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	refusal, _ := errors.AsType[*checkout.Error](err)
	RequestOf(r.Context()).Refused = refusal
	switch {
	case refusal == nil && (errors.Is(err, ports.ErrBusy) || errors.Is(err, ports.ErrUnknown)):
		s.Log.WarnContext(r.Context(), "serve page", "path", loggedPath(r.URL), "error", err)
		refusal = checkout.Busy()
	case refusal == nil, PageStatus(refusal.Code) == 0:
		s.Log.ErrorContext(r.Context(), "serve page", "path", loggedPath(r.URL), "error", err)
		s.Broken(w, r)
		return
	}
	if refusal.Code == checkout.CodeBusy {
		SetRetryAfter(w.Header(), BusyFor)
	}
	s.problem(w, r, PageStatus(refusal.Code))
}

// Broken answers 500. It is the failed handler of Wrap.
func (s *Site) Broken(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, http.StatusInternalServerError)
}

// NotFound answers with the one page for every unknown address and token.
func (s *Site) NotFound(w http.ResponseWriter, r *http.Request) { s.problem(w, r, http.StatusNotFound) }

// problem answers with the error page for a status: after a failure with a reference for a payer to quote, and with a link to retry a GET
// that may succeed later. The link is empty, and does not repeat the token of the address.
func (s *Site) problem(w http.ResponseWriter, r *http.Request, status int) {
	reference, reads := "", r.Method == http.MethodGet || r.Method == http.MethodHead
	if status == http.StatusInternalServerError {
		reference = RequestID(r.Context())
	}
	p := problems[status]
	s.Show(w, r, "error.html", View{Status: status, Title: p.Title, Data: struct {
		problem
		Reference string
		Again     bool
	}{p, reference, reads && (status == http.StatusTooManyRequests || status >= http.StatusInternalServerError)}})
}
