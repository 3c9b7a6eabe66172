package desk

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

type problem struct {
	status int
	code   string // for the log
	words  string // for the page
}

func (p *problem) Error() string { return p.code }

func unauthorized(code, words string) *problem { return &problem{http.StatusUnauthorized, code, words} }
func forbidden(code, words string) *problem    { return &problem{http.StatusForbidden, code, words} }
func conflict(words string) *problem           { return &problem{http.StatusConflict, "conflict", words} }
func unprocessable(words string) *problem {
	return &problem{http.StatusUnprocessableEntity, "field", words}
}

// The problems that any request may have.
var (
	errMalformed = unauthorized("token_malformed",
		"The ID token is malformed: the proxy must pass one signed JSON Web Token, after “Bearer ”.")
	errOrigin = forbidden("cross_origin", "The form came from another website. Nothing was done.")
	errMethod = &problem{http.StatusMethodNotAllowed, "method", "The page does not take this method."}
	errForm   = &problem{http.StatusBadRequest, "form", "The form cannot be read. Go back, enter less, and send it again."}
	errIssuer = &problem{http.StatusServiceUnavailable, "issuer", "The issuer of ID tokens does not answer: nobody can be verified."}
)

// problems has the answers to errors of other packages that are no failures.
var problems = []struct {
	err error
	*problem
}{
	{ports.ErrBusy, &problem{http.StatusServiceUnavailable, "busy", "The store is busy."}},
	{ports.ErrUnknown, &problem{http.StatusServiceUnavailable, "unknown", "Whether that was stored is not known: look before you do it again."}},
	{ports.ErrNotFound, &problem{http.StatusNotFound, "not_found", "Look for the order, the agreement or the student with Find."}},
	{operate.ErrNoProvider, &problem{http.StatusNotFound, "not_found", "There is no such provider."}},
	{operate.ErrNamed, unprocessable("The reason stays on record for ever: it must not name the student.")},
	{checkout.ErrNoLink, conflict("There is nothing to set up: no link is needed.")},
	{checkout.ErrLinkSent, conflict("A link was sent less than ten minutes ago.")},
	{checkout.ErrNotConfirmed, conflict("There is no agreement to withdraw.")},
	{checkout.ErrErased, conflict("The personal data was erased, and with it the ids that the act needs.")},
}

func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	for _, known := range problems {
		if errors.Is(err, known.err) {
			return known.problem
		}
	}
	switch refusal, _ := errors.AsType[*checkout.Error](err); {
	case refusal == nil:
		return &problem{http.StatusInternalServerError, "failure", "Try again in a minute, or look for the request in the log."}
	case len(refusal.Faults) > 0:
		return unprocessable("The " + refusal.Faults[0].Field + " " + refusal.Faults[0].Message + ".")
	case refusal.Code == checkout.CodeConflict:
		return conflict("It is confirmed: its agreement can be withdrawn.")
	}
	return conflict("The personal data was erased: nothing can be done.")
}

// titles are the headings of the pages of problems that have no usual words.
var titles = map[int]string{
	http.StatusUnauthorized: "You are not signed in", http.StatusForbidden: "You may not do that",
	http.StatusNotFound: "There is no such page", http.StatusServiceUnavailable: "Try again in a few seconds",
}

// failing returns a handler that answers with the page of an error, without the menu.
func (d *desk) failing(err error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { (&visit{desk: d, w: w, r: r}).fail(err) }
}

// fail answers with the page of an error. A failure is logged.
func (v *visit) fail(err error) {
	p, info := problemOf(err), web.RequestOf(v.r.Context())
	info.Code, v.Status = p.code, p.status
	switch p.status {
	case http.StatusUnauthorized:
		v.w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		web.SetRetryAfter(v.w.Header(), issuerPause)
	}
	if p.status >= http.StatusInternalServerError {
		v.Log.ErrorContext(v.r.Context(), "serve the desk", slog.String("route", info.Route), slog.String("error", err.Error()))
	}
	title := cmp.Or(titles[p.status], http.StatusText(p.status))
	_ = v.show("message.html", title, struct{ Title, Text, Reference string }{title, p.words, info.ID})
}
