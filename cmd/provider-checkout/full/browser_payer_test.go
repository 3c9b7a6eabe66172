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
	{name: "expired, with e-mail", heading: sandbox.ExpiredTitle, says: []string{"Send me a new link"}, serving: withInbox(nil),
		make: expiredLink},
	{name: "asked for a link", heading: mailedTitle, says: []string{"If we can send a new link", "Kōwhai Institute gave us"}, serving: withInbox(nil),
		make: expiredLink, then: func(p *tab) { p.click(onward) }},
}

// inbox is a notifier that passes on what payers are sent.
type inbox chan checkout.PayerNotice

func (i inbox) Notify(ctx context.Context, n checkout.PayerNotice) (receipt string, err error) {
	select {
	case i <- n:
		return n.ID, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func withInbox(i inbox) []func(*service.Config, *httpapi.Options) {
	return []func(*service.Config, *httpapi.Options){func(c *service.Config, _ *httpapi.Options) { c.Notifier = i }}
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

// An expired link renews itself by e-mail, on every way without a sign of the address.
func TestBrowserAnExpiredLinkIsRenewedByEmail(t *testing.T) {
	browser := startBrowser(t)
	post := make(inbox, 1)
	s := sandbox.New(t, sandbox.Memory, withInbox(post)...)
	background, err := service.New(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); background.Run(ctx) }()
	defer func() { stop(); <-done }()

	old := expiredLink(t, s)
	p := newTab(t, browser, lightPhone, false)
	anonymous := func() {
		t.Helper()
		if shown := evaluate[string](p, "document.documentElement.outerHTML"); strings.Contains(shown, "aroha") || strings.Contains(shown, "Ngata") {
			t.Errorf("the page %q says who the payer is:\n%s", p.text("h1"), shown)
		}
	}
	p.open(old)
	p.shows(sandbox.ExpiredTitle)
	anonymous()
	p.click(onward)
	p.shows(mailedTitle)
	anonymous()
	var sent checkout.PayerNotice
	select {
	case sent = <-post:
	case <-time.After(2 * patience):
		t.Fatal("no e-mail came")
	}
	link := s.URL + sandbox.SetupPagePath
	_, rest, found := strings.Cut(sent.Text, link)
	if !found || !strings.Contains(sent.To.Email, "@") {
		t.Fatalf("the e-mail to %q has no link:\n%s", sent.To.Email, sent.Text)
	}
	link += strings.Fields(rest)[0]
	if link == old {
		t.Error("the new link is the old one")
	}
	p.open(link)
	p.shows(sandbox.OpenTitle)
	p.click(onward)
	p.shows(sandbox.BankTitle)
	p.open(old)
	p.shows(sandbox.ExpiredTitle)
	p.isContent()
}
