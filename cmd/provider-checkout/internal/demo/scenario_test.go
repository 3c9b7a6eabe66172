package demo

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

func TestWalkStopsAtTheFirstThingThatDoesNotHold(t *testing.T) {
	var out bytes.Buffer
	d := &demonstration{Base: serveSandbox(t), Keys: map[string]string{providerCode: "pck_no_key"}, FirstPayment: "2027-02-01"}
	err := d.walk(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "the provider creates a checkout: POST /v1/provider-checkouts answered 403, want 201") {
		t.Errorf("walk = %v, want what is wrong with the create", err)
	}
	if strings.Contains(out.String(), "everything held") {
		t.Errorf("walk prints\n%s", out.String())
	}
}

// serveSandbox serves a sandbox with the demonstration's providers, and returns its address.
func serveSandbox(t *testing.T) string {
	t.Helper()
	file, err := os.ReadFile("../../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	configurations, err := providerfile.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	if err := store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		return configurations, nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	s, err := site.New(site.Config{Store: store, Secrets: [][]byte{[]byte(strings.Repeat("s", 32))}, Log: slog.New(slog.DiscardHandler),
		Service: service.Config{Environment: catalogue.Sandbox, BaseURL: base}})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s.Handler
	server.Start()
	t.Cleanup(server.Close)
	return base
}
