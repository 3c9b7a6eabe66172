package full_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

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
