// Package httpapi is the JSON API of the contract over HTTP, its documentation, and the root of everything that a
// service answers to the outside.
//
// [New] returns one handler: the routes of the contract under /v1, /docs for people, /v1/openapi.json and
// /v1/asyncapi.json for programs, /verify for holders of an agreement's proof, and whatever is mounted beside them, such as
// the payer's pages. Serve it at the root of a host name, or under the path of the service's base URL, with or without stripping
// that path from the request: then every link, form and Location has it.
//
//	handler := httpapi.New(svc, httpapi.Options{Log: log, RateLimit: 100, Mount: map[string]http.Handler{
//		hostedpages.Prefix: hostedpages.New(svc, hostedpages.Options{Log: log, RateLimit: 100}),
//	}})
//
// Every request gets an id, a line in the log, the headers that all answers have, and an answer if a handler panics.
package httpapi

import (
	"context"
	"embed"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
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
	// Authenticate returns who calls, where that is not decided by the API key in the Authorization header: by a client
	// certificate, say, or a gateway's token. It refuses with an error that checkout.InvalidAPIKey or MissingAPIKey
	// made; any other error is answered 500. The path, the rate limits and the rest of the order of checks stay as they are.
	Authenticate func(*http.Request) (service.Caller, error)
	// Mount has further handlers by the path that they are under, without a slash at the end, such as
	// hostedpages.Prefix. Whatever the base URL's path is, their requests do not have it.
	Mount map[string]http.Handler
	// Calls are further calls of providers by their method and path, such as "POST /sandbox/v1/checkouts/{checkoutId}/clock". They
	// are authenticated, limited and refused as the others.
	Calls map[string]Call
	// Around is called with each call of a known provider in the place of serve, but for Calls, and for creates that cannot be read.
	// order is the order id of a create. serve serves the call. A call for which it does not call serve changes nothing. Optional.
	Around  func(r *http.Request, caller service.Caller, order string, serve func(*http.Request) error) error
	Observe func(Answered)                     // called with every answer, concurrently; it must not block. Optional
	Span    func(*service.Span) (ended func()) // service.Config.Span, for the requests; optional
	Now     func() time.Time                   // time.Now if nil
	Rand    io.Reader                          // for request ids; crypto/rand if nil
}

// Answered is a request that was answered. A client can make up the path and its own name alone.
type Answered = web.Answered

// RequestID returns the id of the request that is being served, req_<uuid>, as its answer,
// its events and its log line carry it; "" where no request is being served.
func RequestID(ctx context.Context) string { return web.RequestID(ctx) }

// New returns the handler of everything under the service's base URL. A path that nothing is at is answered 404, in the error
// envelope; a browser gets a page, unless the path is one for programs.
func New(s *service.Service, o Options) http.Handler { return newHandler(s, o) }

// application is the part of a *service.Service that the API needs.
type application interface {
	BaseURL() string
	Authenticate(ctx context.Context, key string) (service.Caller, error)
	RateLimit(ctx context.Context, caller service.Caller) int
	Create(ctx context.Context, caller service.Caller, cmd checkout.Create) (service.Opened, error)
	Checkout(ctx context.Context, caller service.Caller, id string) (checkout.Checkout, error)
	Confirm(ctx context.Context, caller service.Caller, id string, cmd checkout.Confirm) (service.Confirmed, error)
	Cancel(ctx context.Context, caller service.Caller, id string, cmd checkout.Cancel) (checkout.Checkout, error)
	Events(ctx context.Context, caller service.Caller, l checkout.List) ([]checkout.ListedEvent, error)
	Enrolments(ctx context.Context, caller service.Caller, l checkout.List) ([]checkout.ListedEnrolment, error)
	Redeliver(ctx context.Context, caller service.Caller, id, requestID string) error
	Refused(ctx context.Context, caller service.Caller, id, requestID string, err error)
	Readiness(ctx context.Context) service.Readiness
	Present(ctx context.Context) time.Time
	Checkpoint(ctx context.Context) ([]byte, error)
	EvidenceKey() string
	Agency() agreement.Agency
}

