package full_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// farBank is a processor whose pages are on an origin of their own: a form with one button, which completes the setup.
type farBank struct {
	ports.Processor
	pages *httptest.Server

	mu   sync.Mutex
	done checkout.Observation
}

// newFarBank starts the pages of a processor.
func newFarBank(t *testing.T) *farBank {
	b := &farBank{done: checkout.Observation{BillingRequest: checkout.BillingPending,
		Mandate: checkout.MandateNone, Authorisation: checkout.CustomerInProgress}}
	b.pages = httptest.NewServer(b)
	t.Cleanup(b.pages.Close)
	return b
}

// serve makes the service use the bank instead of the fake processor.
func (b *farBank) serve(c *service.Config, _ *httpapi.Options) {
	b.Processor, c.Processor = c.Processor, b
}

func (b *farBank) Info() checkout.ProcessorInfo {
	info := b.Processor.Info()
	info.PageOrigins = []string{b.pages.URL}
	return info
}

func (b *farBank) Begin(_ context.Context, start checkout.SetupStart) (checkout.BillingRequest, error) {
	return checkout.BillingRequest{ID: "BRQ-" + start.Key,
		URL: b.pages.URL + "/?back=" + url.QueryEscape(start.ReturnURL)}, nil
}

func (b *farBank) Observe(context.Context, checkout.SetupQuery) (checkout.Observation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done, nil
}

// ServeHTTP shows the bank's page, and leads back once its button is pressed.
func (b *farBank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Method == http.MethodPost {
		b.done = checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission,
			MandateID: "MD-1", Authorisation: checkout.CustomerInProgress, AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00",
			CompletedAt: time.Now()}
		http.Redirect(w, r, r.URL.Query().Get("back"), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'") // as processors have it
	fmt.Fprint(w, `<!doctype html><title>Bank</title><h1>A bank far away</h1><form method="post"><button id="agree">Agree</button></form>`)
}

// A processor's pages refuse to be framed: the form of the framed page that leads there, which every state before the setup has, leaves the
// frame, and the payer comes back to the page in the whole window.
func TestBrowserTheWayToAProcessorLeavesTheFrame(t *testing.T) {
	enrolment := strings.Replace(serveEnrolmentPage(t), "127.0.0.1", "localhost", 1) // another site than the service's
	bank := newFarBank(t)
	s := sandbox.New(t, sandbox.Memory, bank.serve)
	s.Configure(t, strings.Replace(sandbox.Providers, "https://enrol.kowhai.example\"]", enrolment+`"]`, 1))
	created := s.Create(t, "ORDER-1")
	p := newTab(t, startBrowser(t), desktop, true)
	p.open(enrolment + "/#" + setupURL(created))
	p.press("#frame")
	p.must("press "+onward, chromedp.Do(p.frame(), chromedp.Click(chromedp.CSS(onward), chromedp.NodeVisible)))
	p.press("#agree")
	eventually(t, "the payer is back", func() bool { return p.text("h1") == sandbox.DoneTitle })
	if s.Get(t, "KOWHAI", created.CheckoutPath()).At("direct_debit.setup_complete") != true {
		t.Error("the setup is not complete")
	}
}

// frame returns the tab's only frame, which shows a page of another site.
func (p *tab) frame() context.Context {
	p.t.Helper()
	var id target.ID
	await(func() string {
		targets, err := chromedp.Targets(p.ctx)
		p.must("list the frames", err)
		for _, t := range targets {
			if t.Type == "iframe" {
				id = t.TargetID
			}
		}
		return string(id)
	})
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithTargetID(id))
	p.t.Cleanup(cancel)
	return ctx
}

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
	s := sandbox.New(t, sandbox.Memory)
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

// await calls ask until it returns an answer, for as long as anything may take, and returns the answer.
func await(ask func() string) (answer string) {
	for began := time.Now(); answer == "" && testlevel.Elapsed(began) < patience; <-time.After(20 * time.Millisecond) {
		answer = ask()
	}
	return answer
}
