package full_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
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
// at each setup a minute after its beginning, and a minute after that.
func TestPollsDoNotReachGoCardless(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, memory.New())
	all := readyCheckouts(t, s, 5)
	for i := range 20 {
		created := s.Create(t, fmt.Sprint("OPEN-", i))
		s.ToProcessor(t, created)
		all = append(all, created)
	}
	s.Clock.Stop() // so that no look comes due during the polls
	const step, rounds = 20 * time.Second, 6
	looks := 0
	for round := range rounds {
		due := looksDue(t, s, step)
		before := bankCalls(s)
		s.Clock.Forward(step)
		for begun := time.Now(); slices.ContainsFunc(due, func(id string) bool {
			return slices.Contains(looksDue(t, s, time.Minute-time.Second), id)
		}); {
			if testlevel.Elapsed(begun) > patience {
				t.Fatalf("round %d: looks are still due after %s", round, time.Since(begun))
			}
			time.Sleep(5 * time.Millisecond)
		}
		if looks += len(due); bankCalls(s)-before != len(due) {
			t.Errorf("round %d: %d calls for %d looks of the service itself", round, bankCalls(s)-before, len(due))
		}
		before = bankCalls(s)
		for _, created := range slices.Repeat(all, 7) {
			if r := s.Get(t, "KOWHAI", created.CheckoutPath()); r.Status != http.StatusOK {
				t.Fatalf("poll: %d %s", r.Status, r.Body)
			}
		}
		if got := bankCalls(s) - before; got != 0 {
			t.Errorf("round %d: %d calls for 175 polls, want none", round, got)
		}
	}
	if want := 2 * len(all); looks != want {
		t.Errorf("%d looks in two minutes, want %d: one of each setup a minute", looks, want)
	}
}

// looksDue returns the checkouts at which the service looks within this time, or is looking.
func looksDue(t *testing.T, s *sandbox.Sandbox, within time.Duration) (ids []string) {
	t.Helper()
	pending, err := s.Store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobLook}, State: checkout.JobPending}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range pending {
		if !r.Due.After(s.Clock.Now().Add(within)) {
			ids = append(ids, r.Job.CheckoutID)
		}
	}
	return ids
}

// While GoCardless refuses half of all calls for its rate limit, confirms still pass: at once, or when they are sent again.
func TestConfirmsPassWhileCallsAreRefused(t *testing.T) {
	t.Parallel()
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, memory.New())
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
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, memory.New())
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
