package full_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Parts of the pages, as CSS selectors.
const (
	holderField  = "#account_holder_name"
	accountField = "#account_number"
	authorityBox = "#authority_confirmed"
	onward       = "form button"
)

func TestBrowserAPayerSetsUpADirectDebit(t *testing.T) {
	browser := startBrowser(t)
	for _, on := range []screen{lightPhone, darkPhone, desktop, darkDesktop} {
		for _, script := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, script %v", on.name, script), func(t *testing.T) {
				s := sandbox.New(t, sandbox.Memory)
				created := s.Create(t, "ORDER-1")
				p := newTab(t, browser, on, script)
				p.agrees(s, created)
				form := evaluate[string](p, "location.href")
				p.givesAccount(s)
				p.shows(sandbox.DoneTitle)
				if got := p.text("main"); !strings.Contains(got, "01-0902-•••••89-00") {
					t.Errorf("the page does not show which account it is:\n%s", got)
				}
				p.fits(s.URL)
				p.picture("journey done")
				if s.Get(t, "KOWHAI", created.CheckoutPath()).At("direct_debit.setup_complete") != true {
					t.Error("the setup is not complete")
				}
				p.open(form)
				p.shows(sandbox.DoneTitle) // and not the form once more
			})
		}
	}
}

// agrees reads the setup page and its terms, and goes on.
func (p *tab) agrees(s *sandbox.Sandbox, created sandbox.Response) {
	p.t.Helper()
	p.open(created.String("direct_debit.setup_url"))
	p.shows(sandbox.OpenTitle)
	glance := p.text(".card")
	for _, want := range []string{"Diploma in Business", "$200.00 on Monday 1 February 2027",
		"then $53.65 a week until Monday 31 January 2028; the last payment is $53.85.", "$2,990.00 in all."} {
		if !strings.Contains(strings.Join(strings.Fields(glance), " "), want) {
			p.t.Errorf("%s: the summary of the plan does not show %q:\n%s", p.screen.name, want, glance)
		}
	}
	p.fits(s.URL)
	p.must("unfold the dates", chromedp.Do(p.ctx, chromedp.Click(chromedp.CSS("summary")),
		chromedp.WaitVisible(chromedp.CSS("tfoot"))))
	if got := p.text("summary"); got != "Hide all 53 planned payments" {
		p.t.Errorf("%s: the unfolded dates are under %q", p.screen.name, got)
	}
	if rows := evaluate[int](p, "document.querySelectorAll('tbody td.amount').length"); rows != 53 {
		p.t.Errorf("%s: the schedule has %d payments, want 53", p.screen.name, rows)
	}
	p.fits(s.URL)
	p.picture("journey dates")
	p.click("a[href*='/legal']")
	p.shows("Direct debit terms")
	p.click("main a[href*='dd-setup?']")
	p.shows(sandbox.OpenTitle)
	p.click(onward)
	p.shows(sandbox.BankTitle)
}

// givesAccount fills in the bank's form, making every mistake first.
func (p *tab) givesAccount(s *sandbox.Sandbox) {
	p.t.Helper()
	mistakes := func(status int64, want ...string) {
		p.t.Helper()
		got := evaluate[[]string](p, "[...document.querySelectorAll('[role=alert]')].map(e => e.id)")
		if status != 422 || strings.Join(got, " ") != strings.Join(want, " ") {
			p.t.Fatalf("%s: the form answers %d with %q, want 422 with %q", p.screen.name, status, got, want)
		}
		p.fits(s.URL)
	}
	mistakes(p.click(onward), "account_holder_name-error", "account_number-error", "authority_confirmed-error")
	p.picture("journey empty form")

	p.fill(holderField, "Aroha Ngata")
	p.fill(accountField, "01 0902 0068398 00") // two digits swapped
	p.press(authorityBox)
	mistakes(p.click(onward), "account_number-error")
	p.picture("journey wrong number")

	p.fill(accountField, "01 0902 0068389 00")
	if status := p.click(onward); status != 200 {
		p.t.Errorf("%s: the right details lead to a page with status %d", p.screen.name, status)
	}
}

// A payer without a mouse goes from the page to the end by Tab, Space and Enter.
func TestBrowserTheKeyboardIsEnough(t *testing.T) {
	browser := startBrowser(t)
	s := sandbox.New(t, sandbox.Memory)
	created := s.Create(t, "ORDER-1")
	p := newTab(t, browser, desktop, true)
	to := func(selector string) {
		t.Helper()
		for range 20 {
			p.keys(kb.Tab)
			if evaluate[bool](p, "document.activeElement.matches(\""+selector+"\")") {
				if evaluate[string](p, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
					t.Errorf("the focus on %s cannot be seen", selector)
				}
				return
			}
		}
		t.Fatalf("Tab does not lead to %s", selector)
	}
	p.open(created.String("direct_debit.setup_url"))
	to("summary")
	p.keys(kb.Enter)
	if !evaluate[bool](p, "document.querySelector('details').open") {
		t.Error("Enter does not unfold the dates")
	}
	p.open(created.String("direct_debit.setup_url"))
	to(onward)
	p.leads("press Enter", chromedp.KeyEvent(kb.Enter))
	to(holderField)
	p.keys("Aroha Ngata")
	to(accountField)
	p.keys(apiclient.AccountNumber)
	to(authorityBox)
	p.keys(" ")
	to(onward)
	p.leads("press Enter", chromedp.KeyEvent(kb.Enter))
	p.shows(sandbox.DoneTitle)
}

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
