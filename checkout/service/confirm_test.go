package service_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestAConfirmDoesNotGuessWhenTheProcessorIsSilent(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	w.processor.err = errors.New("down")
	_, err := w.confirm(t, cmd)
	expect(t, err, checkout.CodeBusy)
	if c, err := w.Checkout(t.Context(), caller, cmd.CheckoutID.Value); err != nil || !c.SetupComplete() {
		t.Errorf("a poll is answered from the record: %v, %v", c.SetupComplete(), err)
	}
	w.processor.err = nil
	w.confirms(t, cmd)
	w.processor.err = errors.New("down again")
	if again, err := w.confirm(t, cmd); err != nil || !again.Already {
		t.Errorf("a repeat needs no processor: %v", err)
	}
}

func TestAConfirmThatWaitsForNoOtherReadsItsCheckoutOnce(t *testing.T) {
	var reads atomic.Int64
	w := newWorld(t, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
		if method == "Checkout" {
			reads.Add(1)
		}
		return call(ctx)
	}))
	cmd := w.ready(t, "ORDER-1")
	reads.Store(0)
	w.confirms(t, cmd)
	if n := reads.Load(); n != 1 {
		t.Errorf("a confirm reads its checkout %d times, want 1", n)
	}
}

func TestAnAgreementIsRenderedAtTheSecondAttempt(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	w.printer.fail = 1
	done, err := w.confirm(t, cmd)
	if err != nil || !done.Checkout.Confirmation.PDFGenerated() || w.printer.printed != 2 {
		t.Errorf("%+v, %v after %d tries", done.Checkout.Confirmation, err, w.printer.printed)
	}
}

func TestAConfirmSucceedsWithoutAPDF(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	w.printer.fail = 2
	done, err := w.confirm(t, cmd)
	if err != nil || done.Checkout.Status != checkout.Confirmed || done.Checkout.Confirmation.PDFGenerated() {
		t.Fatalf("%+v, %v; want it confirmed without a PDF", done.Checkout.Confirmation, err)
	}
	if names := w.receiver.names(); slices.Contains(names, events.AgreementGenerated) || len(w.reports.all) != 2 {
		t.Errorf("events %q and %d reports; want no agreement.generated, and both failures reported", names, len(w.reports.all))
	}
	again, err := w.confirm(t, cmd)
	if err != nil || !again.Already || again.Checkout.Confirmation != done.Checkout.Confirmation {
		t.Errorf("a repeat: %+v, %v", again.Checkout.Confirmation, err)
	}
}

func TestAnIDThatIsNoneIsNotLookedUp(t *testing.T) {
	store, change := newFaulty()
	w := newWorld(t, change)
	cmd := confirm(w.opened(t, "ORDER-1"))
	store.arm("", nil)
	for _, id := range []string{"a b", "kōwhai", "a\x00", "\xff"} {
		_, err := w.Checkout(t.Context(), caller, id)
		expect(t, err, checkout.CodeCheckoutNotFound)
		_, err = w.Confirm(t.Context(), caller, id, cmd)
		expect(t, err, checkout.CodeCheckoutNotFound)
	}
	if calls := store.called(); slices.Contains(calls, "Checkout 1") {
		t.Errorf("the store was asked %q", calls)
	}
	_, err := w.Checkout(t.Context(), caller, "KOWHAI-1-aaaaaaaaaaaaaaaa")
	expect(t, err, checkout.CodeCheckoutNotFound)
	_, err = w.Confirm(t.Context(), caller, "KOWHAI-1-aaaaaaaaaaaaaaaa", cmd)
	expect(t, err, checkout.CodeCheckoutNotFound)
}

func TestAConfirmNumbersTheAgreementByTheNewZealandYear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble's clock starts at midnight UTC, 2000-01-01
		w := newWorld(t)
		time.Sleep(time.Until(time.Date(2026, 12, 31, 11, 0, 0, 0, time.UTC))) // midnight in Auckland
		done, err := w.confirm(t, w.ready(t, "ORDER-1"))
		number := done.Checkout.Confirmation.AgreementNumber
		if err != nil || !strings.HasPrefix(number, "PPA-2027-") || len(number) != len("PPA-2027-0000000000C") || agreement.Mistyped(number) {
			t.Errorf("number %q, %v; want PPA-2027- and eleven characters, the last of them right", number, err)
		}
	})
}

