package sandbox

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Paths of the pages with a form.
const (
	SetupPagePath = "/api/dd-setup"
	BankFormPath  = "/sandbox/processor/billing-requests/" // then the billing request's id
)

// Headings of the pages.
const (
	OpenTitle      = "Set up your direct debit"
	DoneTitle      = "Bank details saved: one step left" // which is the provider's confirm
	ConfirmedTitle = "Your direct debit is set up"
	ExpiredTitle   = "This link has expired"
	DisabledTitle  = "This page is not available"
	UnknownTitle   = "We cannot find this page"
	BankTitle      = "Bank details"
	CheckTitle     = "Check your details"
)

// Visit opens a page as a browser without script does.
func (s *Sandbox) Visit(t testing.TB, address string, headers ...string) Response {
	t.Helper()
	return s.Send(t, http.MethodGet, address, "", headers...)
}

// Submit sends a form. fields are names and values in turn.
func (s *Sandbox) Submit(t testing.TB, path string, fields []string, headers ...string) Response {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.Send(t, http.MethodPost, path, form.Encode(),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// ToBank sends the form of the setup page and returns the address of the fake processor's form, to which it redirects.
func (s *Sandbox) ToBank(t testing.TB, created Response) string {
	t.Helper()
	page := s.ToProcessor(t, created)
	if !strings.HasPrefix(page, s.URL+BankFormPath) {
		t.Fatalf("begin: to %q", page)
	}
	return page
}

// ToProcessor sends the form of the setup page and returns the address of the processor's page, to which it redirects.
func (s *Sandbox) ToProcessor(t testing.TB, created Response) string {
	t.Helper()
	r := s.Submit(t, SetupPagePath, []string{"token", created.String("direct_debit.token")})
	if page := r.Header.Get("Location"); r.Status != http.StatusSeeOther || strings.Contains(page, SetupPagePath) {
		t.Fatalf("begin: %d to %q", r.Status, page)
	}
	return r.Header.Get("Location")
}

// Element is one element of a page, with all text in it.
type Element struct {
	Name string
	Attr map[string]string
	Text string
}

// Elements parses a page and returns its elements in their order.
func Elements(t testing.TB, r Response) (all []*Element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(r.Body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []*Element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("parse %s: %v", r.Body, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &Element{Name: strings.ToLower(token.Name.Local), Attr: map[string]string{}}
			for _, a := range token.Attr {
				e.Attr[strings.ToLower(a.Name.Local)] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, e := range open {
				e.Text += string(token)
			}
		}
	}
}
