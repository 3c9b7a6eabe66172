package contract_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Beyond the contract: a checkout is cancelled before its confirm, and the agreement of a confirmed one withdrawn.

// cancel sends a cancel with a reason, with the key of the checkout's provider.
func (s *suite) cancel(t *testing.T, created response, reason string) response {
	t.Helper()
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		t.Fatal(err)
	}
	return s.Post(t, created.Provider(), created.CheckoutPath()+"/cancel", string(body))
}

// operator returns an operator with a reason.
func (s *suite) operator(reason string) operate.Operator {
	return operate.Operator{Store: s.Store, Keyring: s.Config.Keyring, By: "Ana", Reason: reason, Now: s.Clock.Now, Rand: rand.Reader}
}

// withdraw withdraws the agreement of an order.
func (s *suite) withdraw(t *testing.T, id string) {
	t.Helper()
	number := s.record(t, id).Checkout.Confirmation.AgreementNumber
	if err := s.operator("She wrote to us.").Withdraw(t.Context(), number, checkout.GroundCoolingOff); err != nil {
		t.Fatal(err)
	}
}

// works runs a service's background work until checkouts are ended and events sent.
func (s *suite) works(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	defer sandbox.Work(t, s.Service(t))()
	for ctx.Err() == nil {
		waiting, err := s.Store.Jobs(ctx, checkout.JobFilter{State: checkout.JobPending,
			Kinds: []checkout.JobKind{checkout.JobEnd, checkout.JobDeliver, checkout.JobSync}}, 1)
		if err == nil && len(waiting) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the background work is not done")
}

// Of cancels and confirms at once one side wins, and every call of the other is told: 60 rounds at the full level. A call that is busy,
// as on a machine with few processors, is made again.
func TestOfCancelsBesideConfirmsOneWinsAndTheOthersAreTold(t *testing.T) {
	rounds := testlevel.Of(3, often(60))
	contract(t, func(t *testing.T, s *suite) {
		processes := [2]*suite{s, s.beside(t)}
		won := map[string]int{}
		for n := range rounds {
			id := fmt.Sprint("ORDER-", n)
			created := s.Ready(t, id)
			all := atOnce(2*crowd, func(i int) response {
				p := processes[i/2%2]
				call := func() response { return p.Confirm(t, created) }
				if i%2 == 0 {
					call = func() response { return p.cancel(t, created, "wrong course") }
				}
				r := call()
				for began := time.Now(); r.Status == http.StatusServiceUnavailable && time.Since(began) < patience; {
					r = call()
				}
				return r
			})
			c := s.record(t, id).Checkout
			won[string(c.Status)]++
			want := map[checkout.Status][2]string{checkout.Cancelled: {"200 cancelled", "409 CHECKOUT_CANCELLED"},
				checkout.Confirmed: {"409 CONFLICT", "200 confirmed"}}[c.Status]
			for i, r := range all {
				if got := brief(r, "checkout.status"); got != want[i%2] {
					t.Errorf("%s: the checkout is %s, and an answer is %s, want %s", id, c.Status, got, want[i%2])
				}
			}
			if (c.Status == checkout.Cancelled) == (c.Confirmation.AgreementNumber != "") {
				t.Errorf("%s is %s with the agreement %q", id, c.Status, c.Confirmation.AgreementNumber)
			}
		}
		t.Logf("won: %v", won)
	})
}
