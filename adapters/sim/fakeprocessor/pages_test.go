package fakeprocessor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/processortest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// account is the account of the provider whose payments the processor handles.
var account = checkout.Account{ProviderCode: "RIMU", ID: "acc-rimu", Environment: catalogue.Sandbox}

// setupPage is the address to which the processor sends the payer's browser back.
const setupPage = processortest.BaseURL + "/api/dd-setup?token=RIMU-1.1.kid.mac"

// bench is a processor with one billing request, which a payer has gone on to.
type bench struct {
	t         *testing.T
	now       time.Time
	store     *memory.Store
	processor *fakeprocessor.Processor
	start     checkout.SetupStart
	request   checkout.BillingRequest
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Date(2027, 1, 20, 21, 0, 0, 0, time.UTC), store: memory.New(func() time.Time { return time.Date(2027, 1, 20, 21, 0, 0, 0, time.UTC) })}
	b.processor = fakeprocessor.New(fakeprocessor.Options{Records: b.store, BaseURL: processortest.BaseURL,
		Now: func() time.Time { return b.now }})
	var err error
	first := money.Date{Year: 2027, Month: time.February, Day: 1}
	b.start = checkout.SetupStart{Key: "0123456789abcdef0123456789abcdef", Account: account,
		ProviderName: "Rimu College", CheckoutID: "RIMU-1", ReturnURL: setupPage,
		Description: "Welding",
		Terms: agreement.DebitTerms{Provider: "Rimu College", Authority: agreement.Authority{Initiator: "Rimu Collections",
			AuthorisationCode: "0123456", Statement: "particulars RIMU"}},
		First: money.Payment{Charge: money.Charge{Due: first, Amount: 200_00}, Taken: first}}
	b.request, err = b.processor.Begin(t.Context(), b.start)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// observe returns what the processor says of the billing request.
func (b *bench) observe() checkout.Observation {
	b.t.Helper()
	seen, err := b.processor.Observe(b.t.Context(), checkout.SetupQuery{Account: account, Setup: checkout.Setup{Try: 1, BillingRequestID: b.request.ID}})
	if err != nil {
		b.t.Fatal(err)
	}
	return seen
}

// open reports whether the payer can still fulfil the billing request.
func (b *bench) open() bool { return b.observe().BillingRequest == checkout.BillingPending }

func (b *bench) do(method, target string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	b.processor.ServeHTTP(w, r)
	return w
}

// visit opens a page as a payer's browser does.
func (b *bench) visit(url string) {
	b.t.Helper()
	if got := b.do(http.MethodGet, url, nil); got.Code != http.StatusOK {
		b.t.Errorf("GET %s: %d, want 200:\n%s", url, got.Code, got.Body)
	}
}

// send sends the form of a page, and returns where it leads.
func (b *bench) send(url string, form url.Values) (location string) {
	b.t.Helper()
	got := b.do(http.MethodPost, url, form)
	if got.Code != http.StatusSeeOther {
		b.t.Errorf("POST %s: %d, want 303:\n%s", url, got.Code, got.Body)
	}
	return got.Header().Get("Location")
}

