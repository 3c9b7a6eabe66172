package salesforcetest_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
)

// npm jsforce judges the simulator.
func TestNodeClient(t *testing.T) {
	b := newBench(t, func(o *options) { o.Now, o.QueryPage = time.Now, 3 })
	nodetest.Check(t, "SALESFORCE_URL="+b.URL, "SALESFORCE_CLIENT_ID="+clientID, "SALESFORCE_CLIENT_SECRET="+clientSecret)
}
