package contract_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
)

// Linters and parsers for Node find nothing in the descriptions that the service serves, and a client that is generated
// from them walks the whole flow.
func TestNodeToolsTakeTheDescriptionsAndAGeneratedClientEnrols(t *testing.T) {
	withTheFake(t) // whose forms the client fills in
	if outside.Salesforce {
		t.Skip("the descriptions are the same over any CRM")
	}
	t.Parallel()
	s := newSuite(t, memory.New())
	nodetest.Check(t, "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "PROVIDER=KOWHAI", "COURSE=NZDIP")
}
