package contract_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// noticeOf returns the provider file with this notice period for its first provider.
func noticeOf(days string) string {
	return strings.Replace(providers, `"active": true`, `"notice_days": `+days+`, "active": true`, 1)
}

// goOn sends the form of the setup page from a browser at that address.
func (s *suite) goOn(t *testing.T, page response, from string) response {
	t.Helper()
	var fields []string
	for _, e := range pick(sandbox.Elements(t, page), "input", "type", "hidden") {
		fields = append(fields, e.Attr["name"], e.Attr["value"])
	}
	return s.Submit(t, sandbox.SetupPagePath, fields, "X-Forwarded-For", from)
}

func behindAProxy(_ *service.Config, o *httpapi.Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// By the contract the payer sets up the direct debit on the hosted page (section 1). The consent that is given there
// is recorded: when, from where, and to which terms.
func TestContract1TheConsentOfThePayerIsOnTheAgreement(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		s.Configure(t, noticeOf("2"))
		created := s.Create(t, "order-1")
		page := s.Visit(t, created.String("direct_debit.setup_url"))
		s.goOn(t, page, "198.51.100.1") // first on another device
		s.Clock.Forward(time.Minute)
		begun := s.goOn(t, page, "203.0.113.7")
		if begun.Status != http.StatusSeeOther {
			t.Fatalf("going on: %d %s", begun.Status, begun.Body)
		}
		at := s.Clock.Now()
		s.Clock.Forward(time.Minute)
		s.Submit(t, begun.Header.Get("Location"), bankDetails(goodAccount))
		confirmed := s.Confirm(t, created)

		d := s.record(t, "order-1")
		got := d.Checkout.Setup.Consent
		if at.Sub(got.At).Abs() > time.Minute/2 || got.From != "203.0.113.7" || got.Version() != agreement.Version || got.NoticeDays != 2 {
			t.Errorf("the checkout's consent is %+v, want one of %v, from 203.0.113.7, to the terms of %s with 2 days of notice",
				got, at, agreement.Version)
		}
		if d.Agreement.DirectDebit.Consent != d.Checkout.Setup.Consent {
			t.Errorf("the agreement's consent is %+v, the checkout's %+v", d.Agreement.DirectDebit.Consent, d.Checkout.Setup.Consent)
		}
		text := s.document(t, confirmed.String("agreement.number"))
		for _, said := range []string{"The payer accepted the direct debit terms on the setup page", got.Terms, "203.0.113.7", "2 calendar days"} {
			if !strings.Contains(text, sandbox.WithoutSpace(said)) {
				t.Errorf("the PDF does not say %q:\n%s", said, text)
			}
		}
	}, behindAProxy)
}

func TestContract1TermsThatChangedAreReadBeforeTheyAreAccepted(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "order-1")
		page := s.Visit(t, created.String("direct_debit.setup_url"))
		s.Configure(t, noticeOf("2"))
		again := s.goOn(t, page, "203.0.113.7")
		if again.Status != http.StatusConflict || heading(t, again) != sandbox.OpenTitle || !strings.Contains(again.Body, "The terms have changed") {
			t.Fatalf("going on after the terms changed: %d %s", again.Status, again.Body)
		}
		if d := s.record(t, "order-1"); !d.Checkout.Setup.Consent.IsZero() || d.Checkout.Setup.Try != 0 {
			t.Errorf("setup = %+v, want none begun", d.Checkout.Setup)
		}
		if r := s.goOn(t, again, "203.0.113.7"); r.Status != http.StatusSeeOther {
			t.Errorf("going on from the page that was read again: %d %s", r.Status, r.Body)
		}
	})
}

// document returns the text of an agreement's PDF without white space.
func (s *suite) document(t *testing.T, number string) string {
	t.Helper()
	return sandbox.DocumentText(t, s.Store, number)
}
