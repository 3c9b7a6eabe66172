package full_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/agreementpage"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/money"
)

// The documents that are read rather than filled in: the API reference, and an agreement as a page.
func TestBrowserEveryDocumentIsAccessibleAndFitsEveryScreen(t *testing.T) {
	axe := axeSource(t)
	s := sandbox.New(t, memory.New())
	created := s.Ready(t, "ORDER-1")
	confirmed := s.Confirm(t, created)
	agreed, err := s.Store.Agreement(t.Context(), confirmed.String("agreement.number"))
	if err != nil {
		t.Fatal(err)
	}
	agreed.Plan.First = money.Date{Year: 2027, Month: time.February, Day: 3} // Wednesday has the longest dates
	agreed.Schedule = money.Schedule(agreed.Pricing.Upfront, agreed.Plan)
	documents := []struct{ name, at, heading string }{
		{"reference", s.URL + "/docs", "Provider Checkout: the API"},
		{"agreement", serveAgreement(t, agreed), "Payment Plan Agreement"},
	}
	browser := startBrowser(t)
	for _, document := range documents {
		for _, on := range []screen{smallPhone, darkPhone, zoomedDesktop, darkDesktop} {
			t.Run(document.name+", "+on.name, func(t *testing.T) {
				p := newTab(t, browser, on, true)
				p.open(document.at)
				p.shows(document.heading)
				evaluate[int](p, "document.querySelectorAll('details').forEach(d => d.open = true), 0")
				p.fits(strings.TrimSuffix(document.at, "/docs"))
				p.picture("document " + document.name)
				if document.name == "agreement" && on != smallPhone {
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

// serveAgreement shows an agreement as an embedder does, and returns its address.
func serveAgreement(t *testing.T, a agreement.Agreement) string {
	t.Helper()
	pages, err := agreementpage.New()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", agreementpage.Policy())
		if err := pages.Write(w, a); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// visible is whether the element that a CSS selector finds takes up room.
func (p *tab) visible(selector string) bool {
	p.t.Helper()
	return evaluate[bool](p, "document.querySelector('"+selector+"').checkVisibility()")
}

// The API's reference is used on a phone and on a desktop, without its script and with it.
func TestBrowserReferenceIsReadWithoutAScriptAndCopiedFromWithOne(t *testing.T) {
	s := sandbox.New(t, memory.New())
	browser := startBrowser(t)
	const python, curl = "#createCheckout-Python ~ div:nth-of-type(4)", "#createCheckout-Python ~ div:nth-of-type(1)"
	for _, use := range []struct {
		on     screen
		script bool
	}{{phone, false}, {phone, true}, {largeText, true}, {desktop, false}, {desktop, true}} {
		on, script := use.on, use.script
		p := newTab(t, browser, on, script)
		p.open(s.URL + "/docs")
		if bottom := evaluate[float64](p, `document.querySelector("pre").getBoundingClientRect().bottom`); on.text == 0 && bottom > float64(on.height) ||
			!strings.Contains(p.text("pre"), "curl") {
			t.Errorf("%s: the first request %q ends at %v", on.name, p.text("pre"), bottom)
		}
		if p.visible("nav") == on.phone {
			t.Errorf("%s: the contents are in the way, or not there", on.name)
		}
		if on.phone {
			p.press("header .menu a")
			if !p.visible("nav") {
				t.Fatalf("%s: the contents do not open", on.name)
			}
		}
		p.press(`nav a[href="#sandbox"]`)
		if top := evaluate[float64](p, `document.querySelector("#sandbox").getBoundingClientRect().top`); top < 0 || top > 300 {
			t.Errorf("%s: a link of the contents leads to where its heading is at %v", on.name, top)
		}
		if covered := on.phone && (p.visible("nav") || evaluate[bool](p,
			`document.querySelector("#sandbox").getBoundingClientRect().top < document.querySelector("header .menu").getBoundingClientRect().bottom`)); covered {
			t.Errorf("%s: the contents cover where they lead to", on.name)
		}
		p.press("label[for=createCheckout-Python]")
		if !p.visible(python) || p.visible(curl) {
			t.Errorf("%s: the code is not the one of the chosen language", on.name)
		}
		if script {
			p.copies()
		}
		p.fits(s.URL)
	}
}

// copies checks what the page has with its script: one choice of a language for all code, and buttons that copy.
func (p *tab) copies() {
	p.t.Helper()
	if !evaluate[bool](p, `document.querySelector("#confirmCheckout-Python").checked`) {
		p.t.Errorf("%s: the choice of a language is not one for all", p.screen.name)
	}
	evaluate[int](p, `navigator.clipboard.writeText = async text => { window.copied = text }, 0`)
	p.press(".copied button")
	if said := await(func() string { return p.text(".said") }); said != "Copied" {
		p.t.Errorf("%s: the page says %q of a copy", p.screen.name, said)
	}
	if got := evaluate[string](p, "window.copied"); !strings.HasPrefix(got, "BASE=") || !strings.HasSuffix(got, `/v1/environment"`) {
		p.t.Errorf("%s: what is copied is %q", p.screen.name, got)
	}
}
