package full_test

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// sizes are a small, a narrow and a usual phone and a desktop, each by day and by night.
func sizes() (screens []screen) {
	for _, size := range []screen{smallPhone, {"phone of 360 by 640 pixels", 360, 640, 1, true, "light", 0}, lightPhone, desktop} {
		for _, scheme := range []string{"light", "dark"} {
			size.name, size.scheme = strings.TrimSuffix(size.name, ", light")+", "+scheme, scheme
			screens = append(screens, size)
			size.name = strings.TrimSuffix(size.name, ", "+scheme)
		}
	}
	return screens
}

// A payer reads on the first screen what is paid and when, and finds there the way on.
func TestBrowserTheSetupPageIsReadAtAGlance(t *testing.T) {
	axe := axeSource(t)
	browser := startBrowser(t)
	named := strings.Replace(sandbox.Providers, `"display_name"`, `"logo_url": "`+logo(t)+`", "display_name"`, 1)
	for _, kind := range []struct {
		name      string
		serving   []func(*service.Config, *httpapi.Options)
		providers string
		most      map[int64]float64 // the bottom of the button by the width of the screen
	}{
		{"a plan of 52 weeks", nil, sandbox.Providers, map[int64]float64{360: 640, 390: 844, 1280: 800}},
		{"with a logo, a lender and a default fee", withTerms, named, map[int64]float64{390: 844, 1280: 800}},
	} {
		s := sandbox.New(t, sandbox.Memory, kind.serving...)
		s.Configure(t, kind.providers)
		address := setupURL(s.Create(t, "ORDER-1"))
		for _, on := range sizes() {
			p := newTab(t, browser, on, true)
			p.open(address)
			p.shows(sandbox.OpenTitle)
			bottom := evaluate[float64](p, `document.querySelector("`+onward+`").getBoundingClientRect().bottom`)
			if most, bound := kind.most[on.width]; bound && bottom > most {
				t.Errorf("%s, %s: the button ends at %.0f pixels, want at most %.0f", kind.name, on.name, bottom, most)
			}
			t.Logf("%s, %s: the button ends at %.0f pixels of %d", kind.name, on.name, bottom, on.height)
			p.fits(s.URL)
			p.picture("glance " + kind.name)
			p.accessible(axe)
		}
	}
}

// The next person at the same device finds no account number by going back, whether the browser has the pages in its
// memory or asks for them again.
func TestBrowserTheAccountNumberIsGoneOnTheWayBack(t *testing.T) {
	browser := startBrowser(t)
	for _, tt := range []struct {
		name string
		send func(p *tab)
	}{
		{"by the button", func(p *tab) { p.click(onward) }},
		{"at once, as a script of a test does", func(p *tab) {
			evaluate[int](p, "(setTimeout(() => document.forms[0].requestSubmit()), 0)")
			await(func() string { return p.text(".success") })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sandbox.New(t, sandbox.Memory)
			p := newTab(t, browser, lightPhone, true)
			p.open(s.ToBank(t, s.Create(t, "ORDER-1")))
			p.fill(holderField, apiclient.AccountHolder)
			p.fill(accountField, apiclient.AccountNumber)
			p.press(authorityBox)
			tt.send(p)
			p.shows(sandbox.DoneTitle)
			evaluate[int](p, "(window.isLeft = true, setTimeout(() => history.back()), 0)")
			await(func() string { // the page may lead on
				return evaluate[string](p, `!window.isLeft && document.querySelector(".success")?.innerText || ""`)
			})
			const shown = `(document.body ? document.body.innerText : "") + [...document.querySelectorAll("input")].map(input => input.value).join(" ")`
			if got := evaluate[string](p, shown); strings.Contains(strings.ReplaceAll(got, "-", ""), "0068389") {
				t.Errorf("the page %q shows the account number:\n%s", p.text("h1"), got)
			}
			p.shows(sandbox.DoneTitle)
		})
	}
}

