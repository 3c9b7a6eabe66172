package service_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
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

// A provider cancels a checkout whose payer has given bank details: the setup is ended at the processor, and page, poll, CRM, payer and
// every later call say so. There is no event, and a repeat changes nothing.
func TestACancelEndsEverything(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		o := w.opened(t, "ORDER-1")
		w.setUp(t, o.Token)
		w.runFor(t, 15*time.Second)
		mail.take()
		w.cancels(t, o)
		first := w.records(t)["ORDER-1"].Checkout
		w.clock.forward(time.Minute)
		w.cancels(t, o)
		if again := w.records(t)["ORDER-1"].Checkout; again.Revision != first.Revision || again.End != first.End {
			t.Errorf("a repeat changes %+v to %+v", first.End, again.End)
		}
		_, err := w.Create(t.Context(), caller, create("ORDER-1"))
		expect(t, err, checkout.CodeCancelled)
		_, err = w.confirm(t, confirm(o))
		expect(t, err, checkout.CodeCancelled)
		_, err = w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{})
		expect(t, err, checkout.CodeCancelled)
		w.runFor(t, 15*time.Second)
		page, polled := w.page(t, o.Token), w.polls(t, o.Checkout.ID)
		if page.State != checkout.PageCancelled || page.Ended.IsZero() || polled.Status != checkout.Cancelled || polled.End.By != checkout.PartyProvider {
			t.Errorf("page %q of %s, poll %s by %s", page.State, page.Ended, polled.Status, polled.End.By)
		}
		if m := w.setup(t, "ORDER-1").Mandate; m != checkout.MandateCancelled || w.processor.ended != 1 || !c.latest(t).Checkout.Setup.Mandate.Dead() {
			t.Errorf("the mandate is %s, ended %d times", m, w.processor.ended)
		}
		if got := mail.take(); len(got) != 1 || !strings.Contains(got[0].Subject, "cancelled") || strings.Contains(got[0].Text, "wrong course") {
			t.Errorf("the payer is sent %+v, want the cancel without its reason", got)
		}
		if n := len(w.records(t)["ORDER-1"].Events()); n != 1 {
			t.Errorf("%d events, want that of the create", n)
		}
	})
}

// Who has not given bank details is told nothing, and a checkout that nobody began is ended without the processor.
func TestACancelOfWhatIsNotSetUpTellsNoPayer(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, _ *crm) {
		w.cancels(t, w.opened(t, "ORDER-1"))
		w.cancels(t, w.begun(t, "ORDER-2"))
		w.runFor(t, 15*time.Second)
		if got := mail.take(); len(got) > 0 || w.processor.ended != 1 || w.setup(t, "ORDER-2").BillingRequest != checkout.BillingCancelled {
			t.Errorf("the payers are sent %+v, and the processor ended %d", got, w.processor.ended)
		}
	})
}

// An operator withdraws an agreement: it stays as it was, its mandate is ended, payer and CRM are told, and a repeated confirm is answered
// as ever.
func TestAWithdrawalKeepsTheAgreement(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		first := w.confirms(t, cmd)
		w.runFor(t, 15*time.Second)
		mail.take()
		agreed := *w.records(t)["ORDER-1"].Agreement
		_, err := w.Cancel(t.Context(), caller, cmd.CheckoutID.Value, checkout.Cancel{Reason: checkout.Some("wrong course")})
		expect(t, err, checkout.CodeConflict)
		must(t, w.withdraws(t, "ORDER-1"))
		if err := w.withdraws(t, "ORDER-1"); !errors.Is(err, checkout.ErrEnded) {
			t.Errorf("a repeat: %v", err)
		}
		w.runFor(t, 15*time.Second)
		again := w.confirms(t, cmd)
		r, e := w.records(t)["ORDER-1"], c.latest(t)
		if !again.Already || again.AgreementID != first.AgreementID || !again.Checkout.Withdrawn() || r.Agreement.Number != agreed.Number ||
			r.Document == 0 || len(r.Events()) != 3 {
			t.Errorf("a repeated confirm: %+v; on record %+v", again, r.Checkout.End)
		}
		if !e.Checkout.Withdrawn() || !e.Checkout.Setup.Mandate.Dead() || e.Agreement == nil || w.processor.ended != 1 {
			t.Errorf("the CRM has %+v, and the processor ended %d", e.Checkout.End, w.processor.ended)
		}
		got := mail.take()
		if len(got) != 1 || !strings.Contains(got[0].Text, agreed.Number) || strings.Contains(got[0].Text, "asked by phone") {
			t.Errorf("the payer is sent %+v, want the withdrawal alone", got)
		}
		if page := w.page(t, cmd.Token.Value); page.State != checkout.PageDone || page.Ended.IsZero() || page.Agreement == nil {
			t.Errorf("the page is %q of %s", page.State, page.Ended)
		}
		must(t, func() error { _, err := w.Create(t.Context(), caller, create("ORDER-1")); return err }())
	})
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

