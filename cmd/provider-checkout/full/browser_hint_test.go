package full_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// enrolmentPage opens or frames the setup page, and records the messages that it receives.
const enrolmentPage = `<!doctype html><title>Enrol</title><h1>Enrol</h1>
<button id="open">Pay</button><button id="frame">Pay here</button><ol id="received"></ol>
<script>
const setup = location.hash.slice(1);
document.querySelector("#open").onclick = () => window.open(setup);
document.querySelector("#frame").onclick = () => document.body.append(Object.assign(document.createElement("iframe"), {src: setup}));
addEventListener("message", e => document.querySelector("#received").append(e.origin + " " + JSON.stringify(e.data) + "\n"));
</script>`

// By the contract the message after the bank setup is only a hint (section 4): the window that opened or framed the
// page gets it, without any data.
func TestBrowserTheEnrolmentPageIsNotifiedOfTheSetup(t *testing.T) {
	stranger := serveEnrolmentPage(t)
	origin := strings.Replace(stranger, "127.0.0.1", "localhost", 1) // which is another origin
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
			if got := p.received(); got != want {
				t.Errorf("the page received %q, want %q", got, want)
			}
		})
		t.Run(button+" of a stranger", func(t *testing.T) {
			p := newTab(t, browser, desktop, true)
			p.open(stranger + "/#" + setup)
			p.press(button)
			// Another origin's page never gets a message that the setup page is loaded. A second is long enough to wait.
			evaluate[int](p, `new Promise(done => setTimeout(done, 1000)).then(() => (postMessage("last", "*"), 0))`)
			if got := p.received(); got != stranger+` "last"` {
				t.Errorf("another origin's page received %q", got)
			}
		})
	}
}

// serveEnrolmentPage serves the enrolment page and returns its origin.
func serveEnrolmentPage(t *testing.T) (origin string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(enrolmentPage))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// press clicks on an element that leads to no other page.
func (p *tab) press(selector string) {
	p.t.Helper()
	p.must("press "+selector, chromedp.Do(p.ctx, chromedp.Click(chromedp.CSS(selector))))
}

// received returns the messages that the page was sent, once there are any.
func (p *tab) received() string {
	p.t.Helper()
	return await(func() string { return strings.TrimSpace(p.text("#received")) })
}

// await calls ask until it returns an answer, for at most five seconds, and returns the answer.
func await(ask func() string) (answer string) {
	for range 250 {
		if answer = ask(); answer != "" {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	return answer
}
