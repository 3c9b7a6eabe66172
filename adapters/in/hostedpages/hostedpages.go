// Package hostedpages serves the pages for payers, in the provider's branding: the setup page, the terms and the privacy notice
// and, once there is an agreement, the payer's page and the agreement. No page needs a script. A product with pages of its own
// calls Service.SetupPage, BeginSetup, ReturnPage and MailLink instead.
package hostedpages

import (
	"cmp"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

const (
	setupPath     = Prefix
	returnPath    = service.ReturnPath
	legalPath     = Prefix + "/legal"
	agreementPath = Prefix + "/agreement"
	linkPath      = Prefix + "/link"
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
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is believed, where the handler is served on its own: the
	// payer's address is part of the consent.
	TrustedProxies []netip.Prefix
}

type pages struct {
	service *service.Service
	site    *web.Site
}

// New returns the handler of every path under Prefix. Mount it in httpapi.New, which gives its requests their id and
// their line in the log; served on its own it does so itself. GET stores nothing and asks the processor nothing, for mail scanners
// and previews open links too: only a POST with the setup token in its body begins a setup. The exception is the address to which
// the processor, and nothing else, leads.
func New(s *service.Service, o Options) http.Handler {
	shared := web.Options{Log: o.Log, TrustedProxies: o.TrustedProxies, BaseURL: s.BaseURL(), Now: o.Now}.Complete()
	p := &pages{s, web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files, RateLimit: o.RateLimit})}
	return p.site.Handler(map[string]http.HandlerFunc{
		"GET " + setupPath:              p.opened(p.setup),
		"POST " + setupPath:             p.sent(p.begin),
		"GET " + returnPath:             p.returned,
		"GET " + legalPath:              p.opened(p.legal),
		"GET " + agreementPath:          p.opened(p.agreement),
		"POST " + linkPath:              p.sent(p.mailLink),
		"GET " + noticePath:             p.privacy,
		"GET " + assetsPath + "{asset}": p.asset,
	})
}

// opened returns the handler of a page that the token of the address opens, if what it opens shows a plan.
func (p *pages) opened(show func(http.ResponseWriter, *http.Request, content)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if token, ok := p.token(w, r, r.URL.Query()); ok {
			if c, ok := p.load(w, r, token); ok {
				show(w, r, c)
			}
		}
	}
}

// token returns the setup token that values hold, without what mail and chat programs take for a part of a link that stands in a sentence
// or in brackets. Without a token, or after too many requests with it, token answers the
// request itself, and ok is false.
func (p *pages) token(w http.ResponseWriter, r *http.Request, values url.Values) (token string, ok bool) {
	token = strings.TrimRightFunc(web.One(values, "token"), func(r rune) bool {
		return r != '-' && r != '_' && (unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.IsSpace(r)) // a token ends with base64url
	})
	return token, p.site.Admit(w, r, token)
}

// load returns what a token opens, if it shows a plan. Otherwise it answers the request itself, and ok is false.
func (p *pages) load(w http.ResponseWriter, r *http.Request, token string) (c content, ok bool) {
	setup, err := p.service.SetupPage(r.Context(), token)
	return p.found(w, r, setup, err)
}

// found is load for a page that was read already.
func (p *pages) found(w http.ResponseWriter, r *http.Request, setup service.SetupPage, err error) (c content, ok bool) {
	if err != nil {
		p.site.Fail(w, r, err)
		return c, false
	}
	web.RequestOf(r.Context()).Provider = setup.Provider.Code
	c = p.content(setup)
	code := checkout.CodeLinkExpired
	var name, title string
	switch setup.State {
	case checkout.PageCancelled:
		name, title, code = "cancelled.html", "This payment plan was cancelled", checkout.CodeCancelled
	case checkout.PageExpired:
		name, title = "expired.html", "This link has expired"
	case checkout.PageEnded:
		name, title = "over.html", "This page has ended"
	case checkout.PageNotEnabled:
		name, title, code = "notenabled.html", "This page is not available", checkout.CodeProviderNotEnabled
	default:
		return c, true
	}
	v := p.view(c, title)
	v.Status = web.PageStatus(code)
	p.site.Show(w, r, name, v)
	return c, false
}

// returned shows a payer who comes back from the processor what that led to. Once it is done the setup page shows it too.
func (p *pages) returned(w http.ResponseWriter, r *http.Request) {
	token, ok := p.token(w, r, r.URL.Query())
	if !ok {
		return
	}
	setup, err := p.service.ReturnPage(r.Context(), token)
	switch c, ok := p.found(w, r, setup, err); {
	case !ok:
	case c.Done():
		p.site.Redirect(w, r, c.SetupURL)
	default:
		p.setup(w, r, c)
	}
}

// legal shows the direct debit terms, to everyone who may see the setup page.
func (p *pages) legal(w http.ResponseWriter, r *http.Request, c content) {
	p.site.Show(w, r, "legal.html", p.view(c, c.LegalTitle()))
}

