package fakeprocessor

import (
	"embed"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/page"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

const (
	formPath   = "/sandbox/processor/billing-requests"
	assetsPath = "/sandbox/processor/assets/"
	setupPath  = "/api/dd-setup" // the service's page, where every way back leads (contract, section 4)
)

//go:embed form.html account.js
var files embed.FS

// Options is how the page is served.
// With the zero Options nothing is logged or limited. The fields: Log *slog.Logger; TrustedProxies
// []netip.Prefix, whose X-Forwarded-For is believed; RateLimit float64, requests a second for one key,
// client or token, in bursts of twice that, 0 for no limit; HSTS bool, where the base URL is https; Now
// and Rand; and Observe func(method, route string, status int, took time.Duration), told of every answer.
type Options = web.Options

// pages serves the form in which a payer gives the bank account.
type pages struct {
	service *service.Service
	site    *page.Site
}

// Pages returns the handler of every path under /sandbox/processor/. GET changes nothing:
// only a POST of the form, with the setup token in its body, completes a setup.
func Pages(s *service.Service, o Options) http.Handler {
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
	case path == formPath:
		serve(formPath, page.Methods{http.MethodGet: p.show, http.MethodPost: p.complete})
	case strings.HasPrefix(path, assetsPath):
		serve(assetsPath+"{asset}", page.Methods{http.MethodGet: p.site.Asset})
	default:
		p.site.NotFound(w, r)
	}
}

// show shows the empty form.
func (p *pages) show(w http.ResponseWriter, r *http.Request) {
	if setup, ok := p.open(w, r, r.URL.Query()); ok {
		p.form(w, r, http.StatusOK, setup, input{})
	}
}

// complete completes the setup with what the form says, or shows the form again with
// what is wrong.
func (p *pages) complete(w http.ResponseWriter, r *http.Request) {
	values, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	setup, ok := p.open(w, r, values)
	if !ok {
		return
	}
	in, done := read(values, setup.Provider.DisplayName())
	if in.faulty() {
		p.form(w, r, http.StatusUnprocessableEntity, setup, in)
		return
	}
	back, err := p.service.CompleteSetup(r.Context(), setup.Token, done)
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	p.site.Redirect(w, r, back)
}

// open returns the setup of the token that values hold, if it is open and has a billing request to
// fulfil. Otherwise it answers the request itself: the setup page says why not, and how to go on.
func (p *pages) open(w http.ResponseWriter, r *http.Request, values url.Values) (service.SetupPage, bool) {
	token, ok := p.site.Admit(w, r, web.ClientNet(r.Context()), values)
	if !ok {
		return service.SetupPage{}, false
	}
	setup, err := p.service.SetupPage(r.Context(), token)
	if err != nil {
		p.site.Fail(w, r, err)
		return service.SetupPage{}, false
	}
	web.SetProvider(r.Context(), setup.Provider.Code)
	if begun := setup.Checkout.Setup; setup.State != service.PageOpen ||
		begun.BillingRequestID == "" || begun.BillingRequest != checkout.BillingPending {
		p.site.Redirect(w, r, setupPath+"?token="+url.QueryEscape(token))
		return service.SetupPage{}, false
	}
	return setup, true
}

// form shows the form as it was filled in.
func (p *pages) form(w http.ResponseWriter, r *http.Request, status int, setup service.SetupPage, in input) {
	title := "Bank details"
	if in.faulty() {
		title = "Error: " + title
	}
	query := "?token=" + url.QueryEscape(setup.Token)
	p.site.Show(w, r, "form.html", page.View{
		Status:  status,
		Title:   title,
		Brand:   "Sandbox payment processor",
		Sandbox: true,
		Frames:  setup.Provider.EnrolmentOrigins,
		Script:  "account.js",
		Data: struct {
			input
			Token, Provider, Course, Action, Back, Terms string
			Banks, FormatError, BankError                string // for the script
		}{in, setup.Token, setup.Provider.DisplayName(), setup.Checkout.Intent.CourseName,
			formPath, setupPath + query, setupPath + "/legal" + query,
			banks(), accountError(checkout.ErrAccountFormat), accountError(checkout.ErrAccountBank)},
	})
}

// banks lists the numbers and names of the banks: "01=ANZ;02=BNZ".
func banks() string {
	var list []string
	for n := range 100 {
		bank := checkout.Account{Bank: fmt.Sprintf("%02d", n)}
		if name := bank.BankName(); name != "" {
			list = append(list, bank.Bank+"="+name)
		}
	}
	return strings.Join(list, ";")
}
