package full_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// readyCheckouts returns checkouts whose setup is complete.
func readyCheckouts(t *testing.T, s *sandbox.Sandbox, n int) (all []sandbox.Response) {
	t.Helper()
	for i := range n {
		all = append(all, s.Ready(t, fmt.Sprint("READY-", i)))
	}
	return all
}

// bankCalls returns how many calls have reached GoCardless, except the calls of the reconciliation.
func bankCalls(s *sandbox.Sandbox) (n int) {
	for route, count := range s.Bank.Statistics().Calls {
		if route != "GET /events" {
			n += count
		}
	}
	return n
}

// However many providers poll, they cannot exhaust the account's limit: the record has what was notified. The service itself looks
// at a setup a minute after its beginning, which is later than this ends.
func TestPollsDoNotReachGoCardless(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOverGoCardless(t, memory.New())
	all := readyCheckouts(t, s, 5)
	for i := range 20 {
		created := s.Create(t, fmt.Sprint("OPEN-", i))
		s.ToProcessor(t, created)
		all = append(all, created)
	}
	before := bankCalls(s)
	for range 10 {
		for _, created := range slices.Concat(all, all, all, all) {
			if r := s.Get(t, "KOWHAI", created.CheckoutPath()); r.Status != http.StatusOK {
				t.Fatalf("poll: %d %s", r.Status, r.Body)
			}
		}
		s.Clock.Forward(3 * time.Second)
	}
	if got := bankCalls(s) - before; got != 0 {
		t.Errorf("%d calls for 1,000 polls, want none", got)
	}
}

// While GoCardless refuses half of all calls for its rate limit, confirms still pass: at once, or when they are sent again.
func TestConfirmsPassWhileCallsAreRefused(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOverGoCardless(t, memory.New())
	all := readyCheckouts(t, s, 20)
	s.Bank.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultRateLimit, Probability: 0.5})
	repeats := 0
	for _, created := range all {
		r := s.Confirm(t, created)
		for tries := 0; r.Status == http.StatusServiceUnavailable && tries < 8; tries++ {
			repeats++
			r = s.Confirm(t, created)
		}
		if r.Status != http.StatusOK || r.String("agreement.number") == "" {
			t.Errorf("confirm: %d %s", r.Status, r.Body)
		}
	}
	if repeats > len(all)/2 {
		t.Errorf("%d of %d confirms had to be sent again, want few", repeats, len(all))
	}
}

// What a payer's page has learned is on record for the provider's next poll, whatever becomes of the notification.
func TestPollsKnowWhatThePayerHasSeen(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOverGoCardless(t, memory.New())
	s.Bank.SetWebhookFaults(gocardlesstest.WebhookFaults{Drop: 1})
	created := s.Create(t, "ORDER-1")
	p := &stormPayer{created: created, holder: "A PAYER"}
	p.setUp(t, s) // who comes back at once
	s.Clock.Forward(10 * time.Second)
	s.Visit(t, created.String("direct_debit.setup_url"))
	if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.At("direct_debit.setup_complete") != true {
		t.Errorf("poll: %d %s", got.Status, got.Body)
	}
}
