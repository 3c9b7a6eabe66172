package main

import (
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// pageState is a page in a state that a payer may meet it in.
type pageState struct {
	name    string
	heading string
	says    []string                                   // what happened, and what to do next
	serving []func(*service.Config, *httpapi.Options)  // how the page is served, where that is special
	make    func(t *testing.T, s *sandbox) (at string) // brings the page about
	then    func(p *tab)                               // what is done on it; nil for nothing
}

var pageStates = []pageState{
	{name: "open", heading: openTitle, says: []string{"Kōwhai Institute", "$2,990.00"},
		make: func(t *testing.T, s *sandbox) string { return setupURL(s.create(t, "ORDER-1")) }},
	{name: "open, without colour, origins and addresses", heading: openTitle, says: []string{"close this page", "Ask Tūī Trades Academy"},
		make: func(t *testing.T, s *sandbox) string {
			return setupURL(s.post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-1")))
		}},
	{name: "open, with a lender and a short notice", heading: openTitle, serving: withTerms,
		says: []string{"Lender: Pūtea Limited", "2 calendar days after that (10 are usual)", "sooner than 2 calendar days"},
		make: func(t *testing.T, s *sandbox) string {
			s.configure(t, noticeOf("2"))
			return setupURL(s.create(t, "ORDER-1"))
		}},
	{name: "open, with the longest dates", heading: openTitle, says: []string{"Wednesday 22 September 2027"},
		make: func(t *testing.T, s *sandbox) string {
			return setupURL(s.post(t, "TUI", "/v1/provider-checkouts",
				set(t, order(legacyCreate, "ORDER-1"), "plan.first_payment_date", `"2027-09-22"`)))
		}},
	{name: "terms of both", heading: "Direct debit and payment plan terms", serving: withTerms,
		says: []string{"you accept the direct debit terms", "The lender is Pūtea Limited"},
		make: func(t *testing.T, s *sandbox) string {
			return strings.Replace(setupURL(s.create(t, "ORDER-1")), "?", "/legal?", 1)
		}},
	{name: "open, with a logo", heading: openTitle, says: []string{"$2,990.00"},
		make: func(t *testing.T, s *sandbox) string {
			s.configure(t, strings.Replace(providers, `"display_name"`, `"logo_url": "`+logo(t)+`", "display_name"`, 1))
			return setupURL(s.create(t, "ORDER-1"))
		},
		then: func(p *tab) {
			if width := evaluate[int](p, "document.querySelector('img.badge').naturalWidth"); width != 64 {
				p.t.Errorf("%s: the logo is %d pixels wide, want 64", p.screen.name, width)
			}
		}},
	{name: "terms", heading: "Direct debit terms", says: []string{"120 days", "gave us"},
		make: func(t *testing.T, s *sandbox) string {
			return strings.Replace(setupURL(s.create(t, "ORDER-1")), "?", "/legal?", 1)
		}},
	{name: "superseded", heading: openTitle, says: []string{"newer link", "you can go on here"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.clock.forward(6*24*time.Hour + time.Hour)
			s.replayed(t, "ORDER-1")
			return setupURL(created)
		}},
	{name: "expired", heading: expiredTitle, says: []string{"nothing was collected", "start the payment setup again"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.clock.forward(8 * 24 * time.Hour)
			return setupURL(created)
		}},
	{name: "expired and superseded", heading: expiredTitle, says: []string{"newer link", "Use that"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.clock.forward(8 * 24 * time.Hour)
			s.replayed(t, "ORDER-1")
			return setupURL(created)
		}},
	{name: "mandate failed", heading: openTitle, says: []string{"The bank setup failed", "set it up again"},
		make: func(t *testing.T, s *sandbox) string { return died(t, s, checkout.MandateFailed) }},
	{name: "mandate cancelled", heading: openTitle, says: []string{"The direct debit was cancelled", "set it up again"},
		make: func(t *testing.T, s *sandbox) string { return died(t, s, checkout.MandateCancelled) }},
	{name: "mandate expired", heading: openTitle, says: []string{"The direct debit has ended", "set it up again"},
		make: func(t *testing.T, s *sandbox) string { return died(t, s, checkout.MandateExpired) }},
	{name: "setup cancelled", heading: openTitle, says: []string{"The bank setup was cancelled", "start it again"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.toBank(t, created)
			alter(t, s, created, func(setup *checkout.Setup) { setup.BillingRequest = checkout.BillingCancelled })
			return setupURL(created)
		}},
	{name: "terms changed", heading: openTitle, says: []string{"The terms have changed", "read them again"},
		make: func(t *testing.T, s *sandbox) string { return setupURL(s.create(t, "ORDER-1")) },
		then: func(p *tab) {
			evaluate[string](p, `document.querySelector("[name=terms]").value = "2026-01-01/10"`) // a page of long ago
			p.click(onward)
		}},
	{name: "done", heading: doneTitle, says: []string{"Set up on", "What happens next", "Nothing has been collected"},
		make: func(t *testing.T, s *sandbox) string { return setupURL(s.ready(t, "ORDER-1")) }},
	{name: "confirmed", heading: doneTitle, says: []string{"is confirmed", "nothing more to do", "number PPA-", "Go back to Kōwhai Institute"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.ready(t, "ORDER-1")
			s.confirm(t, created)
			return setupURL(created)
		}},
	{name: "provider switched off", heading: disabledTitle, says: []string{"Nothing was collected", "Ask Kōwhai Institute", "Go back to Kōwhai Institute"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.configure(t, strings.Replace(providers, `"active": true`, `"active": false`, 1))
			return setupURL(created)
		}},
	{name: "unknown", heading: unknownTitle, says: []string{"ask your education provider"},
		make: func(_ *testing.T, s *sandbox) string { return s.url + setupPagePath + "?token=unknown" }},
	{name: "failed", heading: "Something went wrong", says: []string{"Nothing is lost", "reference", "Try again"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.store.(*brokenStore).broken = errors.New("disk is gone")
			return setupURL(created)
		}},
	{name: "busy", heading: "We are busy just now", says: []string{"Nothing is lost", "try again", "Try again"},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.store.(*brokenStore).broken = ports.ErrBusy
			return setupURL(created)
		}},
	{name: "too many", heading: "Too many requests", says: []string{"try again", "Try again"},
		serving: []func(*service.Config, *httpapi.Options){func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.001 }},
		make: func(t *testing.T, s *sandbox) string {
			created := s.create(t, "ORDER-1")
			s.visit(t, setupURL(created))
			return setupURL(created)
		}},
	{name: "bank form", heading: bankTitle, says: []string{"Account number"},
		make: func(t *testing.T, s *sandbox) string { return s.toBank(t, s.create(t, "ORDER-1")) }},
	{name: "bank form with every mistake", heading: bankTitle, says: []string{"Enter the account number."},
		make: func(t *testing.T, s *sandbox) string { return s.toBank(t, s.create(t, "ORDER-1")) },
		then: func(p *tab) { p.click(onward) }},
	{name: "bank form with a wrong number", heading: bankTitle, says: []string{"one of its digits is wrong", "The bank is ANZ."},
		make: func(t *testing.T, s *sandbox) string { return s.toBank(t, s.create(t, "ORDER-1")) },
		then: func(p *tab) {
			p.fill(holderField, "Mārama Tūhoe & Sons")
			p.fill(accountField, "01 0902 0068398 00")
			p.click(onward)
		}},
}

