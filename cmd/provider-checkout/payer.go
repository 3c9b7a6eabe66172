package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// payerSetsUp is the payer's part: open the setup page, fill in and send its form and the
// processor's, and see a page that asks for nothing more.
func (w *walker) payerSetsUp(ctx context.Context, setupURL string) error {
	p, err := w.open(ctx, http.MethodGet, setupURL, nil)
	for range 2 { // the setup page's form, and the processor's
		if err != nil {
			return err
		}
		if p.form == nil {
			return fmt.Errorf("page %q has no form", p.heading)
		}
		p, err = w.open(ctx, http.MethodPost, p.action, fillIn(p.form))
	}
	if err == nil && p.form != nil {
		return fmt.Errorf("page %q has a third form", p.heading)
	}
	return err
}

// fillIn types what a payer types; what is in the form already, boxes to tick included, stays.
func fillIn(form url.Values) url.Values {
	for name, typed := range map[string]string{"account_holder_name": walkHolder, "account_number": walkAccount} {
		if form.Has(name) {
			form.Set(name, typed)
		}
	}
	return form
}

// open gets or posts a page and reads the one that it leads to.
func (w *walker) open(ctx context.Context, method, address string, form url.Values) (page, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return page{}, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got, err := w.send(req)
	if err != nil {
		return page{}, err
	}
	p, err := readPage(got.body)
	if err != nil {
		return page{}, fmt.Errorf("read the page of %s: %w", got.at.Path, err)
	}
	if got.status != http.StatusOK {
		return page{}, fmt.Errorf("%s %s answered %d: %s", method, req.URL.Path, got.status, p.heading)
	}
	action, err := got.at.Parse(p.action)
	if err != nil {
		return page{}, fmt.Errorf("page %q: its form: %w", p.heading, err)
	}
	p.action = action.String()
	w.note("    %s: %s", got.at.Path, p.heading)
	return p, nil
}

// page is what a browser makes of a page, as far as a payer who goes on needs it.
type page struct {
	heading string
	action  string     // of its first form
	form    url.Values // nil where there is no form
}

// readPage reads HTML that is written as tidily as the service's own.
func readPage(html []byte) (page, error) {
	tokens := xml.NewDecoder(bytes.NewReader(html))
	tokens.Strict, tokens.AutoClose, tokens.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var p page
	within := map[string]bool{}
	for {
		token, err := tokens.Token()
		switch {
		case errors.Is(err, io.EOF):
			p.heading = strings.Join(strings.Fields(p.heading), " ")
			return p, nil
		case err != nil:
			return page{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			within[t.Name.Local] = true
			p.start(t, within["form"])
		case xml.EndElement:
			within[t.Name.Local] = false
		case xml.CharData:
			if within["h1"] {
				p.heading += string(t)
			}
		}
	}
}

// start takes what a payer needs from the beginning of an element.
func (p *page) start(e xml.StartElement, inForm bool) {
	attrs := map[string]string{}
	for _, a := range e.Attr {
		attrs[a.Name.Local] = a.Value
	}
	switch e.Name.Local {
	case "form":
		if p.form == nil {
			p.action, p.form = attrs["action"], url.Values{}
		}
	case "input":
		if inForm && attrs["name"] != "" {
			p.form.Set(attrs["name"], attrs["value"])
		}
	}
}
