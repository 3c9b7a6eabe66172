package hostedpages_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementPath is the address of the payer's copy of the agreement.
func (b *bench) agreementPath() string {
	return "/api/dd-setup/agreement?token=" + url.QueryEscape(b.token)
}

func TestThePayerReadsTheAgreementBehindTheLink(t *testing.T) {
	b := newBench(t, setting{})
	b.setUp()
	b.confirm(order().First)
	done := b.get(b.setupPath())
	done.wants(t, `<a class="button" href="`+b.agreementPath()+`">Read your agreement</a>`)

	page := b.get(b.agreementPath()).is(t, http.StatusOK)
	a, err := b.store.Agreement(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	sections, err := a.Text(b.service.Zone())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		page.reads(t, s.Title)
		for _, p := range s.Paragraphs {
			page.reads(t, strings.Join(strings.Fields(p), " "))
		}
		for _, row := range s.Rows {
			page.reads(t, row.Label+row.Value)
		}
		for _, row := range append(s.Table.Rows, s.Table.Foot) {
			page.reads(t, strings.Join(row, ""))
		}
	}
	page.wants(t, a.Foot(), "<title>Payment Plan Agreement "+a.Number+" – Kōwhai Institute</title>",
		`until <span class="whole">Sunday 30 April 2028,</span>`, `href="`+b.setupPath()+`"`)
	page.lacks(t, "<form", "<script", "data-notify")
	for name := range done.header {
		if got, want := page.header.Get(name), done.header.Get(name); got != want && name != "X-Request-Id" {
			t.Errorf("%s = %q, on the done page it is %q", name, got, want)
		}
	}

	b.now = b.now.Add(30 * 24 * time.Hour) // the token is over, the setup is not
	late := b.get(b.agreementPath()).is(t, http.StatusOK)
	late.wants(t, a.Number, `until <span class="whole">Sunday 30 April 2028,</span>`)
}

func TestThereIsNoAgreementBeforeTheConfirm(t *testing.T) {
	b := newBench(t, setting{})
	leadsBack := func(when string) {
		t.Helper()
		page := b.get(b.agreementPath())
		if at := page.header.Get("Location"); page.status != http.StatusSeeOther || at != b.setupPath() {
			t.Errorf("%s: %d to %q, want 303 to the setup page", when, page.status, at)
		}
	}
	leadsBack("open")
	b.setUp()
	leadsBack("done")
	b.get("/api/dd-setup/agreement?token=unknown").is(t, http.StatusNotFound)
	b.get("/api/dd-setup/agreement").is(t, http.StatusNotFound)
	b.do(http.MethodPost, b.agreementPath(), "").is(t, http.StatusMethodNotAllowed)

	b.confirm(order().First)
	b.change(func(c *checkout.Checkout) { c.Setup.Mandate = checkout.MandateFailed })
	b.get(b.agreementPath()).is(t, http.StatusOK) // the agreement holds though the direct debit has ended
	p := kowhai()
	p.Active = false
	b.configure(p)
	b.get(b.agreementPath()).is(t, http.StatusOK) // whatever became of the provider
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
