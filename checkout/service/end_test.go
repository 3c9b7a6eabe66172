package service_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// withdraws has an operator withdraw the agreement of an order.
func (w *world) withdraws(t *testing.T, order string) error {
	t.Helper()
	cmd := checkout.Withdraw{Actor: checkout.OperatorActor("Ana"), Ground: checkout.GroundCoolingOff, Reason: "asked by phone"}
	_, _, err := w.store.UpdateCheckout(t.Context(), w.records(t)[order].Checkout, 0, func(c checkout.Checkout) (checkout.Change, error) {
		return cmd.Decide(c, w.clock.now().UTC().Truncate(time.Millisecond))
	})
	return err
}

// inWorldWithAll is inWorld with a CRM outside of the store, and payers who are notified.
func inWorldWithAll(t *testing.T, test func(*testing.T, *world, *postbox, *crm), change ...func(*service.Config)) {
	t.Helper()
	c := &crm{}
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) { test(t, w, mail, c) },
		append(change, func(config *service.Config) { config.CRM = c })...)
}

// A processor that cannot end a setup yet is asked until it can, and nobody is told before.
func TestAnEndIsAttemptedUntilTheProcessorMakesIt(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, _ *crm) {
		o := w.opened(t, "ORDER-1")
		w.setUp(t, o.Token)
		w.runFor(t, 15*time.Second)
		mail.take()
		w.processor.err = errBroken
		w.cancels(t, o)
		w.runFor(t, time.Minute)
		w.wantToday(t, errBroken.Error(), "ORDER-1")
		if got := w.reports.take(); len(got) < 4 || got[0].Operation != service.OperationCancel || got[0].Severity != service.Warning || len(mail.take()) > 0 {
			t.Errorf("reported %d failures, the first %+v", len(got), got[0])
		}
		of := w.records(t)["ORDER-1"].Checkout
		if err := of.Erasable(of.Intent.Plan.First, w.Zone()); !errors.Is(err, checkout.ErrToEnd) {
			t.Errorf("before the processor has ended it the data is erased: %v", err)
		}
		w.processor.err = nil
		w.runFor(t, time.Minute)
		w.wantToday(t, "")
		if got := mail.take(); len(got) != 1 || w.processor.ended != 1 {
			t.Errorf("the payer is sent %+v after %d ends", got, w.processor.ended)
		}
	})
}

// A mandate that is reinstated at the processor after the end is ended again: at once, or an hour later.
func TestWhatLivesAgainAfterTheEndIsEndedAgain(t *testing.T) {
	for _, after := range []time.Duration{0, time.Hour} {
		inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, _ *crm) {
			w.confirmed(t, "ORDER-1")
			w.becomes(t, checkout.MandateActive, "")
			again := 0
			w.processor.disturbs = func(ended bool) error {
				if says := &w.processor.says; ended && after == 0 && again == 0 {
					again++
					says.Mandate, says.MandateSince = checkout.MandateActive, w.clock.now().UTC().Truncate(time.Millisecond)
				}
				return nil
			}
			must(t, w.withdraws(t, "ORDER-1"))
			w.runFor(t, 30*time.Second)
			mail.take()
			if w.clock.forward(after); after > 0 {
				w.becomes(t, checkout.MandateActive, "")
			}
			if m := w.setup(t, "ORDER-1").Mandate; m != checkout.MandateCancelled || w.processor.ended != 2 || len(mail.take()) > 0 {
				t.Errorf("after %s the mandate is %s, and was ended %d times; want it cancelled, twice, and no mail", after, m, w.processor.ended)
			}
		})
	}
}

// A payer presses the button at the moment of the cancel: the billing request that is made is cancelled, and the payer goes nowhere.
func TestABillingRequestThatIsMadeBesideTheCancelIsCancelledToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
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
