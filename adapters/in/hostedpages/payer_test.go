package hostedpages_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreed returns a bench whose payer has an agreement.
func agreed(t *testing.T, set setting) *bench {
	t.Helper()
	b := newBench(t, set)
	b.setUp()
	b.confirm(order().First)
	return b
}

// on moves the clock to the last minute before midnight of a day in New Zealand.
func (b *bench) on(year int, month time.Month, day int) {
	b.t.Helper()
	b.now = time.Date(year, month, day, 23, 59, 0, 0, b.service.Zone())
}

func (b *bench) partPath(part string) string {
	return "/api/dd-setup/" + part + "?token=" + url.QueryEscape(b.token)
}

// The plan is 53 weekly payments, of Monday 1 February 2027 to Monday 31 January 2028.
func TestThePayersPageLivesUntilThreeMonthsAfterTheLastPayment(t *testing.T) {
	b := agreed(t, setting{})
	for _, tt := range []struct {
		name       string
		year       int
		month      time.Month
		day        int
		says, hide []string
	}{
		{"the day after the confirm", 2027, time.January, 22, []string{"$200.00 Payment 1 of 53, planned for Monday 1 February 2027."}, []string{"today"}},
		{"the day of a payment", 2027, time.February, 1, []string{"Payment 1 of 53, planned for today, Monday 1 February 2027."}, nil},
		{"the day after it", 2027, time.February, 2, []string{"$53.65 Payment 2 of 53, planned for Monday 8 February 2027."}, nil},
		{"a year after the confirm", 2028, time.January, 21, []string{"Payment 52 of 53, planned for Monday 24 January 2028."}, nil},
		{"after the last payment", 2028, time.February, 1, []string{"No more payments are planned",
			"The last payment was planned for Monday 31 January 2028."}, []string{"Next payment"}},
		{"three months after it", 2028, time.April, 30, []string{"The last payment was planned for Monday 31 January 2028."}, nil},
	} {
		b.on(tt.year, tt.month, tt.day)
		page := b.get(b.setupPath()).is(t, http.StatusOK)
		for _, want := range append(tt.says, "Your payment plan", "You can open this page until Sunday 30 April 2028, three months after the last payment.") {
			page.reads(t, want)
		}
		page.lacks(t, append(tt.hide, "<form", "at least")...)
	}
	b.on(2028, time.May, 1)
	for _, path := range []string{b.setupPath(), b.legalPath(), b.agreementPath()} {
		page := b.get(path).is(t, http.StatusGone)
		page.reads(t, "This page has ended")
		page.reads(t, "The last payment was planned for Monday 31 January 2028. The page was open for three months after that.")
		page.reads(t, "need a copy of your agreement "+b.stored().Confirmation.AgreementNumber+", ask Kōwhai Institute (help@kowhai.example).")
		page.lacks(t, "Hēmi", "01-0902", "$")
	}
	b.begin().is(t, http.StatusGone).wants(t, "This page has ended")
}

// Monday 8 February 2027 is Waitangi Day, on which a collector of business days takes no payment.
func TestThePayersPageNamesTheDayOnWhichAPaymentIsTaken(t *testing.T) {
	b := agreed(t, setting{terms: agreement.Terms{Authority: agreement.Authority{Calendar: money.BusinessDays}}})
	b.on(2027, time.February, 8)
	b.get(b.setupPath()).reads(t, "Payment 2 of 53, planned for Tuesday 9 February 2027. Monday 8 February is Waitangi Day: taken Tuesday 9.")
}

func TestWhomToAskWhenAPaymentCannotBeMade(t *testing.T) {
	for want, terms := range map[string]agreement.Terms{
		"Pūtea Limited (care@putea.example).":            {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x", Email: "plans@putea.example"}, Hardship: "care@putea.example"},
		"Pūtea Limited (https://putea.example/hardship)": {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x"}, Hardship: "https://putea.example/hardship"},
		"Pūtea Limited (plans@putea.example).":           {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x", Email: "plans@putea.example"}},
		"Kōwhai Institute (help@kowhai.example).":        {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x"}},
	} {
		b := agreed(t, setting{terms: terms})
		b.get(b.setupPath()).reads(t, "before the day of the payment: "+want)
	}
}

// The page of an agreement depends on the agreement alone.
func TestThePayersPageIsThereWhateverBecameOfTheProvider(t *testing.T) {
	off, other := kowhai(), kowhai()
	off.Active = false
	other.Code = "RIMU"
	for name, now := range map[string]catalogue.Provider{"switched off": off, "removed": other} {
		b := agreed(t, setting{})
		b.configure(now)
		b.failing = true // a processor may need the account of a provider that was removed
		page := b.get(b.setupPath())
		page.is(t, http.StatusOK)
		page.wants(t, "Your payment plan – Kōwhai Institute", "Sandbox.", "colour-1f6f54.css", "mailto:help@kowhai.example", "Lender: Pūtea Limited")
		if t.Failed() {
			t.Fatal(name)
		}
		for _, part := range []string{"agreement", "legal"} {
			b.get(b.partPath(part)).is(t, http.StatusOK)
		}
		b.on(2028, time.May, 1)
		b.get(b.setupPath()).is(t, http.StatusGone).wants(t, "This page has ended – Kōwhai Institute")
	}
}

func TestAMandateThatDiesAfterTheConfirmIsExplained(t *testing.T) {
	for reason, want := range map[string]string{
		"DISHONOUR-AC04": "The bank says that the account is closed.",
		"DISHONOUR-AG01": "The account holder or the bank has cancelled it.",
		"SOMETHING":      "It was cancelled: by the account holder, by the bank or by the payment processor.",
	} {
		b := agreed(t, setting{})
		b.poll()
		b.change(func(c *checkout.Checkout) { c.Setup.Mandate, c.Setup.MandateReason = checkout.MandateCancelled, reason })
		page := b.get(b.setupPath()).is(t, http.StatusOK)
		page.reads(t, "Your direct debit has ended "+want+" No payments can be taken with it any more. Your agreement has not ended: "+
			"ask Kōwhai Institute (help@kowhai.example) now how to make these payments.")
		page.wants(t, b.stored().Confirmation.AgreementNumber)
		page.reads(t, "Next payment in the plan")
		page.lacks(t, "<form", "nothing more to do", "at any time")
	}
}

func TestWithoutADocumentTheAgreementIsAPage(t *testing.T) {
	b := newBench(t, setting{printer: blunt{}})
	b.failing = true
	b.setUp()
	b.confirm(order().First)
	b.get(b.agreementPath()).wants(t, "print it or save it with your browser")
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
