// Package httpapi is the JSON API of the contract over HTTP, its documentation, and the root of everything that a
// service answers to the outside.
//
// [New] returns one handler: the routes of the contract under /v1, their reference at /docs and at /v1/openapi.json, and the
// handlers that are mounted beside them, such as the payer's pages. Serve it at the root of a host name, or under the path of the
// service's base URL, with or without stripping that path from the request: then every link, form and Location has it.
//
//	handler := httpapi.New(svc, httpapi.Options{Log: log, RateLimit: 100, Mount: map[string]http.Handler{
//		hostedpages.Prefix: hostedpages.New(svc, hostedpages.Options{Log: log, RateLimit: 100}),
//	}})
//
// Every request gets an id, a line in the log, the headers that all answers have, and an answer if a handler panics.
package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Options are the options of the handler. With the zero Options nothing is logged or limited.
type Options struct {
	Log *slog.Logger // the request id is added to every record
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// RateLimit is the number of requests a second that one API key, and one source of bad keys, may make, in bursts of twice
	// that; 0 for no limit.
	RateLimit float64
	// Mount has further handlers by the path that they are under, without a slash at the end, such as
	// hostedpages.Prefix. Whatever the base URL's path is, their requests do not have it.
	Mount   map[string]http.Handler
	Observe func(Answered)   // called with every answer, concurrently; it must not block. Optional
	Now     func() time.Time // time.Now if nil
	Rand    io.Reader        // for request ids; crypto/rand if nil
}

// Answered describes a request that was answered. No field has a value that a client can invent.
type Answered = web.Answered

// New returns the handler of everything under the service's base URL.
func New(s *service.Service, o Options) http.Handler { return newHandler(s, o) }

// application is the part of a *service.Service that the API needs.
type application interface {
	BaseURL() string
	Environment() catalogue.Environment
	Authenticate(ctx context.Context, key string) (service.Caller, error)
	RateLimit(ctx context.Context, caller service.Caller) int
	Create(ctx context.Context, caller service.Caller, cmd checkout.Create) (service.Opened, error)
	Checkout(ctx context.Context, caller service.Caller, id string) (checkout.Checkout, error)
	Confirm(ctx context.Context, caller service.Caller, id string, cmd checkout.Confirm) (service.Confirmed, error)
	Cancel(ctx context.Context, caller service.Caller, id string, cmd checkout.Cancel) (checkout.Checkout, error)
	Events(ctx context.Context, caller service.Caller, l checkout.List) ([]checkout.JobRecord, error)
	Refused(caller service.Caller, id, requestID string, err error)
	Readiness(ctx context.Context) service.Readiness
}

type api struct {
	app       application
	log       *slog.Logger
	base      string // path of the base URL
	now       func() time.Time
	perKey    *web.Limiter // requests
	perSource *web.Limiter // failed authentications
}

const (
	checkoutsPath = "/v1/provider-checkouts"
	eventsPath    = "/v1/events"
	docsPath      = "/docs"
)

func newHandler(app application, o Options) http.Handler {
	shared := web.Options{Log: o.Log, TrustedProxies: o.TrustedProxies, BaseURL: app.BaseURL(), Now: o.Now, Rand: o.Rand,
		Observe: o.Observe}.Complete()
	a := &api{
		app:       app,
		log:       shared.Log,
		base:      web.BasePath(shared.BaseURL),
		now:       shared.Now,
		perKey:    web.NewLimiter(o.RateLimit, shared.Now),
		perSource: web.NewLimiter(o.RateLimit, shared.Now),
	}
	failed := func(w http.ResponseWriter, r *http.Request) { a.refuse(w, r, internal()) } // after a panic, which is logged already
	return web.Wrap(shared, mounted(o.Mount, a.routes()), failed)
}

