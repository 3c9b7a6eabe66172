package desk

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The desk's own errors. What follows one of them in a chain is for the log, but for errNotErasable, whose cause is shown.
var (
	errSignIn      = errors.New("sign in")                // the answer of the issuer signs nobody in
	errIssuer      = errors.New("the issuer of sign-ins") // does not answer
	errForm        = errors.New("the form cannot be read")
	errFields      = errors.New("a field is missing or wrong")
	errPeriod      = errors.New("the address of the page has no such day or month")
	errOver        = errors.New("it was opened before, or its time is over")
	errNotErasable = errors.New("it cannot be erased")
	errNotSealed   = errors.New("there is no agreement, or its entry of the evidence log is not sealed yet")
)

// problems has the status of every error that is not a failure, in order of precedence, with words of its own where the page of the
// status says too little.
var problems = []struct {
	err    error
	status int
	why    string
}{
	{errSignIn, http.StatusUnauthorized, ""},
	{errForm, http.StatusBadRequest, ""},
	{errFields, http.StatusUnprocessableEntity, ""},
	{errPeriod, http.StatusUnprocessableEntity, "There is no such day or month, or too many days lie between."},
	{operate.ErrNotAllowed, http.StatusForbidden, ""},
	{operate.ErrSamePerson, http.StatusForbidden, "Whoever asked for an act cannot approve it, under another role either."},
	{operate.ErrNoReason, http.StatusUnprocessableEntity, "The act needs a reason."},
	{operate.ErrNamed, http.StatusUnprocessableEntity, "The reason stays on record for ever: it must not name the student."},
	{ports.ErrNotFound, http.StatusNotFound, ""},
	{operate.ErrNoProvider, http.StatusNotFound, ""},
	{operate.ErrDecided, http.StatusConflict, "It was decided meanwhile, or its time ran out."},
	{operate.ErrNoDestination, http.StatusConflict, "The provider has no receiver of events."},
	{operate.ErrNeverSent, http.StatusConflict, "There was no receiver when the event happened: it is never sent."},
	{checkout.ErrNoLink, http.StatusConflict, "There is nothing to set up: no link is needed."},
	{checkout.ErrLinkSent, http.StatusConflict, "A link was sent less than ten minutes ago."},
	{checkout.ErrNotConfirmed, http.StatusConflict, "There is no agreement to withdraw."},
	{checkout.ErrErased, http.StatusConflict, "The personal data was erased, and with it the ids that the act needs."},
	{errNotErasable, http.StatusConflict, ""},
	{errNotSealed, http.StatusConflict, "There is no proof yet: try again in a minute."},
	{checkout.ErrWaitsForCRM, http.StatusConflict, "It waits for the CRM: try again when the CRM has answered."},
	{ports.ErrBusy, http.StatusServiceUnavailable, ""},
	{errOver, http.StatusGone, ""},
	{errIssuer, http.StatusBadGateway, ""},
}

// problemOf returns the status with which an error is answered, and its own words.
func problemOf(err error) (status int, why string) {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return http.StatusRequestEntityTooLarge, ""
	}
	if errors.Is(err, errNotErasable) && !errors.Is(err, operate.ErrNamed) {
		return http.StatusConflict, capital(err.Error())
	}
	for _, p := range problems {
		if errors.Is(err, p.err) {
			return p.status, p.why
		}
	}
	switch refusal, _ := errors.AsType[*checkout.Error](err); {
	case refusal != nil && refusal.Code == checkout.CodeValidation:
		return http.StatusUnprocessableEntity, ""
	case refusal != nil:
		return http.StatusConflict, refusal.Message
	}
	return http.StatusInternalServerError, ""
}

// messages are the pages without a content of their own, by their status.
var messages = map[int]struct{ Title, Text string }{
	http.StatusBadRequest:            {"The form could not be read", "Go back, and send it again."},
	http.StatusUnauthorized:          {"You are not signed in", "The sign-in was not accepted, or no group of yours has a role here."},
	http.StatusForbidden:             {"You may not do that", "None of your roles allows it."},
	http.StatusNotFound:              {"There is no such page", "Look for the order, the student or the agreement with Find."},
	http.StatusMethodNotAllowed:      {"This page does not work that way", "Go back, and try another way."},
	http.StatusConflict:              {"It cannot be done now", "What is on record has changed. Go back and look again."},
	http.StatusGone:                  {"This page opens no more", "It was opened before, or a day has passed. Ask for a new one."},
	http.StatusRequestEntityTooLarge: {"The form is too large", "Go back, and enter less."},
	http.StatusUnprocessableEntity:   {"Something is missing or wrong", "Go back, and look at each field. An act needs a reason, in one line, without personal data."},
	http.StatusInternalServerError:   {"Something went wrong", "Wait a minute, then try again."},
	http.StatusBadGateway:            {"The sign-in does not answer", "Try again in a minute."},
	http.StatusServiceUnavailable:    {"The store is busy", "Wait a few seconds, then try again."},
}

// message is the content of a page that has words only, and where to go on.
type message struct{ Title, Text, Link, Label, Reference string }

// message answers with a page that says what is the matter: why, or the usual words of the status. Somebody who is signed in has
// the menu there too. After an act it leads back to the page of its form.
func (d *desk) message(w http.ResponseWriter, r *http.Request, status int, why string) {
	words := messages[status]
	s, _ := d.session(r)
	link, label := "/", "Today"
	if r.Method == http.MethodPost && mux.Vars(r)["id"] != "" {
		link, label = formPage(r), "Back"
	}
	d.say(w, r, status, s, message{words.Title, cmp.Or(why, words.Text), link, label, web.RequestID(r.Context())})
}

// say answers with a message, with the menu of a session.
func (d *desk) say(w http.ResponseWriter, r *http.Request, status int, s session, m message) {
	d.show(w, r, status, "message.html", m.Title, page{&visit{desk: d, r: r, session: s}, m})
}

// goOn answers with a message from which the browser goes on to a page.
func (d *desk) goOn(w http.ResponseWriter, r *http.Request, status int, to string, m message) {
	w.Header().Set("Refresh", "0; url="+to)
	m.Link = to
	d.say(w, r, status, session{}, m)
}

// fail answers with the page for an error. An error that is the operator's own is not logged.
func (d *desk) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, why := problemOf(err)
	switch route := web.RequestOf(r.Context()).Route; {
	case status == http.StatusUnauthorized:
		d.Log.WarnContext(r.Context(), "sign in to the desk", slog.String("error", err.Error()))
	case status >= http.StatusInternalServerError:
		d.Log.ErrorContext(r.Context(), "serve the desk", slog.String("route", route), slog.String("error", err.Error()))
	}
	d.message(w, r, status, why)
}
