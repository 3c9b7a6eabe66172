package hostedpages_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// pressed returns the form of the setup page as a browser sends it.
func (b *bench) pressed() string {
	b.t.Helper()
	page := b.get(b.setupPath())
	form := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(page.body, -1) {
		form.Add(field[1], field[2])
	}
	if !form.Has("token") || !form.Has("terms") {
		b.t.Fatalf("the form lacks the token, or the terms:\n%s", page.body)
	}
	return form.Encode()
}

func fromAddr(addr string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = addr }
}

// The text that was disclosed is made again from what is on record, so that its hash shows what the payer was shown.
func TestWhatWasDisclosedCanBeMadeAgain(t *testing.T) {
	b := newBench(t, setting{terms: inShort(2)})
	b.setUp()
	b.confirm(order().First)
	c := b.stored()
	a, err := b.store.Agreement(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	consent, calendar := a.DirectDebit.Consent, a.Terms.Authority.Calendar
	again := agreement.Disclosure{
		DebitTerms: agreement.DebitTerms{Version: consent.Version(), Period: consent.Period, Provider: a.Provider.Name,
			Lender: a.Terms.Lender, Authority: a.Terms.Authority},
		Terms: a.Terms, Course: c.Intent.CourseName, Pricing: c.Intent.Pricing,
	}
	notice := again.DebitTerms.NoticeOn(money.DateOf(consent.At.In(b.service.Zone())))
	again.Payments = calendar.Payments(money.Schedule(c.Intent.Pricing.Upfront, c.Intent.Plan), c.Intent.Plan.Frequency,
		notice.Start(c.Intent.Plan.First, calendar))
	if again.SHA256() != consent.Disclosed.SHA256 {
		t.Errorf("%+v was disclosed; made again it is %s:\n%s", consent.Disclosed, again.SHA256(), again.Text())
	}
}

// Behind a trusted proxy the consent is from the payer's address, also where the pages are served on their own.
func TestConsentIsFromThePayerBehindAProxy(t *testing.T) {
	b := newBench(t, setting{})
	b.options.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	b.serve()
	b.do(http.MethodPost, "/api/dd-setup", b.pressed(), fromAddr("192.0.2.1:4711"), func(r *http.Request) {
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
	}).is(t, http.StatusSeeOther)
	if from := b.stored().Setup.Consent.From; from != "203.0.113.7" {
		t.Errorf("the consent is from %q", from)
	}
}

// The days of a plan whose first payment was too soon are other days after midnight in New Zealand.
func TestAPlanThatChangedIsReadAgain(t *testing.T) {
	b := newBench(t, setting{})
	b.now = time.Date(2027, time.January, 23, 10, 59, 0, 0, time.UTC)
	late := b.pressed()
	b.now = b.now.Add(time.Minute)
	b.do(http.MethodPost, "/api/dd-setup", late).is(t, http.StatusConflict).wants(t, "The terms, or the dates of the plan, have changed")
	b.do(http.MethodPost, "/api/dd-setup", b.pressed()).is(t, http.StatusSeeOther)
}

// The payer closed the browser at the bank, so the service was not informed that the setup was done. Pressing the
// button again is no new consent.
func TestConsentIsNotGivenAfterTheBankSetupIsDone(t *testing.T) {
	b := newBench(t, setting{})
	bank := b.start()
	before, form := b.stored().Setup.Consent, b.pressed()
	b.complete(bank)
	b.now = b.now.Add(time.Hour)
	b.do(http.MethodPost, "/api/dd-setup", form, fromAddr("198.51.100.66:1")).is(t, http.StatusSeeOther)
	if got := b.stored().Setup.Consent; got != before {
		t.Errorf("consent = %+v, want %+v", got, before)
	}
}

func TestTheNoticeOfADoneSetupIsTheOneAgreedTo(t *testing.T) {
	b := newBench(t, setting{terms: inShort(2)})
	b.setUp()
	b.config.Terms.NoticeDays = 5
	b.serve()
	b.get(b.legalPath()).wants(t, "sooner than 2 calendar days after the day of that notice")
}
