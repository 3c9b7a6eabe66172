// Package agreementpage renders an agreement as a web page, in the same words as its PDF: for embedders whose
// payers read it in a browser, with a screen reader or on a phone. The page is one file that fetches
// nothing and runs no script.
package agreementpage

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

// Pages renders agreements as pages. It is safe for concurrent use.
type Pages struct {
	page *template.Template
	zone *time.Location
}

// New returns pages. Times are New Zealand's.
func New() (*Pages, error) {
	zone, err := service.NewZealand()
	if err != nil {
		return nil, fmt.Errorf("agreementpage: %w", err)
	}
	page := template.Must(template.New("page").Parse(source))
	template.Must(page.New("parts").Parse(web.AgreementTemplate))
	return &Pages{page, zone}, nil
}

// Policy returns the Content-Security-Policy under which a page is whole. An embedder adds who may
// frame it, and keeps it out of caches: it is about one person.
func Policy() string {
	return web.Policy{Style: style}.Content()
}

// Write writes the page of a as UTF-8. The same agreement gives the same page. If the page cannot be rendered, nothing
// is written. It returns an error if the version of the agreement's wording is not known.
func (p *Pages) Write(w io.Writer, a agreement.Agreement) error {
	var page bytes.Buffer
	text, err := web.ViewAgreement(a, p.zone)
	if err == nil {
		err = p.page.Execute(&page, viewOf(a, text))
	}
	if err == nil {
		_, err = w.Write(page.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the page of agreement %s: %w", a.Number, err)
	}
	return nil
}

// view is the content of the template.
type view struct {
	Title  string
	Footer string
	Style  template.CSS
	Colour string // #rrggbb of the bar at the top; "" for no bar
	Text   web.Agreement
}

func viewOf(a agreement.Agreement, text web.Agreement) view {
	v := view{Title: a.Title(), Footer: a.Foot(), Style: template.CSS(style), Text: text}
	if c, ok := colour.Parse(a.Provider.Colour); ok {
		v.Colour = c.String()
	}
	return v
}
