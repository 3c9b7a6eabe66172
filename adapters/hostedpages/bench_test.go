package hostedpages_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

const baseURL = "https://pay.example"

// bench is a service with one provider and one open checkout, and its pages.
type bench struct {
	t       *testing.T
	now     time.Time
	store   *store
	service *service.Service
	hosted  http.Handler
	fake    http.Handler
	log     bytes.Buffer
	token   string
	id      string
}

// store is a memory store whose reading of checkouts can be made to fail.
type store struct {
	*memory.Store
	err error
}

func (s *store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	if s.err != nil {
		return checkout.Checkout{}, s.err
	}
	return s.Store.Checkout(ctx, id)
}

type printer struct{}

func (printer) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return []byte("%PDF"), nil
}

type sender struct{}

func (sender) Send(context.Context, catalogue.Destination, events.Delivery, int) error { return nil }

// kowhai is the provider of most tests.
func kowhai() catalogue.Provider {
	return catalogue.Provider{
		Code: "KOWHAI", Name: "Kowhai Ltd", AccountID: "acc-kowhai",
		Environment: catalogue.Sandbox, Active: true, APIEnabled: true,
		EnrolmentOrigins: []string{"https://enrol.kowhai.example", "https://www.kowhai.example"},
		SuccessURL:       "https://enrol.kowhai.example/done?from=bank",
		CancelURL:        "https://enrol.kowhai.example/cancelled",
		Branding: catalogue.Branding{
			DisplayName: "Kōwhai Institute", PrimaryColour: "#1F6F54",
			LogoURL: "https://cdn.kowhai.example/logo.png", SupportEmail: "help@kowhai.example",
		},
		Mode: catalogue.Legacy,
	}
}

// order is a create of 200.00 at once and 2,790.00 in 52 instalments.
func order() checkout.Create {
	return checkout.Create{
		RequestID:    "req_1",
		ProviderCode: checkout.Some("KOWHAI"),
		OrderID:      checkout.Some("order-1"),
		FirstName:    checkout.Some("Hēmi"),
		LastName:     checkout.Some("O'Brien"),
		Email:        checkout.Some("hemi@example.nz"),
		CourseName:   checkout.Some("Diploma in Business"),
		Price:        checkout.Some(money.Cents(2_990_00)),
		Principal:    checkout.Some(money.Cents(2_790_00)),
		Upfront:      checkout.Some(money.Cents(200_00)),
		PaymentType:  checkout.Some("interest_free_payment_plan"),
		Frequency:    checkout.Some("Weekly"),
		Number:       checkout.Some(52),
		Regular:      checkout.Some(money.Cents(53_65)),
		Final:        checkout.Some(money.Cents(53_85)),
		First:        checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1}),
	}
}

func newBench(t *testing.T, p catalogue.Provider, create checkout.Create, rateLimit float64) *bench {
	t.Helper()
	b := &bench{
		t:     t,
		now:   time.Date(2027, 1, 20, 21, 0, 0, 0, time.UTC),
		store: &store{Store: memory.New()},
	}
	b.configure(p)
	keys, err := checkout.NewKeyring(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return b.now }
	b.service, err = service.New(service.Config{
		Environment: catalogue.Sandbox, BaseURL: baseURL, Keyring: keys,
		Store: b.store, Processor: fakeprocessor.Processor{}, Printer: printer{}, Sender: sender{},
		Terms: agreement.Terms{
			Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington", Registration: "FSP1"},
			Blocks: []agreement.Block{{Title: "Hardship", Text: "The payer can ask <the lender> to change the plan."}},
		},
		Now: clock, Rand: rand.Reader,
		Report: func(_ context.Context, f service.Failure) {
			if b.store.err == nil || !errors.Is(err, b.store.err) { // what the test itself made fail is no surprise
				t.Errorf("reported: %v", err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	options := hostedpages.Options{
		Log: slog.New(slog.NewJSONHandler(&b.log, nil)), RateLimit: rateLimit, Now: clock, Rand: rand.Reader,
	}
	b.hosted, b.fake = hostedpages.New(b.service, options), fakeprocessor.Pages(b.service, options)

	opened, err := b.service.Create(t.Context(), service.Caller{ProviderCode: p.Code}, create)
	if err != nil {
		t.Fatal(err)
	}
	b.token, b.id = opened.Token, opened.Checkout.ID
	return b
}

// configure makes p the only provider, long enough ago for the running service to see it.
func (b *bench) configure(p catalogue.Provider) {
	b.t.Helper()
	err := b.store.ReplaceProviders(b.t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, error) {
		return []catalogue.Configuration{{Provider: p}}, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.now = b.now.Add(5 * time.Second)
}

// stored returns the checkout as it is on record.
func (b *bench) stored() checkout.Checkout {
	b.t.Helper()
	c, err := b.store.Store.Checkout(b.t.Context(), b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// setUp completes the bank setup.
func (b *bench) setUp() {
	b.t.Helper()
	if _, err := b.service.BeginSetup(b.t.Context(), b.token, checkout.Acceptance{}); err != nil {
		b.t.Fatal(err)
	}
	b.complete()
}

// complete completes a bank setup that has begun.
func (b *bench) complete() {
	b.t.Helper()
	_, err := b.service.CompleteSetup(b.t.Context(), b.token, checkout.Observation{
		BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission,
		Authorisation: checkout.CustomerInProgress, AccountHolder: "Hēmi O'Brien", AccountTail: "89",
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// kill makes the mandate fail.
func (b *bench) kill() {
	b.t.Helper()
	err := b.store.UpdateCheckout(b.t.Context(), b.id, ports.Queued{}, func(c checkout.Checkout) (checkout.Change, error) {
		c.Setup.Mandate = checkout.MandateFailed
		return checkout.Change{Next: c}, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// setupPath is the address of the setup page, legalPath of the terms.
func (b *bench) setupPath() string { return "/api/dd-setup?token=" + url.QueryEscape(b.token) }
func (b *bench) legalPath() string { return "/api/dd-setup/legal?token=" + url.QueryEscape(b.token) }

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request to the pages that its path belongs to, after change has had its way with it.
func (b *bench) do(method, target, form string, change ...func(*http.Request)) answer {
	r := httptest.NewRequest(method, strings.TrimPrefix(target, baseURL), strings.NewReader(form))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, f := range change {
		f(r)
	}
	handler := b.hosted
	if strings.HasPrefix(r.URL.Path, "/sandbox/") {
		handler = b.fake
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	return answer{w.Code, w.Result().Header, string(body)}
}

func (b *bench) get(target string) answer { return b.do(http.MethodGet, target, "") }

// begin posts the setup page's form.
func (b *bench) begin(change ...func(*http.Request)) answer {
	return b.do(http.MethodPost, "/api/dd-setup", url.Values{"token": {b.token}}.Encode(), change...)
}

// wants reports what a text lacks.
func (a answer) wants(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("the page lacks %q:\n%s", text, a.body)
		}
	}
}

// lacks reports what a text must not hold.
func (a answer) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			t.Errorf("the page holds %q:\n%s", text, a.body)
		}
	}
}

func (a answer) is(t *testing.T, want int) {
	t.Helper()
	if a.status != want {
		t.Errorf("status = %d, want %d:\n%s", a.status, want, a.body)
	}
}
