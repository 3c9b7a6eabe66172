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
