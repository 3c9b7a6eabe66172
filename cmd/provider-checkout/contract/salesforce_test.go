package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Salesforce goes away a moment after it was found ready: the next probe says so, and the circuit breaker stays open until a
// call succeeds.
func TestASalesforceThatWentAwayIsNotFoundReady(t *testing.T) {
	skipOtherWorlds(t)
	testlevel.Full(t) // it waits for the calls of the scheduler
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true, Salesforce: true}, memory.New())
	ready := func(when string, want bool) {
		t.Helper()
		s.Clock.Forward(time.Second)
		got := s.Send(t, http.MethodGet, "/v1/environment", "")
		if got.At("readiness.ready_for_api_calls") != want {
			t.Errorf("%s: %s, want ready_for_api_calls %v", when, got.Body, want)
		}
	}
	said := func(text string) int { return strings.Count(s.Log.String(), text) }
	refused := func(n int) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if got := s.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, fmt.Sprint("ORDER-", i))); got.Status != http.StatusServiceUnavailable {
					t.Errorf("create without Salesforce: %d %s", got.Status, got.Body)
				}
			})
		}
		all.Wait()
	}
	ready("at first", true)
	s.Org.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultReset})
	ready("Salesforce is away", false)
	refused(6)
	for range 30 {
		ready("Salesforce is away, and the scheduler asks it each second", false)
		<-time.After(100 * time.Millisecond)
	}
	if n, m := said("the CRM does not answer"), said("the CRM answers again"); n != 1 || m != 0 {
		t.Errorf("the log says %d times that the CRM does not answer and %d times that it answers again, want 1 and 0", n, m)
	}
	s.Org.Disarm()
	for began := time.Now(); said("the CRM answers again") == 0 && time.Since(began) < patience; <-time.After(100 * time.Millisecond) {
	}
	ready("Salesforce is back", true)
}
