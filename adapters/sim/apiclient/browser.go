package apiclient

import (
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
type Browser struct {
	HTTP *http.Client
	Note func(format string, args ...any) // takes a line about each request, and one about each page
}

// NewBrowser returns a browser over an HTTP client that takes no notes.
func NewBrowser(client *http.Client) *Browser {
	return &Browser{HTTP: client, Note: func(string, ...any) {}}
}

// ErrOpenAgain is the error of SetUp when the payer, who has finished at the processor, is shown the setup page's form
// again: the service could not ask the processor.
var ErrOpenAgain = errors.New("the setup page is open again")

// maxForms is the largest number of forms that a payer sends: the form of the setup page, and the processor's forms.
const maxForms = 8

// SetUp sets up a direct debit as a payer does: it opens the setup page, fills in and sends each form that it is shown,
// and expects a page of the service that asks for nothing more.
func (b *Browser) SetUp(ctx context.Context, setupURL string) error {
	p, err := b.Open(ctx, http.MethodGet, setupURL, nil)
	first := p.Heading
	for n := 0; n < maxForms && err == nil; n++ {
		switch {
		case p.Form == nil && n > 0:
			return nil
		case n > 1 && p.Heading == first:
			return ErrOpenAgain
		}
		p, err = b.Submit(ctx, p)
	}
	if err == nil {
		err = fmt.Errorf("page %q is one form too many", p.Heading)
	}
	return err
}

// Submit fills in and sends the form of a page, and returns the page at the end of all redirects.
func (b *Browser) Submit(ctx context.Context, p Page) (Page, error) {
	if p.Form == nil {
		return p, fmt.Errorf("page %q has no form", p.Heading)
	}
	return b.Open(ctx, http.MethodPost, p.Action, FillIn(p.Form))
}

// FillIn sets the fields that a payer types into, and keeps the other values of the form, including its boxes.
func FillIn(form url.Values) url.Values {
	typed := map[string]string{"account_holder_name": AccountHolder, "account_number": AccountNumber}
	if form.Has("given_name") && form.Get("given_name") == "" { // GoCardless asks for two names
		form.Set("given_name", form.Get("family_name"))
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
	got, err := Send(b.HTTP.Do, req)
	if err != nil {
		return Page{}, err
	}
	b.Note("  %s %s: %s", method, req.URL.Path, got.StatusLine())
	p, err := ParsePage(got.Body)
	if err != nil {
		return Page{}, fmt.Errorf("read the page of %s: %w", got.URL.Path, err)
	}
	if got.Status != http.StatusOK {
		return Page{}, fmt.Errorf("%s %s answered %d: %s", method, req.URL.Path, got.Status, p.Heading)
	}
	action, err := got.URL.Parse(p.Action)
	if err != nil {
		return Page{}, fmt.Errorf("page %q: its form: %w", p.Heading, err)
	}
	p.At, p.Action = got.URL.String(), action.String()
	b.Note("    %s: %s", got.URL.Path, p.Heading)
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
func ParsePage(html string) (Page, error) {
	elements, err := ParseElements(html)
	if err != nil {
		return Page{}, err
	}
	var p Page
	for _, e := range elements {
		switch name := e.Attr["name"]; {
		case e.Name == "h1":
			p.Heading = strings.Join(strings.Fields(p.Heading+" "+e.Text), " ")
		case e.Name == "form" && p.Form == nil:
			p.Action, p.Form = e.Attr["action"], url.Values{}
		case e.Name == "input" && e.InForm && name != "":
			p.Form.Set(name, e.Attr["value"])
		}
	}
	return p, nil
}

// Element is one element of a page, with all text in it.
type Element struct {
	Name   string
	Attr   map[string]string
	Text   string
	InForm bool

	text strings.Builder
}

// ParseElements parses HTML that is as well-formed as the service's own, and returns its elements in their order.
func ParseElements(html string) (all []*Element, err error) {
	d := xml.NewDecoder(strings.NewReader(html))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []*Element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &Element{Name: strings.ToLower(token.Name.Local), Attr: map[string]string{}}
			for _, a := range token.Attr {
				e.Attr[strings.ToLower(a.Name.Local)] = a.Value
			}
			if len(open) > 0 {
				parent := open[len(open)-1]
				e.InForm = parent.InForm || parent.Name == "form"
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			last := len(open) - 1
			open[last].Text, open = open[last].text.String(), open[:last]
		case xml.CharData:
			for _, e := range open {
				e.text.Write(token)
			}
		}
	}
}