// A browser that keeps no pages in its memory asks for a form with mistakes by its address, and does not offer to send it again.
func TestBrowserTheWayBackToAFormWithMistakes(t *testing.T) {
	s := sandbox.New(t, sandbox.Memory)
	p := newTab(t, startBrowser(t, chromedp.Flag("disable-back-forward-cache", true)), lightPhone, true)
	p.open(s.ToBank(t, s.Create(t, "ORDER-1")))
	p.click(onward)
	p.click("main a") // back to the plan, past the mistakes
	p.shows(sandbox.OpenTitle)
	p.leads("go back", chromedp.NavigateBack())
	p.shows(sandbox.BankTitle)
	p.fill(holderField, apiclient.AccountHolder)
	p.fill(accountField, apiclient.AccountNumber)
	p.press(authorityBox)
	s.Clock.Forward(time.Minute) // a payer types for longer than an answer of the processor is kept
	p.click(onward)
	p.shows(sandbox.DoneTitle)
	p.leads("go back", chromedp.NavigateBack())
	p.shows(sandbox.DoneTitle)
}

// Such a browser asks for an answer to a form of the setup page by the address of the page.
func TestBrowserTheWayBackToAnAnswerOfTheSetupPage(t *testing.T) {
	s := sandbox.New(t, sandbox.Memory)
	p := newTab(t, startBrowser(t, chromedp.Flag("disable-back-forward-cache", true)), lightPhone, true)
	back := func(status int64, answer string) {
		t.Helper()
		if got := p.click(onward); got != status {
			t.Fatalf("the answer is %d, want %d", got, status)
		}
		p.shows(answer)
		p.open(s.URL + hostedpages.Prefix + "/privacy")
		p.leads("go back", chromedp.NavigateBack())
		p.shows(answer)
	}
	p.open(setupURL(s.Create(t, "ORDER-1")))
	evaluate[string](p, `document.querySelector("[name=terms]").value = "others"`)
	back(http.StatusConflict, sandbox.OpenTitle)
	s.Clock.Forward(8 * 24 * time.Hour)
	back(http.StatusGone, "This link has expired")
}

// What is folded on the screen is on paper, without a script too.
func TestBrowserAPrintHoldsWhatIsFolded(t *testing.T) {
	browser := startBrowser(t)
	s := sandbox.New(t, sandbox.Memory)
	created := s.Create(t, "ORDER-1")
	for _, script := range []bool{true, false} {
		p := newTab(t, browser, darkPhone, script)
		p.open(setupURL(created))
		const folded = `[...document.querySelectorAll("details > :not(summary)")].filter(part => !part.checkVisibility()).length`
		if n := evaluate[int](p, folded); n == 0 {
			t.Fatal("nothing is folded on the screen")
		}
		p.must("print", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
			return err
		})))
		if n := evaluate[int](p, folded); n != 0 {
			t.Errorf("%d parts are still folded in print", n)
		}
		if paper := evaluate[string](p, "getComputedStyle(document.body).backgroundColor"); paper != "rgb(255, 255, 255)" {
			t.Errorf("the paper is %s", paper)
		}
	}
}

// The total stands where the payments end, and not at the foot of each page, where it would seem to be the sum of that page.
func TestBrowserAPrintHasEachTotalOnce(t *testing.T) {
	s := sandbox.New(t, sandbox.Memory)
	created := s.Create(t, "ORDER-1")
	p := newTab(t, startBrowser(t), desktop, false)
	total := regexp.MustCompile(`(?m)^ *Total to pay +\$2,990\.00$`)
	prints := func(name, address string, totals, most int) {
		t.Helper()
		p.open(address)
		var text string
		p.must("print", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			printed, err := cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69})
			if err != nil {
				return err
			}
			read := exec.Command("pdftotext", "-layout", "-", "-")
			read.Stdin = bytes.NewReader(printed.Data)
			out, err := read.Output()
			text = string(out)
			return err
		})))
		pages := strings.Count(text, "\f")
		if got := len(total.FindAllString(text, -1)); got != totals || pages > most {
			t.Errorf("%s has %d totals on %d pages, want %d on at most %d:\n%s", name, got, pages, totals, most, text)
		}
	}
	prints("the setup page", setupURL(created), 1, 3)
	s.SetUp(t, created)
	prints("the page when done", setupURL(created), 1, 3)
	s.Confirm(t, created)
	prints("the agreement", strings.Replace(setupURL(created), "?", "/agreement?", 1), 1, 6)
}
