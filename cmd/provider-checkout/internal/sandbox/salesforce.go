package sandbox

import (
	"net/http/httptest"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Credentials at Salesforce.
const (
	ClientID     = "sandbox_hunter2_client"
	ClientSecret = "sandbox_hunter2_client_secret"
)

// SimulateSalesforce serves a Salesforce organisation on an origin of its own until the test ends, and returns it with its adapter.
func SimulateSalesforce(t testing.TB) (*salesforcetest.Org, ports.CRM) {
	t.Helper()
	org := salesforcetest.New(salesforcetest.Options{ClientID: ClientID, ClientSecret: ClientSecret})
	server := httptest.NewServer(org)
	t.Cleanup(func() { org.Close(); server.Close() })
	crm, err := salesforce.New(salesforce.Options{Environment: catalogue.Sandbox, URL: server.URL, ClientID: ClientID,
		ClientSecret: ClientSecret})
	if err != nil {
		t.Fatal(err)
	}
	return org, crm
}
