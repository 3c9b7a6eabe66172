// Package hostedpages serves the pages that a payer sees, in the provider's branding: the setup page, the legal page, and
// the agreement once there is one. No page needs a script. A product with pages of its own calls Service.SetupPage and Service.BeginSetup instead.
package hostedpages

import (
	"embed"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

const (
	setupPath     = Prefix
	legalPath     = Prefix + "/legal"
	agreementPath = Prefix + "/agreement"
	noticePath    = Prefix + "/privacy"
	assetsPath    = Prefix + "/assets/"
)

//go:embed *.html setup.js
var files embed.FS

// Prefix is the path under which the pages are, for httpapi.Options.Mount.
const Prefix = service.SetupPath

// Options are the options of the handler. With the zero Options nothing is logged or limited.
type Options struct {
	Log *slog.Logger
	// RateLimit is the number of requests a second that one client, and the holder of one setup token, may make, in bursts
	// of twice that; 0 for no limit.
	RateLimit float64
	Now       func() time.Time // time.Now if nil
}

// pages serves the payer's pages.
type pages struct {
	service *service.Service
	site    *web.Site
}

// New returns the handler of every path under Prefix. Mount it in httpapi.New, which gives its requests their id and
// their line in the log; served on its own it does so itself. GET stores nothing, for mail scanners and previews open
// links too: only a POST with the setup token in its body begins a setup.
func New(s *service.Service, o Options) http.Handler {
	shared := web.Options{Log: o.Log, BaseURL: s.BaseURL(), Now: o.Now}.Complete()
	p := &pages{s, web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files, Contact: s.Agency(), RateLimit: o.RateLimit})}
	return web.Wrap(shared, web.Compress(http.HandlerFunc(p.route)), p.site.Broken)
}

func (p *pages) route(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == setupPath:
		p.site.Serve(w, r, setupPath, web.Handlers{http.MethodGet: p.setup, http.MethodPost: p.begin})
	case path == legalPath:
		p.site.Serve(w, r, legalPath, web.Handlers{http.MethodGet: p.legal})
	case path == agreementPath:
		p.site.Serve(w, r, agreementPath, web.Handlers{http.MethodGet: p.agreement})
	case path == noticePath:
		p.site.Serve(w, r, noticePath, web.Handlers{http.MethodGet: p.privacy})
	case strings.HasPrefix(path, assetsPath+colourPrefix):
		p.site.Serve(w, r, assetsPath+"{asset}", web.Handlers{http.MethodGet: p.colours})
	case strings.HasPrefix(path, assetsPath):
		p.site.Serve(w, r, assetsPath+"{asset}", web.Handlers{http.MethodGet: p.site.Asset})
	default:
		p.site.NotFound(w, r)
	}
}

// setup shows the page that the token opens.
func (p *pages) setup(w http.ResponseWriter, r *http.Request) {
	if token, ok := p.token(w, r, r.URL.Query()); ok {
		p.show(w, r, token, notice{})
	}
}

// token returns the setup token that values hold. Without a token, or after too many requests with it, token answers the
// request itself, and ok is false.
func (p *pages) token(w http.ResponseWriter, r *http.Request, values url.Values) (token string, ok bool) {
	token = web.One(values, "token")
	return token, p.site.Admit(w, r, token)
}

// legal shows the direct debit terms, to everyone who may see the setup page.
func (p *pages) legal(w http.ResponseWriter, r *http.Request) {
	token, ok := p.token(w, r, r.URL.Query())
	if !ok {
		return
	}
	if setup, ok := p.load(w, r, token); ok {
		p.site.Show(w, r, "legal.html", p.view(setup, legalTitle(setup)))
	}
}

// agreement shows the payer's agreement, to be read and printed. Before there is one it leads back to the setup page.
func (p *pages) agreement(w http.ResponseWriter, r *http.Request) {
	token, ok := p.token(w, r, r.URL.Query())
	if !ok {
		return
	}
	setup, ok := p.load(w, r, token)
	if !ok {
		return
	}
	a := setup.Agreement
	if a == nil {
		p.site.Redirect(w, r, p.address(setupPath, token))
		return
	}
	text, err := web.ViewAgreement(*a, p.service.Zone())
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	v := p.view(setup, a.Title())
	v.Data = agreementView{text, a.Foot(), p.content(setup)}
	p.site.Show(w, r, "agreement.html", v)
}

