package hostedpages_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// bank is a processor whose pages are on another origin, and which says what the test says.
type bank struct {
	mu    sync.Mutex
	says  checkout.Observation
	err   error
	asked int
}

const bankPages = "https://pay.bank.example https://bank.example:8443"

var pending = checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}

func (*bank) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "bank", Company: "Bank Pages Limited", Environment: catalogue.Sandbox, PageOrigins: strings.Fields(bankPages)}
}

func (b *bank) Begin(_ context.Context, start checkout.SetupStart) (checkout.BillingRequest, error) {
	return checkout.BillingRequest{ID: "BR-" + start.Key, URL: "https://pay.bank.example/flow/" + start.Key}, b.err
}

func (b *bank) Observe(context.Context, checkout.SetupQuery) (checkout.Observation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	return b.says, b.err
}

func (*bank) Cancel(context.Context, checkout.SetupQuery) error { return nil }

func (*bank) Ready(context.Context) error { return nil }

func (b *bank) say(o checkout.Observation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says = o
}

func (b *bank) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// done is a processor's observation of a setup that was completed at a time.
func done(at time.Time, mandate checkout.MandateStatus) checkout.Observation {
	return checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: mandate, MandateID: "MD-1",
		Authorisation: checkout.CustomerInProgress, AccountHolder: "H O'BRIEN", AccountMask: "01-0902-•••••89-00", CompletedAt: at}
}

// atBank returns a bench whose processor is on another origin.
func atBank(t *testing.T) (*bench, *bank) {
	t.Helper()
	processor := &bank{says: pending}
	return newBench(t, setting{processor: processor}), processor
}

// formAction returns where the policy of a page lets its forms lead.
func (a answer) formAction() string {
	_, rest, _ := strings.Cut(a.header.Get("Content-Security-Policy"), "form-action ")
	directive, _, _ := strings.Cut(rest, ";")
	return directive
}

// The browsers of the Chromium family hold a form to form-action where its redirect leads, too.
func TestFormMayLeadToThePagesOfTheProcessorAndNowhereElse(t *testing.T) {
	b, processor := atBank(t)
	form := b.pressed()
	pages := map[string]answer{"the first page": b.get(b.setupPath())}
	b.config.Terms.NoticeDays = 2
	b.serve()
	pages["the page of terms that changed"] = b.do(http.MethodPost, "/api/dd-setup", form)
	if at := b.start(); !strings.HasPrefix(at, "https://pay.bank.example/flow/") {
		t.Errorf("the form leads to %q, want the processor's page", at)
	}
	pages["the page of a payer who went back"] = b.back()
	pages["the page of a payer who opens the link again"] = b.get(b.setupPath())
	b.now = b.now.Add(time.Minute)
	processor.say(done(b.now, checkout.MandateFailed))
	pages["the page of a mandate that failed"] = b.back()
	for name, page := range pages {
		page.wants(t, `<form method="post"`)
		if got, want := page.formAction(), "'self' "+bankPages; got != want {
			t.Errorf("%s: form-action %s, want %s", name, got, want)
		}
	}
	for name, page := range map[string]answer{"the legal page": b.get(b.legalPath()), "the page of no token": b.get("/api/dd-setup")} {
		page.lacks(t, "<form")
		if got := page.formAction(); got != "'self'" {
			t.Errorf("%s has no form: form-action %s, want 'self'", name, got)
		}
	}
}

// Scanners of e-mails and previews open the links that they find, in every state of a checkout.
func TestOpeningPagesAsksTheProcessorNothingAndStoresNothing(t *testing.T) {
	b, processor := atBank(t)
	opens := func(state string, status int) {
		t.Helper()
		stored, updates, asked := b.stored(), b.store.updates.Load(), processor.calls()
		for range 10 {
			for _, path := range []string{"", "/legal", "/agreement"} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					got := b.do(method, strings.Replace(b.setupPath(), "?", path+"?", 1), "")
					if got.status != status && got.status != http.StatusSeeOther {
						t.Errorf("%s: %s %s: %d, want %d", state, method, path, got.status, status)
					}
					if strings.Contains(got.body, "/return") {
						t.Errorf("%s: %s leads on to the address of those who come back:\n%s", state, path, got.body)
					}
				}
			}
		}
		if got := b.stored(); !reflect.DeepEqual(got, stored) || b.store.updates.Load() != updates || processor.calls() != asked {
			t.Errorf("%s: %d updates, %d questions; the checkout is %+v, want %+v", state, b.store.updates.Load()-updates, processor.calls()-asked, got, stored)
		}
	}
	opens("new", http.StatusOK)
	b.start()
	for _, says := range []checkout.Observation{
		pending, {BillingRequest: checkout.BillingReadyToFulfil, Authorisation: checkout.CustomerInProgress},
		{BillingRequest: checkout.BillingCancelled, Authorisation: checkout.CustomerInProgress},
		done(b.now, checkout.MandatePendingSubmission), done(b.now, checkout.MandateFailed),
	} {
		processor.say(says)
		b.now = b.now.Add(time.Minute)
		opens("before the payer comes back", http.StatusOK)
		if page := b.back(); page.status != http.StatusOK || b.stored().Setup.Observation != says {
			t.Errorf("the payer who came back sees %d, and on record is %+v, want %+v", page.status, b.stored().Setup.Observation, says)
		}
		opens("after the payer came back", http.StatusOK)
	}
	b.start()
	processor.say(done(b.now, checkout.MandateActive))
	b.change(func(c *checkout.Checkout) { c.Setup.Observation = done(b.now, checkout.MandateActive) })
	b.confirm(order().First)
	opens("confirmed", http.StatusOK)
	b.now = b.now.AddDate(3, 0, 0)
	opens("ended", http.StatusGone)

	b, processor = atBank(t)
	b.start()
	b.now = b.now.Add(8 * 24 * time.Hour)
	opens("expired", http.StatusGone)
	p := kowhai()
	p.Active = false
	b.configure(p)
	opens("of a provider that is off", http.StatusGone)
}

func TestAPayerWhoGoesOnWhileTheProcessorIsAwayMayTryAgain(t *testing.T) {
	b, processor := atBank(t)
	processor.err, b.failing = errors.New("connection refused"), true
	page := b.begin().is(t, http.StatusServiceUnavailable)
	page.wants(t, "We could not start your bank setup", "No payment was taken. Wait a minute, then go on below.",
		"ask Kōwhai Institute how else you can pay", `<form method="post"`)
	page.lacks(t, "Nothing is set up") // an earlier try may have succeeded
	if page.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	processor.err = nil
	b.start()
}

func TestExpiredLinkClaimsNothingWhileTheProcessorIsDown(t *testing.T) {
	b, processor := atBank(t)
	b.start()
	b.now = b.now.Add(8 * 24 * time.Hour)
	page := b.back().is(t, http.StatusGone)
	page.wants(t, "This link has expired", "Your direct debit is not set up, and no payment was taken.")
	b.now = b.now.Add(2 * time.Second)
	processor.err, b.failing = errors.New("connection refused"), true
	page = b.back().is(t, http.StatusGone)
	page.wants(t, "This link has expired", "we cannot see whether", `<a href="">look again</a>`)
	page.lacks(t, "is not set up")
}
