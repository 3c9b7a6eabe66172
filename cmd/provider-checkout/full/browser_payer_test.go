package full_test

import (
	"context"
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
