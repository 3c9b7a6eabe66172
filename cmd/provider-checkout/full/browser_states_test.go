package full_test

import (
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// pageState is a page in a state that a payer may see.
type pageState struct {
	name    string
	heading string
	says    []string                                           // texts: what happened, and what to do next
	serving []func(*service.Config, *httpapi.Options)          // how the page is served, where that is special
	make    func(t *testing.T, s *sandbox.Sandbox) (at string) // brings the page about
	then    func(p *tab)                                       // what is done on it; nil for nothing
}

var pageStates = []pageState{
	{name: "open", heading: sandbox.OpenTitle, says: []string{"Kōwhai Institute", "$2,990.00"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return setupURL(s.Create(t, "ORDER-1")) }},
	{name: "open, without colour, origins and addresses", heading: sandbox.OpenTitle, says: []string{"close this page", "Ask Tūī Trades Academy"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return setupURL(s.Post(t, "TUI", "/v1/provider-checkouts", sandbox.Order(sandbox.LegacyCreate, "ORDER-1")))
		}},
	{name: "open, with a lender and a short notice", heading: sandbox.OpenTitle,
		serving: append(slices.Clip(withTerms), func(c *service.Config, _ *httpapi.Options) { c.Terms.NoticeDays = 2 }),
		says:    []string{"Lender: Pūtea Limited", "nor sooner than 2 calendar days after that day", "in place of the usual 10 calendar days", "at least 2 calendar days after the confirmation"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return setupURL(s.Create(t, "ORDER-1"))
		}},
	{name: "open, with the longest dates", heading: sandbox.OpenTitle, says: []string{"Wednesday 22 September 2027"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return setupURL(s.Post(t, "TUI", "/v1/provider-checkouts",
				sandbox.Set(t, sandbox.Order(sandbox.LegacyCreate, "ORDER-1"), "plan.first_payment_date", `"2027-09-22"`)))
		}},
	{name: "terms of both", heading: "Direct debit and payment plan terms", serving: withTerms,
		says: []string{"you accept the direct debit terms", "The lender is Pūtea Limited"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return strings.Replace(setupURL(s.Create(t, "ORDER-1")), "?", "/legal?", 1)
		}},
	{name: "open, with a logo", heading: sandbox.OpenTitle, says: []string{"$2,990.00"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			s.Configure(t, strings.Replace(sandbox.Providers, `"display_name"`, `"logo_url": "`+logo(t)+`", "display_name"`, 1))
			return setupURL(s.Create(t, "ORDER-1"))
		},
		then: func(p *tab) {
			if width := evaluate[int](p, "document.querySelector('img.badge').naturalWidth"); width != 64 {
				p.t.Errorf("%s: the logo is %d pixels wide, want 64", p.screen.name, width)
			}
		}},
	{name: "terms", heading: "Direct debit terms", says: []string{"120 calendar days", "gave us"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			return strings.Replace(setupURL(s.Create(t, "ORDER-1")), "?", "/legal?", 1)
		}},
	{name: "superseded", heading: sandbox.OpenTitle, says: []string{"newer link", "you can go on here"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.Clock.Forward(6*24*time.Hour + time.Hour)
			s.Replay(t, "ORDER-1")
			return setupURL(created)
		}},
	{name: "expired", heading: sandbox.ExpiredTitle, says: []string{"no payment was taken", "start the payment setup again"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.Clock.Forward(8 * 24 * time.Hour)
			return setupURL(created)
		}},
	{name: "expired and superseded", heading: sandbox.ExpiredTitle, says: []string{"newer link", "Use that link"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.Clock.Forward(8 * 24 * time.Hour)
			s.Replay(t, "ORDER-1")
			return setupURL(created)
		}},
	{name: "mandate failed", heading: sandbox.OpenTitle, says: []string{"The bank setup failed", "set it up again"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return died(t, s, checkout.MandateFailed) }},
	{name: "mandate cancelled", heading: sandbox.OpenTitle, says: []string{"The direct debit was cancelled", "set it up again"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return died(t, s, checkout.MandateCancelled) }},
	{name: "mandate expired", heading: sandbox.OpenTitle, says: []string{"The direct debit has ended", "set it up again"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return died(t, s, checkout.MandateExpired) }},
	{name: "setup cancelled", heading: sandbox.OpenTitle, says: []string{"The bank setup did not go through", "start it again"},
		serving: []func(*service.Config, *httpapi.Options){func(c *service.Config, _ *httpapi.Options) {
			c.Processor = cancellingProcessor{c.Processor}
		}},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.ToBank(t, created)
			return sandbox.ReturnURL(setupURL(created))
		}},
	{name: "unfinished", heading: sandbox.OpenTitle, says: []string{"Your bank setup is not finished", "Go on below"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.ToBank(t, created)
			return sandbox.ReturnURL(setupURL(created))
		}},
	{name: "begun", heading: sandbox.OpenTitle, says: []string{"You have started your bank setup", "Go on below"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.ToBank(t, created)
			return setupURL(created)
		}},
	{name: "terms changed", heading: sandbox.OpenTitle, says: []string{"The terms have changed", "read them again"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return setupURL(s.Create(t, "ORDER-1")) },
		then: func(p *tab) {
			evaluate[string](p, `document.querySelector("[name=terms]").value = "2026-01-01/10"`) // a page of long ago
			p.click(onward)
		}},
	{name: "done", heading: sandbox.DoneTitle, says: []string{"Completed on", "What happens next", "No payment has been taken"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return setupURL(s.Ready(t, "ORDER-1")) }},
	{name: "confirmed", heading: sandbox.ConfirmedTitle, says: []string{"is confirmed", "Please have enough money", "PPA-", "until Sunday 30 April 2028", "Go back to Kōwhai Institute"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Ready(t, "ORDER-1")
			s.Confirm(t, created)
			return setupURL(created)
		}},
	{name: "confirmed, and the mandate died", heading: sandbox.ConfirmedTitle, says: []string{"Your direct debit has ended", "No payments can be taken", "PPA-", "ask Kōwhai Institute", "Go back to Kōwhai Institute"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Ready(t, "ORDER-1")
			s.Confirm(t, created)
			alter(t, s, created, func(setup *checkout.Setup) { setup.Mandate = checkout.MandateCancelled })
			return setupURL(created)
		}},
	{name: "provider switched off", heading: sandbox.DisabledTitle, says: []string{"No payment was taken", "Ask Kōwhai Institute", "Go back to Kōwhai Institute"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.Configure(t, strings.Replace(sandbox.Providers, `"active": true`, `"active": false`, 1))
			return setupURL(created)
		}},
	{name: "unknown", heading: sandbox.UnknownTitle, says: []string{"ask your education provider"},
		make: func(_ *testing.T, s *sandbox.Sandbox) string { return s.URL + sandbox.SetupPagePath + "?token=unknown" }},
	{name: "failed", heading: "Something went wrong", says: []string{"Nothing is lost", "reference", "Try again"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.Store.(*brokenStore).broken = errors.New("disk is gone")
			return setupURL(created)
		}},
	{name: "busy", heading: "We are too busy at the moment", says: []string{"Nothing is lost", "try again", "Try again"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.Store.(*brokenStore).broken = ports.ErrBusy
			return setupURL(created)
		}},
	{name: "too many", heading: "Too many requests", says: []string{"try again", "Try again"},
		serving: []func(*service.Config, *httpapi.Options){func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.001 }},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Create(t, "ORDER-1")
			s.Visit(t, setupURL(created))
			return setupURL(created)
		}},
	{name: "agreement", heading: "Payment Plan Agreement", serving: withTerms, says: []string{"PPA-", "Aroha Ngata", "Pūtea Limited", "Wednesday 2 February 2028", "until Tuesday 2 May 2028"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			created := s.Ready(t, "ORDER-1")
			body := sandbox.Set(t, created.ConfirmBody(), "payment.first_payment_date", `"2027-02-03"`) // Wednesday has the longest dates
			s.Post(t, created.Provider(), created.CheckoutPath()+"/confirm", body)
			return strings.Replace(setupURL(created), "?", "/agreement?", 1)
		}},
	{name: "reference of the API", heading: "Provider Checkout: the API", says: []string{"DIRECT_DEBIT_SETUP_INCOMPLETE"},
		make: func(_ *testing.T, s *sandbox.Sandbox) string { return s.URL + "/docs" }},
	{name: "open, over millions", heading: sandbox.OpenTitle, says: []string{"$9,999,999.99"},
		make: func(t *testing.T, s *sandbox.Sandbox) string {
			create := sandbox.Order(sandbox.LegacyCreate, "ORDER-1")
			for field, value := range map[string]string{"pricing.course_price": "9999999.99", "pricing.upfront_payment": "1999999.99",
				"pricing.amount_to_finance": "8000000", "plan.number_of_instalments": "2", "plan.instalment_amount": "4000000",
				"plan.final_instalment_amount": "4000000"} {
				create = sandbox.Set(t, create, field, value)
			}
			return setupURL(s.Post(t, "TUI", "/v1/provider-checkouts", create))
		}},
	{name: "bank form", heading: sandbox.BankTitle, says: []string{"Account number"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return s.ToBank(t, s.Create(t, "ORDER-1")) }},
	{name: "bank form with every mistake", heading: sandbox.BankTitle, says: []string{"Enter the account number."},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return s.ToBank(t, s.Create(t, "ORDER-1")) },
		then: func(p *tab) { p.click(onward) }},
	{name: "bank form with a wrong number", heading: sandbox.BankTitle, says: []string{"one of its digits is wrong"},
		make: func(t *testing.T, s *sandbox.Sandbox) string { return s.ToBank(t, s.Create(t, "ORDER-1")) },
		then: func(p *tab) {
			p.fill(holderField, "Mārama Tūhoe & Sons")
			p.fill(accountField, "01 0902 0068398 00")
			p.click(onward)
		}},
}

