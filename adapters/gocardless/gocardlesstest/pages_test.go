package gocardlesstest_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// page is a page as a browser without scripts has it.
type page struct {
	status   int
	location string
	header   http.Header
	body     string
}

// visit gets an address, or posts a form to it, and follows no redirect.
func (b *bench) visit(address string, form url.Values) page {
	b.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.server.URL + address
	}
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		b.Fatal(err)
	}
	return page{got.StatusCode, got.Header.Get("Location"), got.Header, string(text)}
}

func TestPagesDump(t *testing.T) {
	b := newBench(t)
	u := b.newFlow(b.newRequest())
	t.Log(b.visit(u, nil).body)
	p := b.visit(u+"/details", url.Values{"given_name": {"Ana"}, "family_name": {"Tau"}, "email": {"ana@example.nz"}})
	t.Log(p.status, p.location)
	p = b.visit(u+"/account", url.Values{"account_holder_name": {"Ana"}})
	t.Log(p.status, p.location, p.body, p.header)
	p = b.visit(u+"/account", url.Values{"account_holder_name": {"Ana"}, "bank_code": {"01-0902-0068389-00"}, "authority_confirmed": {"yes"}})
	t.Log(p.status, p.location)
	t.Log(b.visit(u+"/check", nil).body)
	p = b.visit(u+"/check", url.Values{})
	t.Log(p.status, p.location)
	t.Log(b.visit(u, nil).body)
}
