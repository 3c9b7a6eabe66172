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

// simulateCRM makes Salesforce the CRM: a simulator on an origin of its own.
func (s *Sandbox) simulateCRM(t testing.TB) ports.CRM {
	t.Helper()
	s.Org = salesforcetest.New(salesforcetest.Options{ClientID: ClientID, ClientSecret: ClientSecret, Sandbox: true})
	server := httptest.NewServer(s.Org)
	t.Cleanup(func() { s.Org.Close(); server.Close() })
	crm, err := salesforce.New(salesforce.Options{Environment: catalogue.Sandbox, URL: server.URL, ClientID: ClientID,
		ClientSecret: ClientSecret})
	if err != nil {
		t.Fatal(err)
	}
	return crm
}
