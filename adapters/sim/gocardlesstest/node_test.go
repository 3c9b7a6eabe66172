package gocardlesstest_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// The official client judges the simulator.
func TestOfficialNodeClient(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) { o.Now = time.Now })
	nodetest.Check(t, "GOCARDLESS_URL="+b.URL, "GOCARDLESS_TOKEN="+token)
}
