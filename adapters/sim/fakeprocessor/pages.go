package fakeprocessor

import (
	"embed"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/money/text"
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

//go:embed form.html form.js
var files embed.FS

// ServeHTTP implements http.Handler for every path under Prefix. GET changes nothing: only a POST of the form completes
// a setup.
func (p *Processor) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// begin shows the empty form.
func (p *Processor) begin(w http.ResponseWriter, r *http.Request) {
	if visit, ok := p.open(w, r); ok {
		p.show(w, r, http.StatusOK, visit, form{})
	}
}

// send takes a form. Filled in without a mistake it completes the setup; else it comes back with what is wrong.
func (p *Processor) send(w http.ResponseWriter, r *http.Request) {
	values, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	visit, ok := p.open(w, r)
	if !ok {
		return
	}
	f, done := read(values, visit.start.ProviderName)
	if len(f.Faults) > 0 {
		p.show(w, r, http.StatusUnprocessableEntity, visit, f)
		return
	}
	if err := p.complete(r.Context(), visit.id, done); err != nil {
		p.site.Fail(w, r, err)
		return
	}
	p.site.Redirect(w, r, visit.returnURL)
}

// form is the form as the payer filled it in.
type form struct {
	Holder, Account string
	Authority       bool
	Faults          map[string]string // by the name of the field
}

// read reads the form. The completion is valid only if the form has no faults. provider is whom a payer asks for help.
func read(values url.Values, provider string) (form, completionWire) {
	const holderField, accountField, authorityField = "account_holder_name", "account_number", "authority_confirmed"
	f := form{Holder: web.One(values, holderField), Account: web.One(values, accountField), Faults: map[string]string{}}
	// The form's own box says "yes"; scripts against the sandbox send what other forms do.
	f.Authority = slices.Contains([]string{"yes", "on", "true", "1"}, web.One(values, authorityField))
	holder := text.Normalize(strings.TrimSpace(f.Holder))
	switch fault := text.CheckName(holder); {
	case holder == "":
		f.Faults[holderField] = "Enter the name of the account holder."
	case fault != "":
		f.Faults[holderField] = "The name of the account holder " + fault + "."
	case !strings.ContainsFunc(holder, unicode.IsLetter): // banks write names in letters
		f.Faults[holderField] = "Enter the name of the account holder in letters."
	}
	account, err := bankaccount.Parse(bankaccount.Tidy(f.Account))
	switch {
	case strings.TrimSpace(f.Account) == "":
		f.Faults[accountField] = "Enter the account number."
	case err != nil:
		f.Faults[accountField] = bankaccount.Sentence(err)
	}
	if !f.Authority {
		f.Faults[authorityField] = "Tick this if no one else has to sign. If someone does, use another account or ask " + provider + "."
	}
	if len(f.Faults) > 0 {
		return f, completionWire{}
	}
	fate := account.Fate()
	return f, completionWire{Holder: holder, Mask: account.Mask(), Cancelled: fate.SetupFails, Mandate: fate.Mandate, Reason: fate.Reason}
}

// visit is a request for the page of a billing request.
type visit struct {
	id        string
	returnURL string
	start     startWire
}

// open returns the billing request that the address names, if the payer can still fulfil it. Otherwise it answers the
// request itself: the setup page explains what to do.
func (p *Processor) open(w http.ResponseWriter, r *http.Request) (v visit, ok bool) {
	v.id, v.returnURL = strings.TrimPrefix(r.URL.Path, formPath), r.URL.Query().Get(returnField)
	if !p.site.Admit(w, r, v.id) {
		return v, false
	}
	err := p.read(r.Context(), startName(v.id, v.returnURL), &v.start)
	if errors.Is(err, ports.ErrNotFound) {
		p.site.NotFound(w, r)
		return v, false
	}
	done, failed := p.completed(r.Context(), v.id)
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

// show shows the form with what the payer filled in.
func (p *Processor) show(w http.ResponseWriter, r *http.Request, status int, v visit, f form) {
	title := "Bank details"
	if len(f.Faults) > 0 {
		title = "Error: " + title
	}
	p.site.Show(w, r, "form.html", web.View{
		Status:  status,
		Title:   title,
		Script:  "form.js",
		Brand:   "Sandbox payment processor",
		Sandbox: true,
		Data: struct {
			form
			Start                 startWire
			Action, Back, Example string
		}{f, v.start, p.site.Path(pagePath(v.id, v.returnURL)), v.returnURL, bankaccount.Example},
	})
}
