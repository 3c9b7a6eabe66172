// Package httpapi is the JSON API of the contract over HTTP.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Options is how the API is served.
// With the zero Options nothing is logged or limited. The fields: Log *slog.Logger; TrustedProxies
// []netip.Prefix, whose X-Forwarded-For is believed; RateLimit float64, requests a second for one key,
// client or token, in bursts of twice that, 0 for no limit; HSTS bool, where the base URL is https; Now
// and Rand; and Observe func(method, route string, status int, took time.Duration), told of every answer.
type Options = web.Options

// RequestID returns the id of the request that is being served, req_<uuid>, as its answer,
// its events and its log line carry it; "" where no request is being served.
func RequestID(ctx context.Context) string { return web.RequestID(ctx) }

// New returns the handler of every route under /v1 and of /docs, where people read what they mean; any
// other path is answered 404 in the error envelope, so that it can be mounted at the root.
func New(s *service.Service, o Options) http.Handler { return newHandler(s, o) }

// application is what the API needs of a *service.Service.
type application interface {
	Authenticate(ctx context.Context, key string) (service.Caller, error)
	Create(ctx context.Context, caller service.Caller, cmd checkout.Create) (service.Opened, error)
	Checkout(ctx context.Context, caller service.Caller, id string) (checkout.Checkout, error)
	Confirm(ctx context.Context, caller service.Caller, cmd checkout.Confirm) (service.Confirmed, error)
	Readiness(ctx context.Context) service.Readiness
}

type api struct {
	app       application
	log       *slog.Logger
	perKey    *web.Limiter // requests
	perSource *web.Limiter // failed authentications
	document  *document
}

const checkoutsPath = "/v1/provider-checkouts"

func newHandler(app application, o Options) http.Handler {
	o = o.Complete()
	a := &api{
		app:       app,
		log:       o.Log,
		perKey:    web.NewLimiter(o.RateLimit, o.Now),
		perSource: web.NewLimiter(o.RateLimit, o.Now),
		document:  described(),
	}
	const one = checkoutsPath + "/{checkoutId}"

	// A path that is not clean is unknown, not redirected: a redirected POST loses its body.
	r := mux.NewRouter().SkipClean(true)
	r.Use(web.Routed)
	r.Handle("/v1", a.serve(a.about)).Methods(http.MethodGet, http.MethodHead)
	r.Handle("/v1/environment", a.serve(a.environment)).Methods(http.MethodGet, http.MethodHead)
	r.Handle("/v1/openapi.json", file("application/json", openapiJSON)).Methods(http.MethodGet, http.MethodHead)
	r.Handle("/docs", file("text/html; charset=utf-8", a.document.page)).Methods(http.MethodGet, http.MethodHead)
	r.Handle("/docs/", http.RedirectHandler("/docs", http.StatusPermanentRedirect)).Methods(http.MethodGet, http.MethodHead)
	r.Handle("/docs/docs.css", file("text/css; charset=utf-8", docsCSS)).Methods(http.MethodGet, http.MethodHead)
	r.Handle(checkoutsPath, a.called(a.create)).Methods(http.MethodPost)
	r.Handle(one, a.called(a.checkout)).Methods(http.MethodGet, http.MethodHead)
	r.Handle(one+"/confirm", a.called(a.confirm)).Methods(http.MethodPost)

	r.NotFoundHandler = a.serve(func(req *http.Request) (answer, error) {
		return answer{}, notFound(web.Methods(r, withoutSlash(req)) != "")
	})
	r.MethodNotAllowedHandler = a.serve(func(req *http.Request) (answer, error) {
		return answer{}, methodNotAllowed(web.Methods(r, req))
	})
	return web.Wrap(o, r, a.failed)
}

// answer is what a handler says when it does not refuse.
type answer struct {
	status   int
	location string // "" unless something was created
	body     any
}

// serve answers with what h returns: every answer of the API, good or bad, is written here.
func (a *api) serve(h func(*http.Request) (answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		said, err := h(r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		if said.location != "" {
			w.Header().Set("Location", said.location)
		}
		writeJSON(w, said.status, said.body)
	})
}

// called serves h to callers with a good key who do not call too often.
func (a *api) called(h func(*http.Request, service.Caller) (answer, error)) http.Handler {
	return a.serve(func(r *http.Request) (answer, error) {
		caller, err := a.authenticate(r)
		if err != nil {
			return answer{}, err
		}
		return h(r, caller)
	})
}
