package sandbox

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
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
	ConfirmedTitle = "Your payment plan"
	ExpiredTitle   = "This link has expired"
	DisabledTitle  = "This page is not available"
	UnknownTitle   = "We cannot find this page"
	BankTitle      = "Bank details"
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

// Press sends the form of the setup page, as the page has it now.
func (s *Sandbox) Press(t testing.TB, created Response, headers ...string) Response {
	t.Helper()
	token := created.String("direct_debit.token")
	page := s.Visit(t, SetupPagePath+"?token="+url.QueryEscape(token))
	return s.Submit(t, SetupPagePath, []string{"token", token, "terms", ShownTerms(page)}, headers...)
}

// ShownTerms returns the name under which the form of a setup page records the terms that the page shows; "" for a page without the form.
func ShownTerms(page Response) string {
	parsed, err := apiclient.ParsePage(page.Body)
	if err != nil {
		return ""
	}
	return parsed.Form.Get("terms")
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
	r := s.Press(t, created)
	if page := r.Header.Get("Location"); r.Status != http.StatusSeeOther || strings.Contains(page, SetupPagePath) {
		t.Fatalf("begin: %d to %q", r.Status, page)
	}
	return r.Header.Get("Location")
}

// Elements parses a page and returns its elements in their order.
func Elements(t testing.TB, r Response) []*apiclient.Element {
	t.Helper()
	all, err := apiclient.ParseElements(r.Body)
	if err != nil {
		t.Fatalf("parse %s: %v", r.Body, err)
	}
	return all
}

// ReturnURL returns the address to which the processor sends the payer of a setup page back.
func ReturnURL(setupURL string) string {
	return strings.Replace(setupURL, SetupPagePath, SetupPagePath+"/return", 1)
}

// Back returns the page of a payer who comes back from the processor.
func (s *Sandbox) Back(t testing.TB, setupURL string) Response {
	t.Helper()
	page := s.Visit(t, ReturnURL(setupURL))
	if page.Status == http.StatusSeeOther {
		return s.Visit(t, setupURL)
	}
	return page
}
