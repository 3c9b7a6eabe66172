// Package desk serves the operator's web desk: what needs a hand, each checkout with its timeline, the providers, and the acts that
// a role allows. Operators sign in by OpenID Connect; every act is an operation of package operate, which records it, and the desk
// has no other way to change anything. No page has a script.
package desk

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Settings are the operator's choices.
type Settings struct {
	URL          string // under which browsers reach the desk: a scheme and a host
	Issuer       string // of OpenID Connect; "" in a sandbox in which anybody signs in as any role by a click
	ClientID     string
	ClientSecret string
	Roles        Roles
	Idle         time.Duration // after which somebody who does nothing is signed out
	Session      time.Duration // after which everybody is
}

// Check returns what is wrong with the settings for an environment, an error for each fault.
func (s Settings) Check(env catalogue.Environment) []error {
	var faults []error
	for _, named := range []struct{ name, address string }{{"URL", s.URL}, {"issuer", s.Issuer}} {
		u, err := url.Parse(named.address)
		switch local := err == nil && env == catalogue.Sandbox && u.Scheme == "http" && isLoopback(u.Hostname()); {
		case named.address == "" && named.name == "issuer" && env == catalogue.Sandbox:
		case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !local:
			faults = append(faults, fmt.Errorf("the %s of the desk must be https://HOST, or in the sandbox http:// on loopback", named.name))
		case named.name == "URL" && u.Path != "":
			faults = append(faults, errors.New("the URL of the desk must have no path: its cookie is for a whole host"))
		}
	}
	switch {
	case s.Issuer == "" && (s.ClientID != "" || s.ClientSecret != "" || s.Roles.Claim != ""):
		faults = append(faults, errors.New("a client or roles of the desk need an issuer"))
	case s.Issuer != "" && (s.ClientID == "" || s.ClientSecret == "" || s.Roles.Claim == ""):
		faults = append(faults, errors.New("the issuer of the desk needs a client id, a client secret and roles"))
	}
	if s.Idle <= 0 || s.Session < s.Idle {
		faults = append(faults, errors.New("a session of the desk must last as long as it may be idle, or longer"))
	}
	return faults
}

func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// Links are the addresses under which the systems outside show a record, without its id. Ids have no link without an address.
type Links struct {
	Mandate string
	Record  string // of the CRM
}

// Options are the options of the handler. The defaults of Log, Now and Rand are web.Options'.
type Options struct {
	Settings
	Store   ports.Admin
	Secrets [][]byte // of the operator, the newest first: they seal the sessions
	Sandbox bool
	Setups  ports.SetupEraser // of the processor whose records are in the store
	// Export writes everything that is on record about a student.
	Export func(io.Writer, operate.Student) error
	// Agreements has the PDF and the proof of an agreement by its number, or nil; a service.Service has.
	Agreements interface {
		Document(context.Context, agreement.Agreement) (*agreement.Document, error)
		Proof(context.Context, agreement.Agreement) (*evidence.Proof, error)
	}
	Sender func(catalogue.Environment) ports.Sender // of test events
	Links  Links
	// GoLive returns the steps to production of a provider's integration; nil without such steps, as in production.
	GoLive func(ctx context.Context, provider string) ([]Step, error)
	Ahead  func(context.Context, checkout.About) time.Duration // service.Config.Ahead; optional
	// SetupLifetime is the time for which a setup link opens that is sent to a payer.
	SetupLifetime  time.Duration
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is trusted
	Log            *slog.Logger
	Now            func() time.Time
	Rand           io.Reader
	Observe        func(web.Answered)
}

// desk serves the pages.
type desk struct {
	Options
	site    *web.Site
	sealer  *secrets.Encrypter
	keyring checkout.Keyring
	zone    *time.Location // of New Zealand
	roles   Roles
	issuer  *issuer // nil: by a click
}

const assetsPath = "/assets/"

//go:embed *.html desk.css
var files embed.FS

// New returns the handler of the desk, for a listener of its own.
func New(o Options) (http.Handler, error) {
	env := catalogue.Production
	if o.Sandbox {
		env = catalogue.Sandbox
	}
	if err := errors.Join(o.Check(env)...); err != nil {
		return nil, err
	}
	shared := web.Options{Log: o.Log, TrustedProxies: o.TrustedProxies, BaseURL: o.URL, Now: o.Now, Rand: o.Rand,
		Observe: o.Observe}.Complete()
	o.Log, o.Now, o.Rand = shared.Log, shared.Now, shared.Rand
	d := &desk{Options: o, site: web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files}), roles: clickable()}
	var err error
	if d.sealer, err = secrets.New(o.Secrets, o.Rand); err != nil {
		return nil, fmt.Errorf("derive the key of sessions: %w", err)
	}
	if d.keyring, err = checkout.NewKeyring(o.Secrets...); err != nil {
		return nil, fmt.Errorf("derive the keys of evidence: %w", err)
	}
	if d.zone, err = service.NewZealand(); err != nil {
		return nil, err
	}
	if o.Issuer != "" {
		d.roles, d.issuer = o.Settings.Roles, &issuer{desk: d, client: &http.Client{Timeout: issuerLimit}}
	}
	return web.Wrap(shared, d.sameOrigin(d.router()), func(w http.ResponseWriter, r *http.Request) {
		d.message(w, r, http.StatusInternalServerError, "")
	}), nil
}

// sameOrigin refuses what another website has a browser send.
func (d *desk) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.message(w, r, http.StatusForbidden, "The form came from another website.")
	}))
	return protection.Handler(next)
}

// router returns the desk's routes.
func (d *desk) router() http.Handler {
	router := web.NewRouter()
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.message(w, r, http.StatusNotFound, "") })
	router.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", router.Allowed(r))
		d.message(w, r, http.StatusMethodNotAllowed, "")
	})
	router.On("GET "+signInPath, http.HandlerFunc(d.signIn))
	router.On("POST "+signInPath, http.HandlerFunc(d.click))
	router.On("GET "+callbackPath, http.HandlerFunc(d.callback))
	router.On("POST /sign-out", http.HandlerFunc(d.signOut))
	router.On("GET "+handoverPath+"{token}", http.HandlerFunc(d.offerKey))
	router.On("POST "+handoverPath+"{token}", http.HandlerFunc(d.handOver))
	router.On("GET "+assetsPath+"{asset}", http.HandlerFunc(d.site.Asset))
	for _, route := range routes() {
		router.On(route.Path, d.guarded(route))
	}
	return router
}

// show answers with a page.
func (d *desk) show(w http.ResponseWriter, r *http.Request, status int, name, title string, data any) {
	d.site.Show(w, r, name, web.View{Status: status, Title: title, Brand: "Desk", Sandbox: d.Sandbox, Plain: true,
		Styles: []string{assetsPath + "desk.css"}, Data: data})
}

// readForm returns the fields of a form.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	const maxForm = 16 << 10
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return nil, errForm
	}
	if err := r.ParseForm(); err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	return r.PostForm, nil
}