// filled is the form as it should be filled in, but for what the pairs say.
func (b *bench) filled(pairs ...string) url.Values {
	form := url.Values{"account_holder_name": {"Ana Tau"},
		"account_number": {"12-3140-0171323-50"}, "authority_confirmed": {"yes"}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

func TestCompletedFormSetsUpTheMandate(t *testing.T) {
	b := newBench(t)
	// The number is typed as phones and text processors write it.
	form := b.filled("account_holder_name", "  Ma\u0304ui  ", "account_number", "１２.3140 0171323–050", "authority_confirmed", "on")
	for range 2 { // a double click
		if at := b.send(b.request.URL, form); at != setupPage {
			t.Errorf("Location = %q, want the setup page, %q", at, setupPage)
		}
		form.Set("account_holder_name", "Someone Else") // comes too late
	}
	got := b.observe()
	want := checkout.Observation{BillingRequest: checkout.BillingFulfilled,
		Mandate: checkout.MandatePendingSubmission, MandateID: got.MandateID, Authorisation: checkout.CustomerInProgress,
		AccountHolder: "Māui", AccountMask: "12-3140-•••••23-050", CompletedAt: b.now}
	if got != want || got.MandateID == "" {
		t.Errorf("setup = %+v, want %+v and the id of a mandate", got, want)
	}
}

func TestStrangersLearnNothing(t *testing.T) {
	b := newBench(t)
	path := strings.TrimPrefix(b.request.URL, "https://pay.example")
	page, _, _ := strings.Cut(path, b.request.ID) // of all billing requests
	_, query, _ := strings.Cut(path, "?")
	other := "BRAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, tt := range []struct {
		name   string
		answer *httptest.ResponseRecorder
		want   int
	}{
		{"no billing request", b.do(http.MethodGet, page, nil), http.StatusNotFound},
		{"a billing request without a return URL", b.do(http.MethodGet, page+b.request.ID, nil), http.StatusNotFound},
		{"an empty return URL", b.do(http.MethodGet, page+b.request.ID+"?return_url=", nil), http.StatusNotFound},
		{"another return URL", b.do(http.MethodGet, path+"0", nil), http.StatusNotFound},
		{"a return URL elsewhere", b.do(http.MethodGet, page+b.request.ID+"?return_url=https://evil.example", nil), http.StatusNotFound},
		{"a form with a return URL elsewhere", b.do(http.MethodPost, page+b.request.ID+"?return_url=https://evil.example", b.filled()),
			http.StatusNotFound},
		{"more path", b.do(http.MethodGet, page+b.request.ID+"/x?"+query, nil), http.StatusNotFound},
		{"another billing request", b.do(http.MethodGet, strings.Replace(path, b.request.ID, other, 1), nil), http.StatusNotFound},
		{"a form for another billing request", b.do(http.MethodPost, strings.Replace(path, b.request.ID, other, 1), b.filled()), http.StatusNotFound},
		{"a billing request in the query of a post", b.do(http.MethodPost, page+"?id="+b.request.ID, b.filled()), http.StatusNotFound},
		{"unknown path", b.do(http.MethodGet, "/enrol/sandbox/processor/", nil), http.StatusNotFound},
		{"unknown asset", b.do(http.MethodGet, "/enrol/sandbox/processor/assets/none.css", nil), http.StatusNotFound},
		{"stylesheet", b.do(http.MethodGet, "/enrol/sandbox/processor/assets/style.css", nil), http.StatusOK},
		{"wrong method", b.do(http.MethodPut, path, nil), http.StatusMethodNotAllowed},
	} {
		if tt.answer.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, tt.answer.Code, tt.want)
		}
	}
	if !b.open() {
		t.Errorf("setup = %+v, want it open", b.observe())
	}
}

func TestPagesOfOneBillingRequestAreLimited(t *testing.T) {
	b := newBench(t)
	b.processor = fakeprocessor.New(fakeprocessor.Options{Records: b.store, BaseURL: processortest.BaseURL, RateLimit: 1,
		Now: func() time.Time { return b.now }})
	from := func(n int) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = fmt.Sprintf("192.0.2.%d:4000", n) }
	}
	for n, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if got := b.do(http.MethodGet, b.request.URL, nil, from(n)); got.Code != want {
			t.Errorf("request %d for one billing request, each from another address: %d, want %d", n+1, got.Code, want)
		}
	}
}

// A payer who goes on again reads the terms and the first payment as they are then.
func TestTheFormShowsTheLatestStart(t *testing.T) {
	b := newBench(t)
	next := b.start
	next.First.Taken, next.Terms.Authority.Initiator = money.Date{Year: 2027, Month: time.March, Day: 1}, "Tui Collections"
	for range 2 {
		again, err := b.processor.Begin(t.Context(), next)
		if err != nil || again != b.request {
			t.Fatalf("Begin = %+v, %v; want %+v again", again, err, b.request)
		}
	}
	page := b.do(http.MethodGet, b.request.URL, nil).Body.String()
	if !strings.Contains(page, "Monday 1 March 2027") || !strings.Contains(page, "Tui Collections") || strings.Contains(page, "Rimu Collections") {
		t.Errorf("the form does not show the latest start:\n%s", page)
	}
}