// withTerms configures an operator with terms of its own.
var withTerms = []func(*service.Config, *httpapi.Options){func(c *service.Config, _ *httpapi.Options) {
	c.Terms = agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington 6011", Registration: "FSP000001",
			Email: "help@putea.example"},
		Disputes:     agreement.DisputeScheme{Name: "A Dispute Scheme Limited", Contact: "https://disputes.example"},
		Cancellation: agreement.Cancellation{WorkingDays: 5, How: "To cancel:\n(a) write to the lender\n(b) pay what is owed"},
		Hardship:     "help@putea.example",
		DefaultFees: agreement.FeeList{Stated: true,
			Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}},
		Authority: agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea Limited", Statement: "particulars KOWHAI, code PLAN, reference COURSE"},
		Blocks: []agreement.Block{
			{Title: "Changes", Text: "A change of the plan is agreed in writing.\n\nTo ask for it:\n- write to the lender"},
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

func brokenMemory(_ testing.TB, now func() time.Time) site.Store {
	return &brokenStore{Store: memory.New(now)}
}

func (s *brokenStore) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	if s.broken != nil {
		return checkout.Checkout{}, s.broken
	}
	return s.Store.Checkout(ctx, id)
}

// cancellingProcessor reports every setup as cancelled.
type cancellingProcessor struct{ ports.Processor }

