package page

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// problem is what a payer is told when there is no page to show.
type problem struct {
	Title string
	Text  string
}

// problems has a page for every status that is answered without a page of its own.
var problems = map[int]problem{
	http.StatusBadRequest: {"The form could not be read",
		"Go back to the page before this one and send the form again."},
	http.StatusForbidden: {"This form came from another website",
		"For your safety it was not accepted. Open the link that your education provider gave you, and go on from there."},
	http.StatusNotFound: {"We cannot find this page",
		"This link leads nowhere. Check that you have the whole link, or ask your education provider for a new one."},
	http.StatusMethodNotAllowed: {"This page does not work that way",
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
	http.StatusServiceUnavailable: {"We are busy just now",
		"Nothing is lost. Wait a few seconds, then try again."},
}

// statuses has the status of every refusal that a setup token can meet.
var statuses = map[checkout.Code]int{
	checkout.CodeTokenUnknown:       http.StatusNotFound,
	checkout.CodeTokenExpired:       http.StatusGone,
	checkout.CodeProviderNotEnabled: http.StatusGone,
	checkout.CodeBusy:               http.StatusServiceUnavailable,
}

// busyFor is how long a client waits before it asks a busy service again.
const busyFor = 2 * time.Second

// Fail answers with the page for an error of the service. What is no refusal is logged, and
// the page says nothing of it but the request id.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *checkout.Error
	if errors.As(err, &refusal) && statuses[refusal.Code] != 0 {
		if refusal.Code == checkout.CodeBusy {
			setRetryAfter(w, busyFor)
		}
		s.problem(w, r, statuses[refusal.Code], "")
		return
	}
	s.Log.ErrorContext(r.Context(), "serve page", "path", r.URL.EscapedPath(), "error", err, "request_id", requestID(w))
	s.Broken(w, r)
}

// Refused tells whether err is a refusal with one of the codes.
func Refused(err error, codes ...checkout.Code) bool {
	var refusal *checkout.Error
	return errors.As(err, &refusal) && slices.Contains(codes, refusal.Code)
}

// Broken answers that something went wrong, for web.Wrap too.
func (s *Site) Broken(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, http.StatusInternalServerError, requestID(w))
}

// NotFound answers with the one page for every address and token that means nothing here.
func (s *Site) NotFound(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, http.StatusNotFound, "")
}

// passing are the problems that may be over when the same page is asked for again.
var passing = []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}

// problem answers with the page for a status. The reference is for a payer to quote. A page that was only
// read can be tried again by a link to itself: an empty one, which does not repeat the token of its address.
func (s *Site) problem(w http.ResponseWriter, r *http.Request, status int, reference string) {
	p := problems[status]
	s.Show(w, r, "error.html", View{
		Status: status,
		Title:  p.Title,
		Data: struct {
			problem
			Reference string
			Again     bool
		}{p, reference, reads(r) && slices.Contains(passing, status)},
	})
}

// reads tells whether a request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// setRetryAfter asks for a pause of whole seconds, at least one.
func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	seconds := max(1, int((wait+time.Second-1)/time.Second))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
}