// withTerms has an operator with terms of its own.
var withTerms = []func(*service.Config, *httpapi.Options){func(c *service.Config, _ *httpapi.Options) {
	c.Terms = agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington 6011", Registration: "FSP000001"},
		Blocks: []agreement.Block{
			{Title: "Right to cancel", Text: "The payer can cancel the plan within 5 working days of this agreement."},
			{Title: "Hardship", Text: "A payer who cannot pay can ask the lender for a change of the plan."},
		},
	}
}}

// logo returns a picture as a data URL.
func logo(t *testing.T) string {
	t.Helper()
	picture := image.NewPaletted(image.Rect(0, 0, 64, 64), color.Palette{color.White, color.RGBA{R: 200, G: 60, B: 40, A: 255}})
	for at := range picture.Pix {
		if x, y := at%64-32, at/64-32; x*x+y*y < 24*24 {
			picture.Pix[at] = 1
		}
	}
	var text strings.Builder
	text.WriteString("data:image/png;base64,")
	encoder := base64.NewEncoder(base64.StdEncoding, &text)
	if err := errors.Join(png.Encode(encoder, picture), encoder.Close()); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// brokenStore is a store that can be made to lose its checkouts.
type brokenStore struct {
	*memory.Store
	broken error
}

func (s *brokenStore) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	if s.broken != nil {
		return checkout.Checkout{}, s.broken
	}
	return s.Store.Checkout(ctx, id)
}

