package fakeprocessor

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/bankaccount"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Prefix is the path under which the pages are, for httpapi.Options.Mount.
const Prefix = "/sandbox/processor"

const (
	formPath   = Prefix + "/billing-requests/" // then the billing request's id and the way back
	assetsPath = Prefix + "/assets/"
)

//go:embed form.html account.js
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
	served.handler = web.Wrap(shared, web.Compress(http.HandlerFunc(served.route)), served.site.Broken)
	return served
}

// ServeHTTP implements http.Handler for every path under Prefix. GET changes nothing: only a POST of the form completes
// a setup.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

func (p pages) route(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, formPath):
		p.site.Serve(w, r, formPath+"{id}", web.Handlers{http.MethodGet: p.show, http.MethodPost: p.complete})
	case strings.HasPrefix(path, assetsPath):
		p.site.Serve(w, r, assetsPath+"{asset}", web.Handlers{http.MethodGet: p.site.Asset})
	default:
		p.site.NotFound(w, r)
	}
}

// show shows the empty form.
func (p pages) show(w http.ResponseWriter, r *http.Request) {
	if _, start, ok := p.open(w, r); ok {
		p.form(w, r, http.StatusOK, start, input{})
	}
}

// complete completes the setup with what the form says, or shows the form again with
// what is wrong.
func (p pages) complete(w http.ResponseWriter, r *http.Request) {
	values, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	id, start, ok := p.open(w, r)
	if !ok {
		return
	}
	in, done := read(values, start.ProviderName)
	if in.faulty() {
		p.form(w, r, http.StatusUnprocessableEntity, start, in)
		return
	}
	if err := p.processor.complete(r.Context(), id, done); err != nil {
		p.site.Fail(w, r, err)
		return
	}
	p.site.Redirect(w, r, start.ReturnURL)
}

// open returns the billing request that the path names, if the payer can still fulfil it. Otherwise it answers the
// request itself: the setup page says what to do.
func (p pages) open(w http.ResponseWriter, r *http.Request) (id string, start startWire, ok bool) {
	name := strings.TrimPrefix(r.URL.Path, formPath)
	if !p.site.Admit(w, r, name) {
		return "", start, false
	}
	id, way, _ := strings.Cut(name, "/")
	err := p.processor.read(r.Context(), startName(id, way), &start)
	if errors.Is(err, ports.ErrNotFound) {
		p.site.NotFound(w, r)
		return "", start, false
	}
	done, failed := p.processor.completed(r.Context(), id)
	if err := errors.Join(err, failed); err != nil {
		p.site.Fail(w, r, err)
		return "", start, false
	}
	if done != nil {
		p.site.Redirect(w, r, start.ReturnURL)
		return "", start, false
	}
	return id, start, true
}

// form shows the form with what the payer filled in.
func (p pages) form(w http.ResponseWriter, r *http.Request, status int, start startWire, in input) {
	title := "Bank details"
	if in.faulty() {
		title = "Error: " + title
	}
	p.site.Show(w, r, "form.html", web.View{
		Status:  status,
		Title:   title,
		Brand:   "Sandbox payment processor",
		Sandbox: true,
		Frames:  start.FrameOrigins,
		Script:  "account.js",
		Data: struct {
			input
			Provider, Course, Action, Back string
			AuthorityError                 template.HTML // in.Authority.Error
			Banks, FormatError, BankError  string        // for the script
		}{in, start.ProviderName, start.Description, p.site.Path(r.URL.Path), start.ReturnURL,
			web.Isolate(in.Authority.Error, start.ProviderName),
			banks(), accountError(bankaccount.ErrFormat), accountError(bankaccount.ErrBank)},
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
