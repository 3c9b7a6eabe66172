package full_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakemailbox"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/money"
)

// serveOn serves the handler for the address of a new server, until the test ends.
func serveOn(t *testing.T, handler func(address string) http.Handler) (address string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	address = "http://" + server.Listener.Addr().String()
	server.Config.Handler = handler(address)
	server.Start()
	t.Cleanup(server.Close)
	return address
}

// The desk of the operator, and the demonstration's mailbox and website, are pages for people too.
func TestBrowserTheDeskAndTheDemonstrationAreAccessibleAndFitEveryScreen(t *testing.T) {
	axe := axeSource(t)
	browser := startBrowser(t)
	var tabs []*tab
	for _, on := range []screen{lightPhone, darkDesktop} {
		tabs = append(tabs, newTab(t, browser, on, true))
	}
	var mailbox *fakemailbox.Mailbox
	mails := serveOn(t, func(address string) http.Handler {
		mailbox = fakemailbox.New(address, slog.New(slog.DiscardHandler))
		return mailbox
	})
	s := sandbox.New(t, sandbox.Memory, func(c *service.Config, _ *httpapi.Options) { c.Notifier = mailbox })
	at := serveOn(t, func(address string) http.Handler {
		h, err := desk.New(desk.Options{Settings: desk.Settings{URL: address}, Store: s.Store, Keyring: s.Config.Keyring, Sandbox: true,
			SetupLifetime: time.Hour, Mails: true, Now: s.Clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return h
	})
	website := serveOn(t, func(address string) http.Handler {
		return fakeprovider.New(fakeprovider.Options{BaseURL: address, API: s.URL, Desk: at, Mailbox: mails + fakemailbox.Path, Key: s.Keys["KOWHAI"],
			Code: "KOWHAI", Offer: fakeprovider.Offer{Provider: "Kōwhai Institute", CourseCode: "NZDIP", CourseName: "Diploma in Business", Price: "$2,990.00",
				Frequency: "Weekly", FirstPayment: money.Date{Year: 2027, Month: time.February, Day: 1}, FirstName: "Aroha", LastName: "Ngata", Email: "aroha@example.nz"}})
	})
	var running sync.WaitGroup
	background := s.Service(t)
	running.Go(func() { background.Run(t.Context()) })
	t.Cleanup(running.Wait)
	open := s.Create(t, "ORDER-1+event_fails")
	agreed := s.Ready(t, "ORDER-2")
	s.Confirm(t, agreed)
	s.Ready(t, "ORDER-3")
	s.SetUp(t, s.Create(t, "A-VERY-LONG-ORDER-"+strings.Repeat("0123456789", 8)))
	cancelled := s.Create(t, "ORDER-4")
	s.Post(t, "KOWHAI", cancelled.CheckoutPath()+"/cancel", `{"reason": "The student chose another course."}`)
	eventually(t, "two setups and the agreement are in the mailbox", func() bool {
		list := sandbox.Fetch(t, mails+fakemailbox.Path).Body
		return strings.Count(list, "your direct debit is set up") >= 2 && strings.Contains(list, ".pdf")
	})
	page := func(created sandbox.Response) string {
		return at + "/checkouts/" + created.String("checkout.checkout_id")
	}
	act := func(button string) func(*tab) {
		return func(p *tab) {
			p.press("details:has([action$='/" + button + "']) > summary")
			p.fill("[action$='/"+button+"'] [name=reason]", "Asked by telephone.")
		}
	}
	for _, of := range []struct {
		name, at, heading string
		then              func(*tab) // what is done on the page
	}{
		{name: "today", at: at + "/", heading: "Today"},
		{name: "found", at: at + "/find?q=ngata", heading: "Find “ngata”"},
		{name: "events that failed", at: at + "/find?trouble=" + string(checkout.TroubleEvents), heading: checkout.TroubleEvents.Words()},
		{name: "open checkout", at: page(open), then: act("cancel")},
		{name: "agreed checkout", at: page(agreed), then: act("withdraw")},
		{name: "cancelled checkout", at: page(cancelled)},
		{name: "providers", at: at + "/providers", heading: "Providers"},
		{name: "provider", at: at + "/providers/KOWHAI", heading: "Kōwhai Institute", then: act("revoke")},
		{name: "no page", at: at + "/nowhere", heading: "There is no such page"},
		{name: "mailbox", at: mails + fakemailbox.Path, heading: "E-mails to payers"},
		{name: "e-mail", at: mails + fakemailbox.Path, heading: "Your payment plan agreement", then: func(p *tab) { p.click("article:has(p a) h2 a") }},
		{name: "website", at: website, heading: "Enrol in Diploma in Business"},
	} {
		t.Run(of.name, func(t *testing.T) {
			for _, p := range tabs {
				p.begin(t)
				p.open(of.at)
				if of.then != nil {
					of.then(p)
				}
				if got := p.text("h1"); of.heading != "" && got != of.heading {
					t.Errorf("the page is %q, want %q", got, of.heading)
				}
				p.picture("desk " + of.name)
				evaluate[int](p, "document.querySelectorAll('details').forEach(d => d.open = true), 0")
				p.isNarrow()
				p.isContent()
				p.accessible(axe)
			}
		})
	}
}