// agreement shows the payer's agreement, to be read and printed. Before there is one it leads back to the setup page.
func (p *pages) agreement(w http.ResponseWriter, r *http.Request, c content) {
	a := c.Agreement
	if a == nil {
		p.site.Redirect(w, r, c.SetupURL)
		return
	}
	text, err := web.ViewAgreement(*a, p.service.Zone())
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	v := p.view(c, a.Title())
	v.Data = agreementView{text, a.Foot(), c}
	p.site.Show(w, r, "agreement.html", v)
}

type agreementView struct {
	Text web.Agreement
	Foot string
	content
}

// privacy shows the notice of whose personal data goes where. It needs no token, so that a provider can link to it: a student
// who does not pay sees no other page.
func (p *pages) privacy(w http.ResponseWriter, r *http.Request) {
	p.site.Show(w, r, "privacy.html", web.View{Status: http.StatusOK, Title: "Your privacy",
		Brand: p.service.Agency().Name, Data: privacyView{p.service.Agency(), p.service.Retention(), p.service.Recipients()}})
}

type privacyView struct {
	agreement.Agency
	checkout.Retention
	Recipients []agreement.Recipient
}

// noticeVersion is the day of the privacy notice's text. It changes with the text.
var noticeVersion = money.Date{Year: 2026, Month: time.November, Day: 24}

func (privacyView) Version() string { return noticeVersion.Long() }

// sent returns the handler of a form whose body has the token.
func (p *pages) sent(take func(w http.ResponseWriter, r *http.Request, form url.Values, token string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if form, ok := p.site.ReadForm(w, r); ok {
			if token, ok := p.token(w, r, form); ok {
				take(w, r, form, token)
			}
		}
	}
}

// begin starts the bank setup and sends the payer to the processor.
func (p *pages) begin(w http.ResponseWriter, r *http.Request, form url.Values, token string) {
	next, err := p.service.BeginSetup(r.Context(), token, p.acceptance(r, form))
	if err == nil {
		p.site.Redirect(w, r, next)
		return
	}
	if !checkout.Refused(err, checkout.CodeLinkExpired, checkout.CodeCancelled, checkout.CodeProviderNotEnabled, checkout.CodeTermsChanged,
		checkout.CodeBusy) {
		p.site.Fail(w, r, err)
		return
	}
	refusal, _ := errors.AsType[*checkout.Error](err)
	web.RequestOf(r.Context()).Refused = refusal
	c, ok := p.load(w, r, token)
	if !ok {
		return // the page itself gives the reason
	}
	switch refusal.Code {
	case checkout.CodeTermsChanged:
		c.Notice, c.Status = termsChanged, web.PageStatus(refusal.Code)
	case checkout.CodeBusy:
		c.Notice, c.Status = notStarted, web.PageStatus(refusal.Code)
		web.SetRetryAfter(w.Header(), web.BusyFor)
	}
	p.setup(w, r, c)
}

// mailLink has a new link sent to the payer whose link has expired, without a sign of the address or of whether it is sent. A
// link that opens needs no other.
func (p *pages) mailLink(w http.ResponseWriter, r *http.Request, _ url.Values, token string) {
	setup, err := p.service.MailLink(r.Context(), token, web.RequestID(r.Context()))
	if err == nil && setup.Renewable {
		web.RequestOf(r.Context()).Provider = setup.Provider.Code
		v := p.view(p.content(setup), "Check your email")
		v.Address = "" // it has a token
		p.site.Show(w, r, "mailed.html", v)
		return
	}
	if c, ok := p.found(w, r, setup, err); ok {
		p.site.Redirect(w, r, c.SetupURL)
	}
}

// acceptance reads a form of the setup page. A terms field that is missing or given twice matches no terms.
func (p *pages) acceptance(r *http.Request, form url.Values) checkout.Acceptance {
	a := checkout.Acceptance{Page: p.site.Path(setupPath), TermsID: strings.Join(form["terms"], " ")}
	if address := web.RequestOf(r.Context()).Client; address.IsValid() {
		a.From = address.String()
	}
	return a
}

func (p *pages) setup(w http.ResponseWriter, r *http.Request, c content) {
	v := p.view(c, "Set up your direct debit")
	name := "open.html"
	switch {
	case c.State == checkout.PageSettling:
		name, v.Title = "settling.html", "Your direct debit is being set up"
	case !c.Done():
		v.FormsTo, v.Status = p.service.PageOrigins(), cmp.Or(c.Status, http.StatusOK)
	case c.Checkout.Withdrawn():
		name, v.Title = "withdrawn.html", "Your agreement was withdrawn"
	case c.Confirmed():
		name, v.Title = "payer.html", "Your payment plan"
	default:
		name, v.Title = "done.html", "Bank details saved: one step left"
	}
	if c.Done() {
		v.Notify = c.Provider.EnrolmentOrigins
	}
	p.site.Show(w, r, name, v)
}
