package demo

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func TestWalkStopsAtTheFirstThingThatDoesNotHold(t *testing.T) {
	website := httptest.NewServer(fakeprovider.New(fakeprovider.Options{API: sandbox.New(t, sandbox.Memory).URL, Key: "pck_no_key", Code: providerCode}))
	t.Cleanup(website.Close)
	var out bytes.Buffer
	err := (&demonstration{Website: website.URL}).walk(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "POST /enrol answered 502: The API did not do that") {
		t.Errorf("walk = %v, want what is wrong with the create", err)
	}
	if strings.Contains(out.String(), "everything held") {
		t.Errorf("walk prints\n%s", out.String())
	}
}