func TestASetupThatOnlyTheProcessorSawIsAgreedInFull(t *testing.T) {
	w := newWorld(t)
	o := w.opened(t, "ORDER-1")
	if _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{From: "192.0.2.1"}); err != nil {
		t.Fatal(err)
	}
	consent := w.records(t)["ORDER-1"].Checkout.Setup.Consent
	seen := fulfilled // the payer closed the browser at the bank, so the service was not informed
	seen.AccountHolder = ""
	w.processor.set(seen)
	_, err := w.confirm(t, confirm(o))
	expect(t, err, checkout.CodeSetupIncomplete)

	seen.AccountHolder, seen.CompletedAt = "A NGATA", time.Now().UTC().Truncate(time.Millisecond)
	w.processor.set(seen)
	// The payer comes back and presses the button again, but has authorised the debit under the earlier consent.
	if _, err := w.BeginSetup(t.Context(), o.Token, checkout.Acceptance{From: "198.51.100.66"}); err != nil {
		t.Fatal(err)
	}
	w.confirms(t, confirm(o))
	want := agreement.DirectDebit{AuthorityID: o.Checkout.Records.DDAID, AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00",
		AuthorisedAt: seen.CompletedAt, Consent: consent}
	if got := w.records(t)["ORDER-1"].Agreement.DirectDebit; got != want || got.Consent.From != "192.0.2.1" {
		t.Errorf("agreed on %+v, want %+v", got, want)
	}
}

func TestABusyPrinterIsAskedAgainByTheSameConfirm(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	w.printer.busy = true
	_, err := w.confirm(t, cmd)
	expect(t, err, checkout.CodeBusy)
	w.printer.busy = false
	done, err := w.confirm(t, cmd)
	if err != nil || done.Already || !done.Checkout.Confirmation.PDFGenerated() {
		t.Errorf("sent again: %+v, %v; want it confirmed with its PDF", done.Checkout.Confirmation, err)
	}
}

func TestAnAgreementKeepsTheTermsAndTheColourOfItsMoment(t *testing.T) {
	terms := agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington"},
		Blocks: []agreement.Block{{Title: "Hardship", Text: "Ask the lender."}},
	}
	w := newWorld(t, func(c *service.Config) { c.Terms = terms })
	branded := kowhai()
	branded.Provider.Branding.PrimaryColour = "#1f6f54"
	w.configure(t, branded)
	w.confirms(t, w.ready(t, "ORDER-1"))
	w.config.Terms = agreement.Terms{}
	w.configure(t, kowhai())
	next := w.again(t)
	if _, err := next.confirm(t, next.ready(t, "ORDER-2")); err != nil {
		t.Fatal(err)
	}
	on := w.records(t)
	if a := on["ORDER-1"].Agreement; !reflect.DeepEqual(a.Terms, terms) || a.Provider.Colour != "#1f6f54" {
		t.Errorf("the first agreement has terms %+v and colour %q, want those of its confirm", a.Terms, a.Provider.Colour)
	}
	if a := on["ORDER-2"].Agreement; !a.Terms.IsZero() || a.Provider.Colour != "" {
		t.Errorf("the second agreement has terms %+v and colour %q, want none", a.Terms, a.Provider.Colour)
	}
}

// A retry by a process whose clock is behind is answered as the first call was.
func TestARetryByAClockThatIsBehindIsAnsweredTheSame(t *testing.T) {
	w := newWorld(t)
	cmd := w.ready(t, "ORDER-1")
	first := w.confirms(t, cmd)
	w.config.Now = func() time.Time { return w.clock.now().Add(-time.Hour) }
	again, err := w.again(t).confirm(t, cmd)
	if err != nil || !again.Already || again.Checkout.Confirmation != first.Checkout.Confirmation {
		t.Errorf("%+v, %v; want %+v", again, err, first)
	}
}
