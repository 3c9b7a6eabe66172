package full_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// A newcomer opens the address that the demonstration prints first, and clicks on until there is an agreement.
func TestBrowserTheDemonstrationLeadsToAnAgreement(t *testing.T) {
	axe := axeSource(t)
	browser := startBrowser(t)
	website := openFirst(t, startDemo(t))
	for _, on := range []screen{smallPhone, darkDesktop} { // without a script a test over HTTP goes the same way
		p := newTab(t, browser, on, true)
		look := func(name string) {
			p.isNarrow()
			if !strings.Contains(p.text("header"), "make-believe") {
				t.Errorf("%s: the page %q is not marked as make-believe", on.name, name)
			}
			p.accessible(axe)
			p.picture("demonstration " + name)
		}
		p.open(website + "returned")
		p.shows("Back at the provider")
		look("returned")
		number := p.enrols(website, look)
		for _, want := range []string{"checkout.created", "checkout.confirmed", "agreement.generated"} {
			if got := p.text("#events"); !strings.Contains(got, want) {
				t.Errorf("%s: %s is not among the events:\n%s", on.name, want, got)
			}
		}
		p.click("#agreement-link")
		p.shows(sandbox.ConfirmedTitle) // where the payer reads that the enrolment is confirmed
		if got := p.text("main"); !strings.Contains(got, number) {
			t.Errorf("%s: the payer's page does not have agreement %s:\n%s", on.name, number, got)
		}
		p.isContent()
		p.open(website)
		p.click("a.button") // see the enrolment
		p.click(onward)     // enrol again
		p.shows("Enrol in Diploma in Business (Pakihi)")
	}
}

// enrols goes from the course page to the agreement number, and calls look on each page of the website. It returns the
// number.
func (p *tab) enrols(website string, look func(name string)) (number string) {
	p.t.Helper()
	p.open(website)
	p.shows("Enrol in Diploma in Business (Pakihi)")
	look("course")
	p.click(onward)
	p.shows(sandbox.OpenTitle)
	p.click(onward)
	p.shows(sandbox.BankTitle)
	p.fill(holderField, apiclient.AccountHolder)
	p.fill(accountField, apiclient.AccountNumber)
	p.press(authorityBox)
	p.click(onward)
	p.shows(sandbox.DoneTitle)
	p.click("a.button[href^='" + website + "']")
	p.shows("Confirm your enrolment")
	look("declare")
	if status := p.click(onward); status != 422 || p.focus() != "deposit_confirmed" {
		p.t.Errorf("%s: without declarations the form answers %d, with the focus on %q", p.screen.name, status, p.focus())
	}
	look("declarations missing")
	for _, box := range []string{"deposit_confirmed", "payment_plan_accepted", "information_confirmed", "privacy_consent_accepted"} {
		p.press("#" + box)
	}
	p.click(onward)
	p.shows("You are enrolled")
	look("enrolled")
	number = strings.TrimSuffix(p.text("#agreement"), ".")
	if !strings.HasPrefix(number, "PPA-") {
		p.t.Errorf("%s: the agreement's number is %q", p.screen.name, number)
	}
	return number
}

// startDemo starts a demonstration and returns the guide that it prints.
func startDemo(t *testing.T) (guide string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	out, in := io.Pipe()
	cfg := demo.Config{
		Listener: ln,
		Site: site.Config{AllowPrivate: true, SetupLifetime: 7 * 24 * time.Hour,
			Service: service.Config{Environment: catalogue.Sandbox, BaseURL: "http://" + ln.Addr().String()}},
		Providers: readFile(t, "../demo.json"), Terms: readFile(t, "../demo-terms.json"),
		Stdout: in, Stderr: os.Stderr,
	}
	ended := make(chan error, 1)
	go func() {
		err := demo.Run(ctx, cfg)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("demonstrate: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	guide = proc.ReadUntil(lines, "# The events")
	go func() {
		for lines.Scan() { // what is printed later is not read
		}
	}()
	return guide
}

// openFirst returns the address that the guide says to open first.
func openFirst(t *testing.T, guide string) string {
	t.Helper()
	_, rest, _ := strings.Cut(guide, "Open this first:")
	words := strings.Fields(rest)
	if len(words) == 0 || !strings.HasPrefix(words[0], "http://localhost:") {
		t.Fatalf("there is no address to open first in\n%s", guide)
	}
	return words[0]
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
