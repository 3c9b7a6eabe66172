// Package desk serves the operator's web desk. It has no sign-in, no session and no script: a proxy in front passes an ID token with
// each request, and the desk verifies the token. A viewer reads, an agent acts; each act needs a reason and is an operation of package
// operate, which records it.
package desk

import (
	"embed"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Settings are the operator's choices.
type Settings struct {
	URL         string // under which browsers reach the desk: a scheme and a host
	Issuer      string // of the ID tokens, as their claim iss has it
	Audience    string // of the ID tokens; their claim aud contains it
	TokenHeader string // the header that carries the ID token; "" for Authorization
	Roles       Roles
}

// Open reports whether the desk verifies nobody: everybody who reaches it acts as the operator "demo".
func (s Settings) Open() bool {
	return s.Issuer == "" && s.Audience == "" && s.TokenHeader == "" && s.Roles.Claim == ""
}

// Check returns the faults of the settings for an environment. Only a sandbox on loopback may be open.
func (s Settings) Check(env catalogue.Environment) (faults []error) {
	refuse := func(faulty bool, words string) {
		if faulty {
			faults = append(faults, errors.New(words))
		}
	}
	u, err := outbound.ParseURL(s.URL, env == catalogue.Sandbox)
	refuse(err != nil || u.Path != "", "the URL of the desk must be https://HOST, or in the sandbox http:// on loopback")
	if s.Open() && env == catalogue.Sandbox && err == nil && outbound.Loopback(u.Hostname()) {
		return faults
	}
	_, err = outbound.ParseURL(s.Issuer, env == catalogue.Sandbox)
	refuse(err != nil, "the desk needs the https:// address of an issuer of ID tokens; only a sandbox on loopback may be open")
	refuse(s.Audience == "", "the desk needs the audience of its ID tokens")
	refuse(s.Roles.Claim == "", "the desk needs roles")
	return faults
}

// Options are the options of the handler. Log, Now, Rand and Observe have the defaults of web.Options.
type Options struct {
	Settings
	Store          ports.Admin
	Keyring        checkout.Keyring // signs the links that are mailed
	Sandbox        bool
	SetupLifetime  time.Duration  // of a link that is mailed
	Mails          bool           // whether e-mail is sent
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is trusted
	Log            *slog.Logger
	Now            func() time.Time
	Rand           io.Reader
	Observe        func(web.Answered)
}

type desk struct {
	Options
	env   catalogue.Environment
	site  *web.Site
	guard *guard
	zone  *time.Location // of New Zealand
}

const assetsPath = "/assets/"

//go:embed *.html desk.css
var files embed.FS

// New returns the handler of the desk, for a listener of its own. The issuer is asked at the first request.
func New(o Options) (http.Handler, error) {
	env := catalogue.Production
	if o.Sandbox {
		env = catalogue.Sandbox
	}
	faults := o.Check(env)
	if o.Store == nil || o.SetupLifetime <= 0 {
		faults = append(faults, errors.New("the desk needs a store, and a lifetime of links"))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	zone, err := service.NewZealand()
	if err != nil {
		return nil, err
	}
	shared := web.Options{Log: o.Log, TrustedProxies: o.TrustedProxies, BaseURL: o.URL, Now: o.Now, Rand: o.Rand,
		Observe: o.Observe}.Complete()
	o.Log, o.Now, o.Rand = shared.Log, shared.Now, shared.Rand
	d := &desk{Options: o, env: env, site: web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files}),
		guard: &guard{Settings: o.Settings, now: o.Now}, zone: zone}
	protection := http.NewCrossOriginProtection()
	_ = protection.AddTrustedOrigin(o.URL) // which Check has parsed; the proxy may have changed Host
	protection.SetDenyHandler(d.failing(errOrigin))
	return web.Wrap(shared, protection.Handler(d.router()), d.failing(errors.New("panic"))), nil
}

// route is a page, or an act and the page that has its form.
type route struct {
	path string // "POST /checkouts/{id}/cancel"
	page func(*visit) error
	act  func(*visit) error // nil for a page, which a viewer may read
}

func routes() []route {
	return []route{
		{"GET /", (*visit).today, nil},
		{"GET /find", (*visit).find, nil},
		{"GET /checkouts/{id}", (*visit).checkout, nil},
		{"POST /checkouts/{id}/link", (*visit).checkout, (*visit).link},
		{"POST /checkouts/{id}/cancel", (*visit).checkout, (*visit).cancel},
		{"POST /checkouts/{id}/withdraw", (*visit).checkout, (*visit).withdraw},
		{"POST /checkouts/{id}/retry", (*visit).checkout, (*visit).retry},
		{"POST /checkouts/{id}/reveal", (*visit).checkout, (*visit).reveal},
		{"GET /providers", (*visit).providers, nil},
		{"GET /providers/{id}", (*visit).provider, nil},
		{"POST /providers/{id}/disable", (*visit).provider, (*visit).disable},
		{"POST /providers/{id}/enable", (*visit).provider, (*visit).enable},
		{"POST /providers/{id}/revoke", (*visit).provider, (*visit).revoke},
	}
}

// router returns the handler of the routes. Stylesheets and the icon need no token: the page of a refusal has them too.
func (d *desk) router() http.Handler {
	router := web.NewRouter()
	for _, rt := range routes() {
		router.On(rt.path, d.visited(rt))
	}
	for _, name := range []string{"style.css", "desk.css", "icon.svg"} {
		router.On("GET "+assetsPath+name, http.HandlerFunc(d.site.Asset))
	}
	router.NotFoundHandler = d.visited(route{page: func(*visit) error { return ports.ErrNotFound }})
	router.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", router.Allowed(r))
		d.failing(errMethod)(w, r)
	})
	return router
}
