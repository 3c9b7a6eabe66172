package hostedpages_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementPath is the address of the payer's copy of the agreement.
func (b *bench) agreementPath() string {
	return "/api/dd-setup/agreement?token=" + url.QueryEscape(b.token)
}

func TestAnErasedPayerHasNoAgreementToRead(t *testing.T) {
	b := newBench(t, setting{})
	b.setUp()
	b.confirm(order().First)
	b.change(func(c *checkout.Checkout) { c.ErasedAt = b.now })
	page := b.get(b.agreementPath()).is(t, http.StatusGone)
	page.reads(t, "It was about the agreement "+b.stored().Confirmation.AgreementNumber+". We have erased your personal data from it.")
	page.lacks(t, "Hēmi", "01-0902", "no payment was taken", "start the payment setup again")
}

func TestAnAgreementThatCannotBeReadIsNoEmptyPage(t *testing.T) {
	for err, want := range map[error]int{errors.New("disk is gone"): http.StatusInternalServerError,
		ports.ErrBusy: http.StatusServiceUnavailable} {
		b := newBench(t, setting{})
		b.setUp()
		b.confirm(order().First)
		b.store.agreementErr, b.failing = err, true
		page := b.get(b.agreementPath())
		page.is(t, want)
		page.lacks(t, "PPA-")
	}
}
