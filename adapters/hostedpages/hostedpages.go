// Package hostedpages is what a payer sees: the setup page and the legal page.
package hostedpages

import (
	"embed"
	"net/http"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/page"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

const (
	setupPath  = "/api/dd-setup"
	legalPath  = "/api/dd-setup/legal"
	assetsPath = "/api/dd-setup/assets/"
)

//go:embed *.html setup.js
var files embed.FS

// Options is how the pages are served.
// With the zero Options nothing is logged or limited. The fields: Log *slog.Logger; TrustedProxies
// []netip.Prefix, whose X-Forwarded-For is believed; RateLimit float64, requests a second for one key,
// client or token, in bursts of twice that, 0 for no limit; HSTS bool, where the base URL is https; Now
// and Rand; and Observe func(method, route string, status int, took time.Duration), told of every answer.
type Options = web.Options

// pages serves the payer's pages.
type pages struct {
	service *service.Service
	site    *page.Site
}

// New returns the handler of every path under /api/dd-setup. GET changes nothing, for mail
// scanners and previews open links too: only a POST with the setup token in its body leads on.
func New(s *service.Service, o Options) http.Handler {
	o = o.Complete()
	p := &pages{s, page.New(page.Config{
		Assets:  assetsPath,
		Files:   files,
		Log:     o.Log,
		Clients: web.NewLimiter(o.RateLimit, o.Now),
		Tokens:  web.NewLimiter(o.RateLimit, o.Now),
	})}
	return web.Wrap(o, http.HandlerFunc(p.route), p.site.Broken)
}

func (p *pages) route(w http.ResponseWriter, r *http.Request) {
	serve := func(route string, m page.Methods) {
		web.SetRoute(r.Context(), route)
		p.site.Serve(w, r, m)
	}
	switch path := r.URL.Path; {
	case path == setupPath:
		serve(setupPath, page.Methods{http.MethodGet: p.setup, http.MethodPost: p.begin})
	case path == legalPath:
		serve(legalPath, page.Methods{http.MethodGet: p.legal})
	case strings.HasPrefix(path, assetsPath+colourPrefix):
		serve(assetsPath+"{asset}", page.Methods{http.MethodGet: p.colours})
	case strings.HasPrefix(path, assetsPath):
		serve(assetsPath+"{asset}", page.Methods{http.MethodGet: p.site.Asset})
	default:
		p.site.NotFound(w, r)
	}
}

// setup shows the page that the token opens.
func (p *pages) setup(w http.ResponseWriter, r *http.Request) {
	if token, ok := p.site.Admit(w, r, web.ClientNet(r.Context()), r.URL.Query()); ok {
		p.show(w, r, token, notice{})
	}
}

// legal shows the direct debit terms, to whoever may see the setup page.
func (p *pages) legal(w http.ResponseWriter, r *http.Request) {
	token, ok := p.site.Admit(w, r, web.ClientNet(r.Context()), r.URL.Query())
	if !ok {
		return
	}
	if setup, ok := p.load(w, r, token); ok {
		p.site.Show(w, r, "legal.html", view(setup, legalTitle(setup)))
	}
}

// begin starts the bank setup and sends the payer to the processor.
func (p *pages) begin(w http.ResponseWriter, r *http.Request) {
	form, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	token, ok := p.site.Admit(w, r, web.ClientNet(r.Context()), form)
	if !ok {
		return
	}
	next, err := p.service.BeginSetup(r.Context(), token, acceptance(r, form))
	switch {
	case page.Refused(err, checkout.CodeTokenExpired, checkout.CodeProviderNotEnabled):
		p.show(w, r, token, notice{}) // the page itself says why
	case page.Refused(err, checkout.CodeTermsChanged):
		p.show(w, r, token, notice{Title: "The terms have changed", Text: "The direct debit terms have changed since you " +
			"opened this page. Please read them again, and continue if you accept them. Nothing was set up."})
	case err != nil:
		p.site.Fail(w, r, err)
	default:
		p.site.Redirect(w, r, next)
	}
}

// acceptance is what a form of the setup page says.
func acceptance(r *http.Request, form url.Values) (said service.Acceptance) {
	if address := web.ClientIP(r.Context()); address.IsValid() {
		said.From = address.String()
	}
	said.Terms = strings.Join(form["terms"], " ") // given twice they are none that there are
	return said
}

// show shows the setup page of a token. One that is open tells first why it is shown again.
func (p *pages) show(w http.ResponseWriter, r *http.Request, token string, again notice) {
	setup, ok := p.load(w, r, token)
	switch {
	case !ok:
		return
	case setup.State == service.PageDone:
		v := view(setup, "Your direct debit is set up")
		v.Script, v.Notify = "setup.js", setup.Provider.EnrolmentOrigins
		p.site.Show(w, r, "done.html", v)
	default:
		v := view(setup, "Set up your direct debit")
		if again != (notice{}) {
			c := contentOf(setup)
			c.Notice = again
			v.Data, v.Status = c, http.StatusConflict
		}
		p.site.Show(w, r, "open.html", v)
	}
}

// load returns what a token opens, if it is open or done. Otherwise it answers the request
// itself, and ok is false.
func (p *pages) load(w http.ResponseWriter, r *http.Request, token string) (setup service.SetupPage, ok bool) {
	setup, err := p.service.SetupPage(r.Context(), token)
	if err != nil {
		p.site.Fail(w, r, err)
		return setup, false
	}
	web.SetProvider(r.Context(), setup.Provider.Code)
	switch setup.State {
	case service.PageOpen, service.PageDone:
		return setup, true
	case service.PageExpired:
		v := view(setup, "This link has expired")
		v.Status = http.StatusGone
		p.site.Show(w, r, "expired.html", v)
	default:
		v := view(setup, "This page is not available")
		v.Status = http.StatusGone
		p.site.Show(w, r, "notenabled.html", v)
	}
	return setup, false
}
