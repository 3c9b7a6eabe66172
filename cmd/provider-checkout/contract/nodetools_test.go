package contract_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Linters for Node find nothing in the OpenAPI document that the service serves, and a client that is generated from it walks the
// whole flow.
func TestNodeToolsTakeTheDescriptionAndAGeneratedClientEnrols(t *testing.T) {
	withTheFake(t) // whose forms the client fills in
	if outside.Salesforce {
		t.Skip("the description is the same over any CRM")
	}
	t.Parallel()
	s := newSuite(t, sandbox.Memory)
	nodetest.Check(t, "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "PROVIDER=KOWHAI", "COURSE=NZDIP")
}
