package hostedpages_test

import (
	"net/http"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// cancelled cancels the checkout, with the reason "Hēmi is ill".
func (b *bench) cancelled(by checkout.Party) {
	b.t.Helper()
	b.decides(func(c checkout.Checkout) (checkout.Change, error) {
		return checkout.Cancel{RequestID: "req_3", By: by, Reason: checkout.Some("Hēmi is ill")}.Decide(c, b.now)
	})
}

// Every page of a cancelled checkout says who cancelled it and whom to ask, whatever becomes of its token and its data.
func TestACancelledCheckoutHasAPageOfItsOwn(t *testing.T) {
	for by, says := range map[checkout.Party]string{checkout.PartyProvider: "Kōwhai Institute cancelled it on", checkout.PartyOperator: "We cancelled it on"} {
		b := newBench(t, setting{})
		b.setUp()
		b.cancelled(by)
		check := func() {
			t.Helper()
			for _, got := range []answer{b.get(b.setupPath()), b.get(b.legalPath()), b.get(b.agreementPath()), b.begin()} {
				got.is(t, http.StatusGone)
				got.reads(t, "This payment plan was cancelled")
				got.reads(t, says+" "+"Thursday 21 January 2027, before it became an agreement.")
				got.reads(t, "ask Kōwhai Institute: it can start again")
				got.wants(t, "help@kowhai.example", `href="https://enrol.kowhai.example/cancelled"`)
				got.lacks(t, "Hēmi", "01-0902", "<form")
			}
		}
		check()
		b.erases()
		check()
	}
}

func TestAWithdrawnAgreementSaysSoOnEveryPageAndIsStillThere(t *testing.T) {
	b := agreed(t, setting{})
	b.decides(func(c checkout.Checkout) (checkout.Change, error) {
		return checkout.Withdraw{Ground: checkout.GroundHardship, Reason: "Hēmi is ill"}.Decide(c, b.now)
	})
	number := b.stored().Confirmation.AgreementNumber
	page := b.get(b.setupPath()).is(t, http.StatusOK)
	page.reads(t, "Your agreement was withdrawn")
	page.reads(t, "Its direct debit is being cancelled.")
	page.wants(t, number, "help@kowhai.example", `href="`+b.agreementPath()+`"`)
	page.lacks(t, "is ill", "hardship", "Next payment", "There is nothing more to do")
	b.get(b.agreementPath()).is(t, http.StatusOK).reads(t, "This agreement was withdrawn on Thursday 21 January 2027. It is shown as it was.")
	b.change(func(c *checkout.Checkout) { c.Setup.Mandate = checkout.MandateCancelled })
	b.get(b.setupPath()).reads(t, "Its direct debit has ended: no more payments are taken with it.")
}
