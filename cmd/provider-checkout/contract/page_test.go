package contract_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const goodAccount = apiclient.AccountNumber

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