type api struct {
	app       application
	log       *slog.Logger
	pages     *web.Site // for a browser at a path that nothing is at
	base      string    // path of the base URL
	identify  func(*http.Request) (service.Caller, error)
	around    func(r *http.Request, caller service.Caller, order string, serve func(*http.Request) error) error
	perKey    *web.Limiter // requests
	perSource *web.Limiter // failed authentications
	resending *web.Limiter // calls of a provider that send an event again
}

const (
	checkoutsPath = "/v1/provider-checkouts"
	eventsPath    = "/v1/events"
	docsPath      = "/docs"
	wellKnownPath = "/.well-known"
	evidencePath  = wellKnownPath + "/provider-checkout/evidence"
)

func newHandler(app application, o Options) http.Handler {
	shared := web.Options{Log: o.Log, TrustedProxies: o.TrustedProxies, BaseURL: app.BaseURL(), Now: o.Now, Rand: o.Rand,
		Observe: o.Observe, Span: o.Span}.Complete()
	a := &api{
		app:       app,
		log:       shared.Log,
		pages:     web.NewSite(shared, web.SiteConfig{Assets: docsPath + "/", Files: embed.FS{}, Contact: app.Agency()}),
		base:      web.BasePath(shared.BaseURL),
		identify:  o.Authenticate,
		around:    o.Around,
		perKey:    web.NewLimiter(o.RateLimit, shared.Now),
		perSource: web.NewLimiter(o.RateLimit, shared.Now),
		resending: web.NewLimiter(min(o.RateLimit, 1), shared.Now).WithoutBursts(),
	}
	if a.identify == nil {
		a.identify = a.byAPIKey
	}
	if a.around == nil {
		a.around = func(r *http.Request, _ service.Caller, _ string, serve func(*http.Request) error) error {
			return serve(r)
		}
	}
	routes := a.routes()
	for route, call := range o.Calls {
		routes.On(route, a.known(call.answer))
	}
	return web.Wrap(shared, mounted(o.Mount, routes), a.failed)
}

func (a *api) routes() web.Router {
	const one = checkoutsPath + "/{checkoutId}"
	base := a.app.BaseURL()

	r := web.NewRouter()
	r.On("GET /", http.RedirectHandler(a.base+docsPath, http.StatusFound))
	r.On("GET /v1", a.serve(a.about))
	r.On("GET /v1/environment", a.serve(a.environment))
	r.On("GET /v1/openapi.json", file("application/json", base, openapiJSON))
	r.On("GET /v1/asyncapi.json", file("application/json", base, asyncapiJSON))
	r.On("GET "+docsPath, file("text/html; charset=utf-8", base, docsHTML))
	r.On("GET "+docsPath+".md", file("text/markdown; charset=utf-8", base, docsMarkdown))
	r.On("GET "+docsPath+"/", http.RedirectHandler(a.base+docsPath, http.StatusPermanentRedirect))
	r.On("GET "+docsPath+"/docs.css", file("text/css; charset=utf-8", base, docsCSS))
	r.On("GET "+docsPath+"/icon.svg", file("image/svg+xml", base, web.Icon()))
	r.On("GET "+docsPath+"/style.css", http.HandlerFunc(a.pages.Asset))
	r.On("GET "+docsPath+"/docs.js", file("text/javascript; charset=utf-8", base, docsJS))
	r.On("GET "+evidencePath+"/checkpoint", a.serve(a.checkpoint))
	r.On("GET "+evidencePath+"/key", a.serve(a.evidenceKey))
	verifier := newVerifier(a.app.EvidenceKey())
	r.On("GET "+web.VerifyPath, web.Compress(http.HandlerFunc(verifier.show)))
	r.On("GET "+web.VerifyPath+"/"+keptVerifier, web.Compress(http.HandlerFunc(verifier.keep)))
	r.On("POST "+checkoutsPath, a.known(a.create))
	r.On("GET "+one, a.called(a.checkout))
	r.On("POST "+one+"/confirm", a.called(a.confirm))
	r.On("POST "+one+"/cancel", a.called(a.cancel))
	r.On("GET "+eventsPath, a.called(listed(false, a.app.Events, toEventsWire)))
	r.On("GET /v1/enrolments", a.called(listed(true, a.app.Enrolments, toEnrolmentsWire)))
	r.On("POST "+eventsPath+"/{eventId}/redeliver", a.called(a.redeliver))

	r.NotFoundHandler = a.unrouted(a.pages.NotFound,
		func(req *http.Request) error { return notFound(r.Allowed(withoutSlash(req)) != "") })
	r.MethodNotAllowedHandler = a.unrouted(
		func(w http.ResponseWriter, req *http.Request) { a.pages.NotAllowed(w, req, r.Allowed(req)) },
		func(req *http.Request) error { return methodNotAllowed(r.Allowed(req)) })
	return r
}