func (p cancellingProcessor) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	seen, err := p.Processor.Observe(ctx, q)
	seen.BillingRequest = checkout.BillingCancelled
	return seen, err
}

func setupURL(created sandbox.Response) string { return created.String("direct_debit.setup_url") }

// alter changes the bank setup of a checkout on record, as a report of the processor would.
func alter(t *testing.T, s *sandbox.Sandbox, created sandbox.Response, change func(*checkout.Setup)) {
	t.Helper()
	known, err := s.Store.Checkout(t.Context(), created.String("checkout.checkout_id"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Store.UpdateCheckout(t.Context(), known, 0, func(c checkout.Checkout) (checkout.Change, error) {
		change(&c.Setup)
		return checkout.Change{At: s.Clock.Now(), Next: c}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// died returns the page of a setup that was done and whose mandate died.
func died(t *testing.T, s *sandbox.Sandbox, status checkout.MandateStatus) string {
	t.Helper()
	created := s.Ready(t, "ORDER-1")
	alter(t, s, created, func(setup *checkout.Setup) { setup.Mandate = status })
	return setupURL(created)
}

// Every page says what happened, fits every screen, and is accessible.
func TestBrowserEveryPage(t *testing.T) {
	axe := axeSource(t)
	browser := startBrowser(t)
	var tabs []*tab
	for _, on := range []screen{smallPhone, darkPhone, largeText, darkDesktop} {
		tabs = append(tabs, newTab(t, browser, on, true))
	}
	for _, state := range slices.Concat(pageStates, payerStates) {
		t.Run(state.name, func(t *testing.T) {
			s := sandbox.New(t, brokenMemory, state.serving...)
			at := state.make(t, s)
			for _, p := range tabs {
				p.begin(t)
				p.open(at)
				if state.then != nil {
					state.then(p)
				}
				p.shows(state.heading)
				p.fits(s.URL)
				const unseen = `[...document.querySelectorAll("h1"), ...[document.querySelector(".notice h2")].filter(e => e)]` +
					`.filter(e => e.getBoundingClientRect().bottom > innerHeight).map(e => e.innerText)`
				if p.screen.text == 0 {
					for _, text := range evaluate[[]string](p, unseen) {
						t.Errorf("%s: %q, which says what happened, is not to be seen without scrolling", p.screen.name, text)
					}
				}
				p.picture(state.name)
				evaluate[int](p, "document.querySelectorAll('details').forEach(d => d.open = true), 0")
				got := p.text("main")
				for _, want := range state.says {
					if !strings.Contains(got, want) {
						t.Errorf("%s: the page does not say %q:\n%s", p.screen.name, want, got)
					}
				}
				p.fits(s.URL)
				if p.screen == smallPhone || p.screen == darkDesktop {
					p.accessible(axe)
				}
			}
		})
	}
}

// A page and everything that it loads are under 30 KB, as a browser fetches them.
func TestBrowserPagesAreSmall(t *testing.T) {
	s := sandbox.New(t, sandbox.Memory)
	created := s.Create(t, "ORDER-1")
	form := s.ToBank(t, created)
	long := sandbox.Set(t, sandbox.Order(sandbox.LegacyCreate, "ORDER-2"), "plan.number_of_instalments", "260")
	for field, value := range map[string]string{"plan.instalment_amount": "3.85", "plan.final_instalment_amount": "2.85"} {
		long = sandbox.Set(t, long, field, value)
	}
	weeks := s.Post(t, "TUI", "/v1/provider-checkouts", long)
	if weeks.Status != http.StatusCreated {
		t.Fatalf("create: %d %s", weeks.Status, weeks.Body)
	}
	agreed := s.Ready(t, "ORDER-4")
	s.Confirm(t, agreed)
	pages := map[string]string{"payer": setupURL(agreed), "52 weeks": setupURL(created), "260 weeks": setupURL(weeks), "bank form": form,
		"done": setupURL(s.Ready(t, "ORDER-3"))}
	for name, address := range pages {
		page := s.Visit(t, address)
		sum := weight(t, s, address)
		for _, e := range sandbox.Elements(t, page) {
			if file := e.Attr["src"] + map[string]string{"link": e.Attr["href"]}[e.Name]; file != "" {
				sum += weight(t, s, file)
			}
		}
		if sum > 30_000 {
			t.Errorf("page %s and what it is made of are %d bytes, want at most 30,000", name, sum)
		}
		t.Logf("page %s and what it is made of: %d bytes", name, sum)
	}
}

// weight returns the number of bytes transferred for an address.
func weight(t *testing.T, s *sandbox.Sandbox, address string) int {
	t.Helper()
	return len(s.Visit(t, address, "Accept-Encoding", "gzip").Body) // asked for by hand, it stays packed
}
