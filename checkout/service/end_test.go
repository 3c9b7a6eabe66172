package service_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cryptorand "crypto/rand"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// cancels has the provider cancel a checkout.
func (w *world) cancels(t *testing.T, o service.Opened) {
	t.Helper()
	_, err := w.Cancel(t.Context(), caller, o.Checkout.ID, checkout.Cancel{RequestID: "req_3", Reason: checkout.Some("wrong course")})
	must(t, err)
}

// withdraws has an operator withdraw the agreement of an order.
func (w *world) withdraws(t *testing.T, order string) error {
	t.Helper()
	o := operate.Operator{Store: w.store, Keyring: w.config.Keyring, By: "Ana", Reason: "by letter", Now: w.clock.now, Rand: cryptorand.Reader}
	return o.Withdraw(t.Context(), w.records(t)[order].Checkout.Confirmation.AgreementNumber, checkout.GroundCoolingOff)
}

// acts returns the acts with a name that are on record, the oldest first.
func (w *world) acts(t *testing.T, name string) (list []checkout.Act) {
	t.Helper()
	all, err := w.store.Acts(t.Context(), checkout.ActFilter{}, 1000)
	must(t, err)
	for _, a := range slices.Backward(all) {
		if a.Name == name {
			list = append(list, a)
		}
	}
	return list
}

// A fifth of the calls of processor and CRM fail, before or after their effect. A minute later the end is carried out at both, and told
// to the payer: each once.
func TestAnEndIsCarriedOutOnceWithinAMinuteThoughAFifthOfTheCallsFail(t *testing.T) {
	for seed := range uint64(testlevel.Of(25, 500)) {
		for _, withdrawn := range []bool{true, false} {
			t.Run(fmt.Sprintf("seed %d, withdrawn %v", seed, withdrawn), func(t *testing.T) {
				inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
					kind, subject := checkout.JobCancel, "your direct debit is cancelled"
					o := w.opened(t, "ORDER-1")
					w.setUp(t, o.Token)
					if withdrawn {
						w.confirms(t, confirm(o))
						subject = "is withdrawn"
					}
					w.runFor(t, 5*time.Second)
					mail.take()

					var mu sync.Mutex
					r := rand.New(rand.NewPCG(seed, 1))
					fifth := func() error {
						mu.Lock()
						defer mu.Unlock()
						if r.IntN(5) == 0 {
							return errLostAnswer
						}
						return nil
					}
					c.disturb(func(context.Context) error { return fifth() }, func(context.Context) error { return fifth() })
					w.processor.mu.Lock()
					w.processor.disturbs = func(bool) error { return fifth() }
					w.processor.mu.Unlock()
					for n := range 2 { // a repeat changes nothing
						if !withdrawn {
							w.cancels(t, o)
						} else if err := w.withdraws(t, "ORDER-1"); n == 0 && err != nil || n > 0 && !errors.Is(err, checkout.ErrEnded) {
							t.Fatalf("withdrawal %d: %v", n+1, err)
						}
					}
					w.runFor(t, time.Minute)

					_, e := c.lone(t, w)
					if e.Ends != 1 || (e.End.Ground != "") != withdrawn || w.processor.ended != 1 {
						t.Errorf("the CRM has %d ends, %+v, and the processor %d; want one each", e.Ends, e.End, w.processor.ended)
					}
					rec := w.records(t)["ORDER-1"]
					for _, j := range rec.Jobs {
						if (j.Job.Kind == kind || j.Job.Kind == checkout.JobEnd) && j.State != checkout.JobDone {
							t.Errorf("job %s is %s after %d attempts: %s", j.Job.ID, j.State, j.Attempts, j.Failure.Reason)
						}
					}
					if c := rec.Checkout; c.ToEnd() || !c.Setup.Mandate.Dead() || !c.Ended() {
						t.Errorf("on record is %+v", c)
					}
					if got := mail.take(); len(got) != 1 || !strings.Contains(got[0].Subject, subject) {
						t.Errorf("the payer is sent %+v", got)
					}
					if n := len(w.acts(t, "withdraw")); (n == 1) != withdrawn {
						t.Errorf("%d withdrawals are on record", n)
					}
				})
			})
		}
	}
}

