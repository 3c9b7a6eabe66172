package demo

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

// The payer's input to the processor's form.
const (
	AccountHolder = "Aroha Tāmati"
	AccountNumber = "01-0902-0068389-00"
)

// Browser is a payer's browser without script. It follows redirects.
type Browser struct{ session }

// NewBrowser returns a browser over an HTTP client that prints nothing.
func NewBrowser(client *http.Client) *Browser { return &Browser{session{http: client}} }

// ErrOpenAgain is what SetUp returns when the payer, who has finished at the processor, is shown the setup page's form
// again: the service could not ask the processor.
var ErrOpenAgain = errors.New("the setup page is open again")

// maxForms is how many forms a payer sends at most: the setup page's, and those of the processor.
const maxForms = 8

// SetUp sets up a direct debit as a payer does: it opens the setup page, fills in and sends each form that it is shown,
// and expects a page of the service that asks for nothing more.
func (b *Browser) SetUp(ctx context.Context, setupURL string) error {
	p, err := b.Open(ctx, http.MethodGet, setupURL, nil)
	first := p.Heading
	for n := 0; n < maxForms && err == nil; n++ {
		switch {
		case p.Form == nil && n == 0:
			return fmt.Errorf("page %q has no form", p.Heading)
		case p.Form == nil:
			return nil
		case n > 1 && p.Heading == first:
			return ErrOpenAgain
		}
		p, err = b.Open(ctx, http.MethodPost, p.Action, FillIn(p.Form))
	}
	if err == nil {
		err = fmt.Errorf("page %q is one form too many", p.Heading)
	}
	return err
}

// FillIn sets the fields that a payer types into, and keeps the other values of the form, including its boxes.
func FillIn(form url.Values) url.Values {
	typed := map[string]string{"account_holder_name": AccountHolder, "account_number": AccountNumber}
	if form.Has("bank_code") { // GoCardless' page has a field for each part, of which the first takes the whole
		typed = map[string]string{"account_holder_name": AccountHolder, "bank_code": AccountNumber,
			"branch_code": "", "account_number": "", "account_number_suffix": ""}
	}
	for name, typed := range typed {
		if form.Has(name) {
			form.Set(name, typed)
		}
	}
	return form
}

// Open gets or posts a page, and returns the page at the end of all redirects.
func (b *Browser) Open(ctx context.Context, method, address string, form url.Values) (Page, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return Page{}, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got, err := b.send(req)
	if err != nil {
		return Page{}, err
	}
	p, err := ParsePage(got.body)
	if err != nil {
		return Page{}, fmt.Errorf("read the page of %s: %w", got.at.Path, err)
	}
	if got.status != http.StatusOK {
		return Page{}, fmt.Errorf("%s %s answered %d: %s", method, req.URL.Path, got.status, p.Heading)
	}
	action, err := got.at.Parse(p.Action)
	if err != nil {
		return Page{}, fmt.Errorf("page %q: its form: %w", p.Heading, err)
	}
	p.At, p.Action = got.at.String(), action.String()
	b.note("    %s: %s", got.at.Path, p.Heading)
	return p, nil
}

// Page is the part of a page that a payer needs to go on.
type Page struct {
	At      string // its address, at the end of all redirects
	Heading string
	Action  string     // of its first form
	Form    url.Values // nil where there is no form
}

// ParsePage parses HTML that is as well-formed as the service's own.
func ParsePage(html []byte) (Page, error) {
	tokens := xml.NewDecoder(bytes.NewReader(html))
	tokens.Strict, tokens.AutoClose, tokens.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var p Page
	within := map[string]bool{}
	for {
		token, err := tokens.Token()
		switch {
		case errors.Is(err, io.EOF):
			p.Heading = strings.Join(strings.Fields(p.Heading), " ")
			return p, nil
		case err != nil:
			return Page{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			within[t.Name.Local] = true
			p.start(t, within["form"])
		case xml.EndElement:
			within[t.Name.Local] = false
		case xml.CharData:
			if within["h1"] {
				p.Heading += string(t)
			}
		}
	}
}

// start takes the parts of the page from the start of an element.
func (p *Page) start(e xml.StartElement, inForm bool) {
	attrs := map[string]string{}
	for _, a := range e.Attr {
		attrs[a.Name.Local] = a.Value
	}
	switch e.Name.Local {
	case "form":
		if p.Form == nil {
			p.Action, p.Form = attrs["action"], url.Values{}
		}
	case "input":
		if inForm && attrs["name"] != "" {
			p.Form.Set(attrs["name"], attrs["value"])
		}
	}
}
