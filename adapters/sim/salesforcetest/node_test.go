package salesforcetest_test

import (
	"net/http/httptest"
	"path"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// The client that most programs for Node use judges the double.
func TestNodeClient(t *testing.T) {
	org := salesforcetest.New(salesforcetest.Options{ClientID: "client", ClientSecret: "secret", QueryPage: 3})
	server := httptest.NewServer(org)
	t.Cleanup(func() { org.Close(); server.Close() })
	expired := false
	org.Faults(func(c salesforcetest.Call) salesforcetest.Fault {
		switch kind := path.Base(c.Path); kind {
		case "locked_row":
			return salesforcetest.Fault{Kind: salesforcetest.Refuse, Code: "UNABLE_TO_LOCK_ROW"}
		case "request_limit", "unavailable", "html":
			return salesforcetest.Fault{Kind: salesforcetest.FaultKind(kind)}
		case "expired_token":
			if expired = !expired; expired {
				return salesforcetest.Fault{Kind: salesforcetest.ExpiredToken}
			}
		}
		return salesforcetest.Fault{}
	})
	nodetest.Check(t, "SALESFORCE_URL="+server.URL, "SALESFORCE_CLIENT_ID=client", "SALESFORCE_CLIENT_SECRET=secret")
}
