package contract_test

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const goodAccount = apiclient.AccountNumber

// bankDetails are the fields of the bank's form as a payer fills them in.
func bankDetails() []string {
	return []string{"account_holder_name", "Aroha Ngata", "account_number", goodAccount, "authority_confirmed", "yes"}
}

// pick returns the elements with this name, or any name if it is "", that have an attribute with this value.
func pick(all []*apiclient.Element, name, attr, value string) (found []*apiclient.Element) {
	for _, e := range all {
		if got, ok := e.Attr[attr]; (name == "" || e.Name == name) && ok && got == value {
			found = append(found, e)
		}
	}
	return found
}

// heading returns the text of a page's h1.
func heading(t *testing.T, r response) string {
	t.Helper()
	for _, e := range sandbox.Elements(t, r) {
		if e.Name == "h1" {
			return e.Text
		}
	}
	return ""
}

func shows(t *testing.T, what string, r response, status int, title string) {
	t.Helper()
	if r.Status != status || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || heading(t, r) != title {
		t.Errorf("%s: %d %s\nwant %d %q", what, r.Status, r.Body, status, title)
	}
}

func TestContract8PagesAreRateLimited(t *testing.T) {
	slow := func(_ *service.Config, o *httpapi.Options) {
		o.RateLimit = 0.1 // one in ten seconds
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	contract(t, func(t *testing.T, s *suite) {
		setupURL := s.Create(t, "ORDER-1").String("direct_debit.setup_url")
		from := func(address string) response { return s.Visit(t, setupURL, "X-Forwarded-For", address) }
		limited := func(what string, r response) {
			t.Helper()
			shows(t, what, r, http.StatusTooManyRequests, "Too many requests")
			if wait, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 10 {
				t.Errorf("%s: Retry-After %q, want what is left of ten seconds", what, r.Header.Get("Retry-After"))
			}
		}
		shows(t, "first look", from("192.0.2.1"), http.StatusOK, sandbox.OpenTitle)
		limited("second look from an address", from("192.0.2.1"))
		limited("look from another address with the same token", from("192.0.2.2"))
		shows(t, "another token from another address",
			s.Visit(t, sandbox.SetupPagePath+"?token=x", "X-Forwarded-For", "192.0.2.3"), http.StatusNotFound, sandbox.UnknownTitle)
		s.Clock.Forward(10 * time.Second)
		shows(t, "look after waiting", from("192.0.2.1"), http.StatusOK, sandbox.OpenTitle)
	}, slow)
}
