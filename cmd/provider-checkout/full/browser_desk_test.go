package full_test

import (
	"bytes"
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// deskURL finds the desk's address in the guide of a demonstration.
var deskURL = regexp.MustCompile(`by a click\):  (http://127\.0\.0\.1:\d+)/`)

// signIn signs in at the desk of a demonstration, as one of its two people in a role.
func (p *tab) signIn(desk, name, role string) {
	p.t.Helper()
	p.open(desk + "/sign-in")
	p.shows("Sign in")
	p.click(`form:has(input[value="` + name + `"]) button[value="` + role + `"]`)
	p.shows("Today")
}

// does opens a folded form of the page, gives the reason, and sends it.
func (p *tab) does(action, reason string) {
	p.t.Helper()
	form := `form[action="` + action + `"]`
	p.press("details:has(" + form + ") > summary")
	p.fill(form+" input[name=reason]", reason)
	p.click(form + " button")
}

// Support, compliance and an engineer do a day's work at the desk without a script: every page is accessible on every screen, and a
// checkout prints on A4.
func TestBrowserADayAtTheDesk(t *testing.T) {
	axe := axeSource(t)
	browser := startBrowser(t)
	guide := startDemo(t)
	website, desk := openFirst(t, guide), deskURL.FindStringSubmatch(guide)[1]
	p := newTab(t, browser, darkDesktop, false)
	number := p.enrols(website, func(string) {})

	p.click("a[href^='" + desk + "']") // the website leads there
	p.shows("Sign in")
	p.signIn(desk, "Aroha", "support")
	p.open(desk + "/find?q=" + number)
	p.shows("Confirmed")
	at := evaluate[string](p, "location.pathname")
	p.does(at+"/reveal", "ticket 7")
	if got := p.text("dl"); !strings.Contains(got, "@") || strings.Contains(got, "•") {
		t.Errorf("after a reason the page has\n%s", got)
	}
	p.does(at+"/withdraw", "ticket 7")
	p.shows("Approvals")
	asked := regexp.MustCompile(`apr_[-0-9a-f]+`).FindString(evaluate[string](p, "document.body.innerHTML"))

	for _, on := range []screen{smallPhone, largeText, darkPhone, desktop, darkDesktop} {
		p := newTab(t, browser, on, true)
		look := func(path, heading string) {
			t.Helper()
			p.open(desk + path)
			p.shows(heading)
			p.isNarrow()
			p.isContent()
			p.accessible(axe)
			p.picture("desk " + heading)
		}
		look("/sign-in", "Sign in")
		p.signIn(desk, "Ben", "compliance")
		look("/", "Today")
		look("/find", "Find")
		look("/find?provider=KOWHAI", "Checkouts of KOWHAI")
		look(at, "Confirmed")
		look("/providers", "Providers")
		look("/providers/KOWHAI", "Kōwhai Institute")
		look("/providers/KOWHAI/golive", "Steps to production")
		look("/funnel", "Funnel")
		look("/approvals", "Approvals")
		look("/audit", "Audit")
		look("/nowhere", "There is no such page")
		p.signIn(desk, "Aroha", "support")
		look(at, "Confirmed")
		p.signIn(desk, "Ben", "finance")
		look("/months/"+evaluate[string](p, "new Date().toISOString().slice(0, 7)"), "Month "+evaluate[string](p, "new Date().toISOString().slice(0, 7)"))
		p.signIn(desk, "Ben", "engineer")
		look("/providers/KOWHAI", "Kōwhai Institute")
		p.does("/providers/KOWHAI/keys", "ticket 8")
		look(evaluate[string](p, "location.pathname"), "An API key for KOWHAI")
		p.click("main button")
		p.shows("An API key for KOWHAI")
		p.accessible(axe)
		if got := p.text("main"); !strings.Contains(got, "pck_sandbox_") {
			t.Errorf("the page of the handover has\n%s", got)
		}
	}

	p.signIn(desk, "Ben", "compliance")
	p.open(desk + "/approvals")
	p.click(`form[action="/approvals/` + asked + `/approve"] button`)
	p.shows("Approvals")
	p.open(desk + at)
	p.shows("Withdrawn")
	p.printsOnA4(3, number, "Agreement withdrawn")
	p.open(desk + "/audit")
	if got := p.text("main"); !strings.Contains(got, "by Aroha (support), approved by Ben (compliance)") {
		t.Errorf("the log has\n%s", got)
	}
}

// printsOnA4 checks that the page is printed on at most so many sheets, with all of the texts, and without the menu.
func (p *tab) printsOnA4(most int, texts ...string) {
	p.t.Helper()
	p.must("print", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		printed, err := cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: new(true)})
		if err != nil {
			return err
		}
		read := exec.Command("pdftotext", "-layout", "-", "-")
		read.Stdin = bytes.NewReader(printed.Data)
		out, err := read.Output()
		if sheets := bytes.Count(out, []byte("\f")); sheets > most {
			p.t.Errorf("%d sheets, want at most %d", sheets, most)
		}
		for _, text := range texts {
			if !strings.Contains(string(out), text) {
				p.t.Errorf("the print lacks %q:\n%s", text, out)
			}
		}
		if strings.Contains(string(out), "Sign out") {
			p.t.Errorf("the menu is printed:\n%s", out)
		}
		return err
	})))
}