// agreementView is the content of an agreement's page.
type agreementView struct {
	Text web.Agreement
	Foot string
	content
}

// privacy shows the notice of whose personal data goes where. It needs no token, so that a provider can link to it: a student
// who does not pay sees no other page.
func (p *pages) privacy(w http.ResponseWriter, r *http.Request) {
	p.site.Show(w, r, "privacy.html", web.View{Status: http.StatusOK, Title: "Your privacy",
		Brand: p.service.Agency().Name, Data: privacyView{p.service.Agency(), p.service.Retention()}})
}

// privacyView is the content of the privacy notice.
type privacyView struct {
	agreement.Agency
	checkout.Retention
}

// begin starts the bank setup and sends the payer to the processor.
func (p *pages) begin(w http.ResponseWriter, r *http.Request) {
	form, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	token, ok := p.token(w, r, form)
	if !ok {
		return
	}
	next, err := p.service.BeginSetup(r.Context(), token, acceptance(r, form))
	switch {
	case web.Refused(err, checkout.CodeLinkExpired, checkout.CodeProviderNotEnabled):
		p.show(w, r, token, notice{}) // the page itself says why
	case web.Refused(err, checkout.CodeTermsChanged):
		p.show(w, r, token, notice{Title: "The terms have changed", Text: "The direct debit terms have changed since you " +
			"opened this page. Please read them again, and continue if you accept them. Nothing was set up."})
	case err != nil:
		p.site.Fail(w, r, err)
	default:
		p.site.Redirect(w, r, next)
	}
}

// acceptance reads a form of the setup page. A terms field that is given twice matches no terms.
func acceptance(r *http.Request, form url.Values) (a checkout.Acceptance) {
	if address := web.ClientIP(r.Context()); address.IsValid() {
		a.From = address.String()
	}
	a.TermsID = strings.Join(form["terms"], " ")
	return a
}

// show shows the setup page of a token, with a notice of why it is shown again.
func (p *pages) show(w http.ResponseWriter, r *http.Request, token string, again notice) {
	setup, ok := p.load(w, r, token)
	switch {
	case !ok:
		return
	case setup.State == checkout.PageSettling:
		p.site.Show(w, r, "settling.html", p.view(setup, "Your direct debit is being set up"))
	case setup.State == checkout.PageDone && setup.Checkout.Setup.Mandate.Dead(): // after the confirm
		p.site.Show(w, r, "ended.html", p.view(setup, "Your direct debit has ended"))
	case setup.State == checkout.PageDone:
		v := p.view(setup, doneTitle(setup))
		v.Script, v.Notify = "setup.js", setup.Provider.EnrolmentOrigins
		p.site.Show(w, r, "done.html", v)
	default:
		v := p.view(setup, "Set up your direct debit")
		v.FormsTo = p.service.PageOrigins()
		if again != (notice{}) {
			c := p.content(setup)
			c.Notice = again
			v.Data, v.Status = c, http.StatusConflict
		}
		p.site.Show(w, r, "open.html", v)
	}
}

// doneTitle says what is done: all, or the payer's part.
func doneTitle(setup service.SetupPage) string {
	if setup.Checkout.Status == checkout.Confirmed {
		return "Your direct debit is set up"
	}
	return "Bank details saved: one step left"
}

// load returns what a token opens, if it shows a plan. Otherwise it answers the request
// itself, and ok is false.
func (p *pages) load(w http.ResponseWriter, r *http.Request, token string) (setup service.SetupPage, ok bool) {
	setup, err := p.service.SetupPage(r.Context(), token)
	if err != nil {
		p.site.Fail(w, r, err)
		return setup, false
	}
	web.SetProvider(r.Context(), setup.Provider.Code)
	switch setup.State {
	case checkout.PageOpen, checkout.PageSettling, checkout.PageDone:
		return setup, true
	case checkout.PageExpired:
		v := p.view(setup, "This link has expired")
		v.Status = http.StatusGone
		p.site.Show(w, r, "expired.html", v)
	default:
		v := p.view(setup, "This page is not available")
		v.Status = http.StatusGone
		p.site.Show(w, r, "notenabled.html", v)
	}
	return setup, false
}