func (a *api) routes() web.Router {
	const one = checkoutsPath + "/{checkoutId}"
	base := a.app.BaseURL()

	r := web.NewRouter()
	r.On("GET /", http.RedirectHandler(a.base+docsPath, http.StatusFound))
	r.On("GET /v1", a.serve(a.about))
	r.On("GET /v1/environment", a.serve(a.environment))
	r.On("GET /v1/openapi.json", file("application/json", base, openapiJSON))
	r.On("GET "+docsPath, file("text/html; charset=utf-8", base, referencePage()))
	r.On("GET "+docsPath+"/", http.RedirectHandler(a.base+docsPath, http.StatusPermanentRedirect))
	r.On("GET "+docsPath+"/reference.css", file("text/css; charset=utf-8", base, referenceCSS))
	r.On("GET "+docsPath+"/icon.svg", file("image/svg+xml", base, web.Icon()))
	r.On("POST "+checkoutsPath, a.known(a.create))
	r.On("GET "+one, a.known(a.checkout))
	r.On("POST "+one+"/confirm", a.known(a.confirm))
	r.On("POST "+one+"/cancel", a.known(a.cancel))
	r.On("GET "+eventsPath, a.known(a.events))

	r.NotFoundHandler = a.unrouted(func(*http.Request) error { return notFound() })
	r.MethodNotAllowedHandler = a.unrouted(func(req *http.Request) error { return methodNotAllowed(r.Allowed(req)) })
	return r
}

// unrouted refuses a request for an unknown path or method. It authenticates nobody: the log names the id of the key alone.
func (a *api) unrouted(refusal func(*http.Request) error) http.Handler {
	return a.serve(func(r *http.Request) (any, error) {
		_, _ = bearerKey(r)
		return nil, refusal(r)
	})
}

// mounted sends the requests under a mounted path to its handler, and all others to next.
func mounted(mount map[string]http.Handler, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for prefix, handler := range mount {
			if rest, ok := strings.CutPrefix(r.URL.Path, prefix); ok && (rest == "" || rest[0] == '/') {
				web.RequestOf(r.Context()).Route = prefix // unless it has routes of its own
				handler.ServeHTTP(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// serve answers with what h returns: every answer of the API, good or bad, is written here.
func (a *api) serve(h func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		body, err := h(r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		status := http.StatusOK
		if opened, ok := body.(openedWire); ok && !opened.IdempotentReplay {
			status = http.StatusCreated
			w.Header().Set("Location", a.base+checkoutsPath+"/"+opened.Checkout.ID)
		}
		web.WriteJSON(w, status, body)
	})
}

// known serves h to callers who are known and do not call too often.
func (a *api) known(h func(*http.Request, service.Caller) (any, error)) http.Handler {
	return a.serve(func(r *http.Request) (any, error) {
		caller, err := a.authenticate(r)
		if err != nil {
			return nil, err
		}
		return h(r, caller)
	})
}

// authenticate returns the caller. A source that sends too many bad keys gets a 429 instead of the fault of its key; a good key is
// never refused because of bad ones from the same source.
func (a *api) authenticate(r *http.Request) (service.Caller, error) {
	var caller service.Caller
	key, err := bearerKey(r)
	if err == nil {
		caller, err = a.app.Authenticate(r.Context(), key)
	}
	if checkout.Refused(err, checkout.CodeMissingAPIKey, checkout.CodeInvalidAPIKey) {
		if wait, ok := a.perSource.Allow(web.ClientNet(r.Context())); !ok {
			err = rateLimited(wait)
		}
	}
	if err != nil {
		return caller, err
	}
	web.RequestOf(r.Context()).Provider = caller.ProviderCode
	name := caller.ProviderCode + " " + caller.KeyID
	if wait, ok := a.perKey.AllowAt(name, float64(a.app.RateLimit(r.Context(), caller))); !ok {
		return caller, rateLimited(wait)
	}
	return caller, nil
}

// bearerKey returns the key in the Authorization header, and has the access log name its id. The key is not checked.
func bearerKey(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return "", checkout.RepeatedAPIKey()
	}
	scheme, key, _ := strings.Cut(strings.Join(values, ""), " ")
	if scheme != "" && !strings.EqualFold(scheme, "Bearer") {
		return "", checkout.MissingAPIKey(
			"the Authorization header must be the word Bearer, a space and the key: Authorization: Bearer <API_KEY>")
	}
	key = strings.TrimSpace(key)
	if id := catalogue.KeyID(key); id != key { // what is no key may be a password
		web.RequestOf(r.Context()).KeyID = id
	}
	return key, nil
}
