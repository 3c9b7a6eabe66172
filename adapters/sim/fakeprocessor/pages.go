package fakeprocessor

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Prefix is the path under which the pages are, for httpapi.Options.Mount.
const Prefix = "/sandbox/processor"

const (
	formPath   = Prefix + "/billing-requests/" // then the billing request's id; the return URL is in the query
	assetsPath = Prefix + "/assets/"
)

// pagePath returns the path and query of a billing request's page.
func pagePath(id, returnURL string) string {
	return formPath + id + "?" + url.Values{returnField: {returnURL}}.Encode()
}

const returnField = "return_url"

//go:embed *.html account.js
var files embed.FS

// pages serves the form in which a payer gives the bank account.
type pages struct {
	processor *Processor
	site      *web.Site
	handler   http.Handler
}

func newPages(p *Processor, shared web.Options, o Options) pages {
	served := pages{processor: p,
		site: web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files, RateLimit: o.RateLimit})}
	served.handler = served.site.Handler(map[string]http.HandlerFunc{
		"GET " + formPath + "{id}":  served.begin,
		"POST " + formPath + "{id}": served.send,
	})
	return served
}

// ServeHTTP implements http.Handler for every path under Prefix. GET changes nothing: only a POST of the form completes
// a setup.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// begin shows the empty form.
func (p pages) begin(w http.ResponseWriter, r *http.Request) {
	if visit, ok := p.open(w, r); ok {
		p.form(w, r, http.StatusOK, visit, input{})
	}
}

// The steps that the buttons of the pages name. A form without one, as programs send it, completes the setup at once.
const (
	stepField  = "step"
	stepCheck  = "check"  // shows the payer what was read
	stepChange = "change" // shows the form again, with what was typed
)

// send takes a form. Filled in without a mistake it shows the payer what was read, and then completes the setup; else it
// comes back with what is wrong. What was typed travels in the bodies of the two forms alone, and is read anew each time.
func (p pages) send(w http.ResponseWriter, r *http.Request) {
	values, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	visit, ok := p.open(w, r)
	if !ok {
		return
	}
	in, done := read(values, visit.start.ProviderName)
	switch step := web.One(values, stepField); {
	case step == stepChange:
		p.form(w, r, http.StatusOK, visit, in.withoutErrors())
		return
	case in.faulty():
		p.form(w, r, http.StatusUnprocessableEntity, visit, in)
		return
	case step == stepCheck:
		p.check(w, r, visit, in, done)
		return
	}
	if err := p.processor.complete(r.Context(), visit.id, done); err != nil {
		p.site.Fail(w, r, err)
		return
	}
	p.site.Redirect(w, r, visit.returnURL)
}

// visit is a request for the page of a billing request.
type visit struct {
	id        string
	returnURL string
	start     startWire
}

// open returns the billing request that the address names, if the payer can still fulfil it. Otherwise it answers the
// request itself: the setup page says what to do.
func (p pages) open(w http.ResponseWriter, r *http.Request) (v visit, ok bool) {
	v.id, v.returnURL = strings.TrimPrefix(r.URL.Path, formPath), r.URL.Query().Get(returnField)
	if !p.site.Admit(w, r, v.id) {
		return v, false
	}
	err := p.processor.read(r.Context(), startName(v.id, v.returnURL), &v.start)
	if errors.Is(err, ports.ErrNotFound) {
		p.site.NotFound(w, r)
		return v, false
	}
	done, failed := p.processor.completed(r.Context(), v.id)
	if err := errors.Join(err, failed); err != nil {
		p.site.Fail(w, r, err)
		return v, false
	}
	if done != nil {
		p.site.Redirect(w, r, v.returnURL)
		return v, false
	}
	return v, true
}

// form shows the form with what the payer filled in.
func (p pages) form(w http.ResponseWriter, r *http.Request, status int, v visit, in input) {
	title := "Bank details"
	if in.faulty() {
		title = "Error: " + strings.TrimSuffix(in.Mistakes()[0].sentence, ".") + " – " + title
	}
	p.show(w, r, "form.html", status, title, v, struct {
		shown
		Example, Banks, FormatError, BankError string // the last three are for the script
	}{p.shown(v, in), bankaccount.Example, banks(), bankaccount.Sentence(bankaccount.ErrFormat), bankaccount.Sentence(bankaccount.ErrBank)})
}

// check shows the payer what was read of the form, before it takes effect.
func (p pages) check(w http.ResponseWriter, r *http.Request, v visit, in input, done completionWire) {
	p.show(w, r, "check.html", http.StatusOK, "Check your details", v, struct {
		shown
		Checked string // the account holder
	}{p.shown(v, in), done.Holder})
}

// shown is the data that both pages show.
type shown struct {
	input
	Start        startWire
	Action, Back string
}

func (p pages) shown(v visit, in input) shown {
	return shown{in, v.start, p.site.Path(pagePath(v.id, v.returnURL)), v.returnURL}
}

// show shows a page of a billing request.
func (p pages) show(w http.ResponseWriter, r *http.Request, name string, status int, title string, v visit, data any) {
	p.site.Show(w, r, name, web.View{
		Status:  status,
		Title:   title,
		Brand:   "Sandbox payment processor",
		Sandbox: true,
		Script:  "account.js",
		Data:    data,
	})
}

// banks lists the numbers and names of the banks: "01=ANZ;02=BNZ".
func banks() string {
	var list []string
	for n := range 100 {
		number := bankaccount.Number{Bank: fmt.Sprintf("%02d", n)}
		if name := number.BankName(); name != "" {
			list = append(list, number.Bank+"="+name)
		}
	}
	return strings.Join(list, ";")
}