func setupURL(created response) string { return created.string("direct_debit.setup_url") }

// alter changes the bank setup of a checkout on record, as a processor's word would.
func alter(t *testing.T, s *sandbox, created response, change func(*checkout.Setup)) {
	t.Helper()
	err := s.store.UpdateCheckout(t.Context(), created.string("checkout.checkout_id"), ports.Queued{},
		func(c checkout.Checkout) (checkout.Change, error) {
			change(&c.Setup)
			return checkout.Change{Next: c}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

// died returns the page of a setup that was done and whose mandate came to nothing.
func died(t *testing.T, s *sandbox, status checkout.MandateStatus) string {
	t.Helper()
	created := s.ready(t, "ORDER-1")
	alter(t, s, created, func(setup *checkout.Setup) { setup.Mandate = status })
	return setupURL(created)
}

// onEveryPage brings every page about and looks at it on the screens.
func onEveryPage(t *testing.T, screens []screen, look func(p *tab, s *sandbox, state pageState)) {
	browser := startBrowser(t)
	var tabs []*tab
	for _, on := range screens {
		tabs = append(tabs, newTab(t, browser, on, true))
	}
	for _, state := range pageStates {
		t.Run(state.name, func(t *testing.T) {
			s := newSandbox(t, &brokenStore{Store: memory.New()}, state.serving...)
			at := state.make(t, s)
			for _, p := range tabs {
				p.begin(t)
				p.open(at)
				if state.then != nil {
					state.then(p)
				}
				p.shows(state.heading)
				look(p, s, state)
			}
		})
	}
}

func TestBrowserEveryPageSaysWhatHappenedAndFitsEveryScreen(t *testing.T) {
	screens := []screen{smallPhone, darkPhone, zoomedDesktop, darkDesktop}
	onEveryPage(t, screens, func(p *tab, s *sandbox, state pageState) {
		got := p.text("main")
		for _, want := range state.says {
			if !strings.Contains(got, want) {
				p.t.Errorf("%s: the page does not say %q:\n%s", p.screen.name, want, got)
			}
		}
		p.fits(s.url)
		p.picture(state.name)
		evaluate[int](p, "document.querySelectorAll('details').forEach(d => d.open = true), 0")
		p.fits(s.url)
	})
}

func TestBrowserEveryPageIsAccessible(t *testing.T) {
	axe := axeSource(t)
	onEveryPage(t, []screen{smallPhone, darkDesktop}, func(p *tab, _ *sandbox, _ pageState) {
		evaluate[int](p, "document.querySelectorAll('details').forEach(d => d.open = true), 0")
		p.accessible(axe)
	})
}

// A page and all that it is made of stay under 30 KB, as a browser fetches them.
func TestBrowserPagesAreSmall(t *testing.T) {
	s := newSandbox(t, memory.New())
	created := s.create(t, "ORDER-1")
	form := s.toBank(t, created)
	long := set(t, order(legacyCreate, "ORDER-2"), "plan.number_of_instalments", "260")
	for field, value := range map[string]string{"plan.instalment_amount": "3.85", "plan.final_instalment_amount": "2.85"} {
		long = set(t, long, field, value)
	}
	weeks := s.post(t, "TUI", "/v1/provider-checkouts", long)
	if weeks.status != http.StatusCreated {
		t.Fatalf("create: %d %s", weeks.status, weeks.text)
	}
	pages := map[string]string{"52 weeks": setupURL(created), "260 weeks": setupURL(weeks), "bank form": form,
		"done": setupURL(s.ready(t, "ORDER-3"))}
	for name, address := range pages {
		page := s.visit(t, address)
		sum := s.weight(t, address)
		for _, e := range elements(t, page) {
			if file := e.attr["src"] + map[string]string{"link": e.attr["href"]}[e.name]; file != "" {
				sum += s.weight(t, file)
			}
		}
		if sum > 30_000 {
			t.Errorf("page %s and what it is made of are %d bytes, want at most 30,000", name, sum)
		}
		t.Logf("page %s and what it is made of: %d bytes", name, sum)
	}
}

// weight returns how many bytes come over the line for an address.
func (s *sandbox) weight(t *testing.T, address string) int {
	t.Helper()
	return len(s.visit(t, address, "Accept-Encoding", "gzip").text) // asked for by hand, it stays packed
}