// What the processor makes after the end, or makes live again, is ended too, whenever that becomes known.
func TestWhatLivesAgainAfterTheEndIsEndedAgain(t *testing.T) {
	n, count := counted()
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, _ *crm) {
		w.confirmed(t, "ORDER-1")
		w.becomes(t, "EV0", checkout.MandateActive, "")
		must(t, w.withdraws(t, "ORDER-1"))
		w.runFor(t, 5*time.Second)
		mail.take()
		w.clock.forward(time.Hour)
		w.becomes(t, "EV1", checkout.MandateActive, "") // reinstated at the processor, by hand
		w.runFor(t, 5*time.Second)
		if m := w.setup(t, "ORDER-1").Mandate; m != checkout.MandateCancelled || w.processor.ended != 2 {
			t.Errorf("the mandate is %s, and was ended %d times; want it cancelled, twice", m, w.processor.ended)
		}
		if got := mail.take(); len(got) > 0 {
			t.Errorf("of a mandate that was ended again the payer is sent %+v", got)
		}
		if n.all[service.CountMandateCancelled] > 0 {
			t.Error("the end of the mandate of a withdrawn agreement is counted, which an operator has wanted")
		}
	}, count)
}

// A mandate that is reinstated before the processor is asked what became of it is ended again.
func TestWhatLivesAgainAtOnceIsEndedAgain(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, _ *postbox, _ *crm) {
		o := w.opened(t, "ORDER-1")
		w.setUp(t, o.Token)
		again := 0
		w.processor.disturbs = func(after bool) error {
			if says := &w.processor.says; after && again == 0 {
				again++
				says.Mandate, says.MandateSince = checkout.MandateActive, w.clock.now().UTC().Truncate(time.Millisecond)
			}
			return nil
		}
		w.cancels(t, o)
		w.runFor(t, 30*time.Second)
		if m := w.setup(t, "ORDER-1").Mandate; m != checkout.MandateCancelled || w.processor.ended != 2 {
			t.Errorf("the mandate is %s, and was ended %d times; want it cancelled, twice", m, w.processor.ended)
		}
	})
}

// A payer presses the button at the moment of the cancel: the billing request that is made is cancelled, and the payer goes nowhere.
func TestABillingRequestThatIsMadeBesideTheCancelIsCancelledToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := w.opened(t, "ORDER-1")
		w.processor.takes = time.Second
		var pressed sync.WaitGroup
		pressed.Go(func() {
			url, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
			if url != "" || !checkout.Refused(err, checkout.CodeCancelled) {
				t.Errorf("the payer is sent to %q, %v; want the page that says it is cancelled", url, err)
			}
		})
		time.Sleep(500 * time.Millisecond) // the processor makes the billing request
		w.cancels(t, o)
		pressed.Wait()
		w.processor.takes = 0
		w.runFor(t, 5*time.Second)
		if s := w.setup(t, "ORDER-1"); s.BillingRequest != checkout.BillingCancelled || w.processor.ended != 1 {
			t.Errorf("the setup is %+v, and the processor ended %d; want it cancelled", s, w.processor.ended)
		}
	})
}

// A checkout whose data is asked to be erased waits until the processor has ended its direct debit.
func TestAnErasureWaitsForTheEndAtTheProcessor(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, _ *postbox, _ *crm) {
		o := w.opened(t, "ORDER-1")
		w.setUp(t, o.Token)
		w.cancels(t, o)
		erasable := func() error {
			c := w.records(t)["ORDER-1"].Checkout
			return c.Erasable(c.Intent.Plan.First, w.Zone())
		}
		if err := erasable(); !errors.Is(err, checkout.ErrToEnd) {
			t.Errorf("before the processor has ended it: %v", err)
		}
		w.runFor(t, 5*time.Second)
		if err := erasable(); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// A poll may go by an answer that is two seconds old, of before the cancel.
func TestAPollTakesBackNoCancelledSetup(t *testing.T) {
	for _, before := range []checkout.BillingRequestStatus{checkout.BillingPending, checkout.BillingReadyToFulfil, checkout.BillingFulfilling} {
		inWorld(t, func(t *testing.T, w *world) {
			o := w.begun(t, "ORDER-1")
			w.processor.set(checkout.Observation{BillingRequest: before, Authorisation: checkout.CustomerInProgress})
			w.polls(t, o.Checkout.ID)
			w.cancels(t, o)
			w.runFor(t, time.Second)
			if got := w.polls(t, o.Checkout.ID).Setup.BillingRequest; got != checkout.BillingCancelled {
				t.Errorf("after the cancel of a billing request that was %s a poll says %s", before, got)
			}
		})
	}
}
