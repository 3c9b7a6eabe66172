package full_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
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
