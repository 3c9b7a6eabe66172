package full_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// A payer goes from the setup page over GoCardless' pages, which are on an origin of their own, and back.
func TestBrowserAPayerSetsUpADirectDebitAtGoCardless(t *testing.T) {
	browser := startBrowser(t)
	axe := axeSource(t)
	for _, on := range []screen{lightPhone, darkDesktop} {
		for _, script := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, script %v", on.name, script), func(t *testing.T) {
				s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, sandbox.Memory)
				created := s.Create(t, "ORDER-1")
				p := newTab(t, browser, on, script)
				look := func(heading string) {
					t.Helper()
					p.shows(heading)
					p.isNarrow()
					if script {
						p.accessible(axe)
					}
					p.picture("gocardless " + heading)
				}
				p.open(setupURL(created))
				look(sandbox.OpenTitle)
				p.click(onward)
				look("Your details")
				if strings.HasPrefix(evaluate[string](p, "location.href"), s.URL) {
					t.Error("the processor's page is on the service's own origin")
				}
				p.fill(holderField, apiclient.AccountHolder)
				p.fill("#account_number", apiclient.AccountNumber)
				p.click(onward)
				look(sandbox.DoneTitle)
				if got := p.text("main"); !strings.Contains(got, "••••8389") {
					t.Errorf("the page does not name the account:\n%s", got)
				}
				p.isContent()
			})
		}
	}
}

// A payer who leaves GoCardless' page comes back to the setup page, and may go on from there.
func TestBrowserAPayerWhoLeavesGoCardlessMayGoOn(t *testing.T) {
	s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, sandbox.Memory)
	p := newTab(t, startBrowser(t), lightPhone, true)
	p.open(setupURL(s.Create(t, "ORDER-1")))
	p.click(onward)
	p.shows("Your details")
	p.click("form.exit button")
	p.shows(sandbox.OpenTitle)
	p.click(onward)
	p.shows("Your details")
	if got := s.Bank.Statistics(); got.BillingRequests != 1 {
		t.Errorf("%d billing requests, want one", got.BillingRequests)
	}
}

// way is the outcome of a payer's visit at GoCardless.
type way struct {
	name    string
	happen  func(t *testing.T, s *sandbox.Sandbox, page string)
	heading string
	notice  string // "" for no notice
	next    string // heading of the page to which the button leads; "" without a button
}

var ways = []way{
	{"unfinished", func(*testing.T, *sandbox.Sandbox, string) {},
		sandbox.OpenTitle, "Your bank setup is not finished", "Your details"},
	{"not served", func(t *testing.T, s *sandbox.Sandbox, page string) {
		finish(t, s, page, gocardlesstest.Payer{FamilyName: "GEO BLOCKED"})
	}, sandbox.OpenTitle, "Your bank setup is not finished", "This service is not available where you are"},
	{"cancelled", finishAs("SETUP CANCELLED"), sandbox.OpenTitle, "The bank setup was cancelled", "Your details"},
	{"failed", finishAs("SETUP FAILS"), sandbox.OpenTitle, "The bank setup was cancelled", "Your details"},
	{"waiting", finishAs("SETUP WAITS"), "Your direct debit is being set up", "", ""},
	{"mandate failed", finishAs("MANDATE FAILS"), sandbox.OpenTitle, "The bank setup failed", "Your details"},
	{"mandate blocked", finishAs("MANDATE BLOCKED"), sandbox.OpenTitle, "The direct debit was stopped", "Your details"},
	{"GoCardless down", func(t *testing.T, s *sandbox.Sandbox, page string) {
		s.Bank.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Method: http.MethodGet, Path: "/billing_requests/*", Times: 1000})
	}, sandbox.OpenTitle, "We cannot see whether your bank setup is finished", "Your details"},
}

func finish(t *testing.T, s *sandbox.Sandbox, page string, p gocardlesstest.Payer) {
	t.Helper()
	if _, err := s.Bank.Complete(page, p); err != nil {
		t.Fatal(err)
	}
}

// finishAs completes GoCardless' page as an account holder whose name has a fate, and lets it come true.
func finishAs(holder string) func(*testing.T, *sandbox.Sandbox, string) {
	return func(t *testing.T, s *sandbox.Sandbox, page string) {
		finish(t, s, page, gocardlesstest.Payer{Holder: holder})
		s.Clock.Forward(time.Minute)
	}
}

// However the visit at GoCardless ended, the payer reads on coming back what happened, without scrolling and before the
// plan, and may go on, with a script or without.
func TestBrowserAPayerWhoComesBackFromGoCardlessReadsWhatHappened(t *testing.T) {
	axe := axeSource(t)
	browser := startBrowser(t)
	for _, tt := range []struct {
		on     screen
		script bool
	}{{smallPhone, true}, {darkPhone, false}} {
		p := newTab(t, browser, tt.on, tt.script)
		for _, w := range ways {
			t.Run(fmt.Sprintf("%s, %s, script %v", w.name, tt.on.name, tt.script), func(t *testing.T) {
				s := sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, sandbox.Memory)
				created := s.Create(t, "ORDER-1")
				w.happen(t, s, s.ToProcessor(t, created))
				p.begin(t)
				p.open(sandbox.ReturnURL(setupURL(created)))
				p.shows(w.heading)
				p.fits(s.URL)
				if got := p.text(".notice h2"); got != w.notice {
					t.Errorf("the page says %q, want %q", got, w.notice)
				}
				if !p.inView("h1") || w.notice != "" && !p.inView(".notice h2") {
					t.Error("what happened is not to be seen without scrolling")
				}
				if tt.script {
					p.accessible(axe)
				}
				p.picture("way " + w.name)
				s.Bank.Disarm()
				if w.next == "" {
					return
				}
				if skip := `.notice a[href="#go-on"]`; p.text(skip) != "" {
					p.press(skip)
					if !p.inView(onward) {
						t.Error("the link in the notice does not lead to the button")
					}
				}
				p.click(onward)
				p.shows(w.next)
				if strings.HasPrefix(evaluate[string](p, "location.href"), s.URL) {
					t.Error("the button does not lead to GoCardless")
				}
			})
		}
	}
}

// inView reports whether the first element that a CSS selector finds is on the screen.
func (p *tab) inView(selector string) bool {
	p.t.Helper()
	return evaluate[bool](p, `(box => box.top >= 0 && box.bottom <= innerHeight)(document.querySelector('`+selector+`').getBoundingClientRect())`)
}
