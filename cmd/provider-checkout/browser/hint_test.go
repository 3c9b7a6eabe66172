package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// enrolmentPage opens or frames the setup page, and writes down what it is told.
const enrolmentPage = `<!doctype html><title>Enrol</title><h1>Enrol</h1>
<button id="open">Pay</button><button id="frame">Pay here</button><ol id="told"></ol>
<script>
const setup = location.hash.slice(1);
document.querySelector("#open").onclick = () => window.open(setup);
document.querySelector("#frame").onclick = () => document.body.append(Object.assign(document.createElement("iframe"), {src: setup}));
addEventListener("message", e => document.querySelector("#told").append(e.origin + " " + JSON.stringify(e.data) + "\n"));
</script>`

// The contract has the message after the bank setup be only a hint (section 4): the window that opened or framed the
// page gets it, without any data.
func TestBrowserTheEnrolmentPageIsToldThatTheSetupChanged(t *testing.T) {
	enrolment := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(enrolmentPage))
	}))
	defer enrolment.Close()
	origin := strings.Replace(enrolment.URL, "127.0.0.1", "localhost", 1)
	s := sandbox.New(t, memory.New())
	s.Configure(t, strings.Replace(sandbox.Providers, "https://enrol.kowhai.example\"]", origin+`"]`, 1))
	setup := setupURL(s.Ready(t, "ORDER-1"))
	want := s.URL + ` {"source":"provider-checkout","type":"setup_changed"}`
	browser := startBrowser(t)

	for _, button := range []string{"#open", "#frame"} {
		t.Run(button, func(t *testing.T) {
			p := newTab(t, browser, desktop, true)
			p.open(origin + "/#" + setup)
			p.press(button)
			if got := p.told(); got != want {
				t.Errorf("the page is told %q, want %q", got, want)
			}
		})
		t.Run(button+" of a stranger", func(t *testing.T) {
			p := newTab(t, browser, desktop, true)
			p.open(enrolment.URL + "/#" + setup) // 127.0.0.1 is another origin than localhost
			p.press(button)
			// Nobody can tell a stranger that the setup page is loaded: a second is many times what that takes.
			evaluate[int](p, `new Promise(done => setTimeout(done, 1000)).then(() => (postMessage("last", "*"), 0))`)
			if got := p.told(); got != enrolment.URL+` "last"` {
				t.Errorf("a stranger's page is told %q", got)
			}
		})
	}
}

// press clicks on what leads to no other page.
func (p *tab) press(selector string) {
	p.t.Helper()
	p.must("press "+selector, chromedp.Do(p.ctx, chromedp.Click(chromedp.CSS(selector))))
}

// told returns the messages that the page was sent, once there are any.
func (p *tab) told() (messages string) {
	p.t.Helper()
	for range 250 {
		if messages = strings.TrimSpace(p.text("#told")); messages != "" {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	return messages
}