// unrouted answers a request for a path or a method that is not there: a browser with a page, and any other client with a
// refusal. Nobody is authenticated for it: the log names the key's id alone.
func (a *api) unrouted(page http.HandlerFunc, refusal func(*http.Request) error) http.Handler {
	refused := a.serve(func(r *http.Request) (answer, error) { return answer{}, refusal(r) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = bearerKey(r)
		if isBrowsed(r) {
			page(w, r)
			return
		}
		refused.ServeHTTP(w, r)
	})
}

// isBrowsed reports whether a browser asks for a page: it accepts HTML, at a path that is not one for programs.
func isBrowsed(r *http.Request) bool {
	for _, programs := range []string{"/v1", wellKnownPath} {
		if r.URL.Path == programs || strings.HasPrefix(r.URL.Path, programs+"/") {
			return false
		}
	}
	return slices.ContainsFunc(strings.Split(strings.Join(r.Header.Values("Accept"), ","), ","), func(accepted string) bool {
		media, _, _ := mime.ParseMediaType(accepted)
		return media == "text/html"
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

// answer is the answer of a handler that does not refuse.
type answer struct {
	status   int
	location string // path of what was created; "" where nothing was
	body     any
	text     string // plain text, in the place of body; "" for an answer in JSON
}

// serve answers with what h returns: every answer of the API, good or bad, is written here.
func (a *api) serve(h func(*http.Request) (answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		got, err := h(r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		if got.location != "" {
			w.Header().Set("Location", a.base+got.location)
		}
		if got.text != "" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, got.text) // a client that went away is no fault
			return
		}
		web.WriteJSON(w, got.status, got.body)
	})
}

// called is known with Options.Around.
func (a *api) called(h func(*http.Request, service.Caller) (answer, error)) http.Handler {
	return a.known(func(r *http.Request, caller service.Caller) (got answer, err error) {
		err = a.around(r, caller, "", func(r *http.Request) (err error) {
			got, err = h(r, caller)
			return err
		})
		return got, err
	})
}

// known serves h to callers who are known and do not call too often.
func (a *api) known(h func(*http.Request, service.Caller) (answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.serve(func(r *http.Request) (answer, error) {
			caller, err := a.authenticate(w.Header(), r)
			if err != nil {
				return answer{}, err
			}
			return h(r, caller)
		}).ServeHTTP(w, r)
	})
}

// authenticate returns the caller, and has the answer say how often it may still call. A source that sends too many bad keys gets a 429 instead of
// the fault of its key; a good key is never refused because of bad ones from the same source.
func (a *api) authenticate(h http.Header, r *http.Request) (service.Caller, error) {
	caller, err := a.identify(r)
	switch {
	case checkout.Refused(err, checkout.CodeMissingAPIKey, checkout.CodeInvalidAPIKey):
		if wait, ok := a.perSource.Allow(web.ClientNet(r.Context())); !ok {
			return service.Caller{}, rateLimited(wait)
		}
		return service.Caller{}, err
	case err != nil:
		return service.Caller{}, err
	}
	web.RequestOf(r.Context()).Provider = caller.ProviderCode
	name := caller.ProviderCode + " " + caller.KeyID
	a.perKey.SetRate(name, float64(a.app.RateLimit(r.Context(), caller)))
	wait, ok := a.perKey.Allow(name)
	a.perKey.SetHeaders(h, name)
	if !ok {
		return service.Caller{}, rateLimited(wait)
	}
	return caller, nil
}

// byAPIKey returns the caller whose key the request carries.
func (a *api) byAPIKey(r *http.Request) (service.Caller, error) {
	key, err := bearerKey(r)
	if err != nil {
		return service.Caller{}, err
	}
	return a.app.Authenticate(r.Context(), key)
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