// Payer, CRM and timeline are told once of each change of the mandate after the confirm.
func TestOfAMandateThatEndsAfterTheConfirmEverybodyIsTold(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		w.confirmed(t, "ORDER-1")
		w.becomes(t, checkout.MandateActive, "")
		mail.take()
		for _, tt := range []struct {
			to              checkout.MandateStatus
			reason          string
			subject, letter string
		}{
			{checkout.MandateCancelled, "DISHONOUR-AC04", "has ended", "the account is closed"},
			{checkout.MandateActive, "", "works again", "works again"},
			{checkout.MandateFailed, "", "has ended", "did not accept it"},
		} {
			w.becomes(t, tt.to, tt.reason)
			w.notified(t, "MD-1") // it is not told again
			w.runFor(t, 15*time.Second)
			got := mail.take()
			if len(got) != 1 || !strings.Contains(got[0].Subject, tt.subject) || !strings.Contains(got[0].Text, tt.letter) {
				t.Errorf("of %s the payer is sent %+v", tt.to, got)
			}
			r, told := w.records(t)["ORDER-1"], c.latest(t).Checkout.Setup
			detail := strings.TrimSpace("mandate " + string(tt.to) + " " + tt.reason)
			noted := slices.ContainsFunc(r.Moments, func(m checkout.Moment) bool {
				return m.Kind == checkout.MomentMandateChanged && m.Detail == detail && m.Actor == checkout.ActorProcessor
			})
			if told.Mandate != tt.to || told.MandateReason != tt.reason || !noted || !r.Checkout.SetupComplete() || len(r.Events()) != 3 {
				t.Errorf("of %s the CRM has %+v, and the timeline %+v", tt.to, told, r.Moments)
			}
		}
	})
}

// Before the confirm a mandate that ends opens the page for another try, and no payer is told.
func TestAMandateThatEndsBeforeTheConfirmOpensThePage(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, _ *crm) {
		cmd := w.ready(t, "ORDER-1")
		w.runFor(t, 15*time.Second)
		mail.take()
		w.becomes(t, checkout.MandateCancelled, "DISHONOUR-AC04")
		page := w.page(t, cmd.Token.Value)
		if got := mail.take(); len(got) > 0 || page.State != checkout.PageOpen || page.LastTry != checkout.TryMandateCancelled {
			t.Errorf("the payer is sent %+v, and the page is %q after %q", got, page.State, page.LastTry)
		}
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeSetupIncomplete)
		key := func(try string) string {
			return checkout.NaturalKey(catalogue.Sandbox, "KOWHAI", "ORDER-1", "billing request "+try)
		}
		w.setUp(t, cmd.Token.Value)
		if got := w.processor.begins; !slices.Equal(got, []string{key("1"), key("2")}) {
			t.Errorf("billing requests under %q, want one for each try", got)
		}
		w.confirms(t, cmd)
	})
}
