package full_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const (
	endedTitle  = "This page has ended"
	mailedTitle = "Check your email"
)

// payerStates are the states of the payer's page, of a plan from Monday 1 February 2027 to Monday 31 January 2028, and of a link that
// e-mail renews.
var payerStates = []pageState{
	{name: "payer, a day after the confirm", heading: sandbox.ConfirmedTitle, serving: withTerms,
		says: []string{"Next payment", "$200.00", "Payment 1 of 53, planned for Monday 1 February 2027.", "reference COURSE"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return agreedUntil(t, s, s.Clock.Now().Add(24*time.Hour))
		}},
	{name: "payer, a year after the confirm", heading: sandbox.ConfirmedTitle,
		says: []string{"$53.65", "Payment 52 of 53, planned for Monday 24 January 2028.", "help@kowhai.example"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return agreedUntil(t, s, evening(t, 2028, time.January, 23))
		}},
	{name: "payer, three months after the last payment", heading: sandbox.ConfirmedTitle,
		says: []string{"No more payments are planned", "The last payment was planned for Monday 31 January 2028.", "until Sunday 30 April 2028"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return agreedUntil(t, s, evening(t, 2028, time.April, 30))
		}},
	{name: "payer, the day after that", heading: endedTitle,
		says: []string{"The last payment was planned for Monday 31 January 2028.", "ask Kōwhai Institute (help@kowhai.example)"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return agreedUntil(t, s, evening(t, 2028, time.May, 1)) }},
	{name: "payer, provider switched off", heading: sandbox.ConfirmedTitle, says: []string{"Next payment", "PPA-"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			at := agreedUntil(t, s, s.Clock.Now())
			s.Configure(t, strings.Replace(sandbox.Providers, `"active": true`, `"active": false`, 1))
			return at
		}},
	{name: "expired, with e-mail", heading: sandbox.ExpiredTitle, says: []string{"Send me a new link"}, serving: withMail,
		make: expiredLink},
	{name: "asked for a link", heading: mailedTitle, says: []string{"If we can send a new link", "Kōwhai Institute gave us"}, serving: withMail,
		make: expiredLink, then: func(p *tab) { p.click(onward) }},
}

// withMail has payers notified by e-mail.
var withMail = []func(*service.Config, *httpapi.Options){func(c *service.Config, _ *httpapi.Options) { c.Notifier = mailer{} }}

// mailer is a notifier that takes everything.
type mailer struct{}

func (mailer) Notify(context.Context, checkout.PayerNotice) (receipt string, err error) {
	return "", nil
}

// evening is a minute before midnight of a day in New Zealand.
func evening(t *testing.T, year int, month time.Month, day int) time.Time {
	t.Helper()
	zone, err := service.NewZealand()
	if err != nil {
		t.Fatal(err)
	}
	return time.Date(year, month, day, 23, 59, 0, 0, zone)
}

// agreedUntil returns the payer's page of a confirmed enrolment, and moves the clock.
func agreedUntil(t *testing.T, s *sandbox.Sandbox, now time.Time) string {
	t.Helper()
	created := s.Ready(t, "ORDER-1")
	if r := s.Confirm(t, created); r.Status != 200 {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	s.Clock.Forward(now.Sub(s.Clock.Now()))
	return setupURL(created)
}

// expiredLink returns a link that has expired.
func expiredLink(t *testing.T, s *sandbox.Sandbox) string {
	t.Helper()
	created := s.Create(t, "ORDER-1")
	s.Clock.Forward(8 * 24 * time.Hour)
	return setupURL(created)
}

// The documents that are read rather than filled in: the API reference, and an agreement as a page.
func TestBrowserEveryDocumentIsAccessibleAndFitsEveryScreen(t *testing.T) {
	axe := axeSource(t)
	s := sandbox.New(t, sandbox.Memory)
	created := s.Ready(t, "ORDER-1")
	body := sandbox.Set(t, created.ConfirmBody(), "payment.first_payment_date", `"2027-02-03"`) // Wednesday has the longest dates
	if r := s.Post(t, created.Provider(), created.CheckoutPath()+"/confirm", body); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	documents := []struct{ name, at, heading string }{
		{"reference", s.URL + "/docs", "Provider Checkout: the API"},
		{"agreement", strings.Replace(created.SetupURL(), "?", "/agreement?", 1), "Payment Plan Agreement"},
	}
	browser := startBrowser(t)
	for _, document := range documents {
		for _, on := range []screen{smallPhone, darkPhone, zoomedDesktop, darkDesktop} {
			t.Run(document.name+", "+on.name, func(t *testing.T) {
				p := newTab(t, browser, on, true)
				p.open(document.at)
				p.shows(document.heading)
				evaluate[int](p, "document.querySelectorAll('details').forEach(d => d.open = true), 0")
				p.fits(s.URL)
				p.picture("document " + document.name)
				if document.name == "agreement" && !on.phone {
					p.datesInOnePiece()
				}
				if on == smallPhone || on == darkDesktop {
					p.accessible(axe)
				}
			})
		}
	}
}

// datesInOnePiece checks that every planned date of an agreement is on one line, and that the table fits the page.
func (p *tab) datesInOnePiece() {
	p.t.Helper()
	const broken = `[...document.querySelectorAll("tbody td:nth-child(2)")].filter(cell => {
		const text = document.createRange();
		text.selectNodeContents(cell);
		return text.getClientRects().length > 1;
	}).map(cell => cell.innerText)`
	if evaluate[bool](p, `document.querySelector("table").offsetWidth > document.querySelector("table").parentElement.clientWidth`) {
		p.t.Errorf("%s: the table is wider than the page's text", p.screen.name)
	}
	for _, date := range evaluate[[]string](p, broken) {
		p.t.Errorf("%s: %q is broken over lines", p.screen.name, date)
	}
}
