package fakeprocessor_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

const path = "/sandbox/processor/billing-requests"

// bench is a service with one checkout whose setup has begun, and the processor's pages.
type bench struct {
	t       *testing.T
	now     time.Time
	store   *memory.Store
	service *service.Service
	pages   http.Handler
	token   string
	id      string
}

type printer struct{}

func (printer) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return []byte("%PDF"), nil
}

type sender struct{}

func (sender) Send(context.Context, catalogue.Destination, events.Delivery, int) error { return nil }

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Date(2027, 1, 20, 21, 0, 0, 0, time.UTC), store: memory.New()}
	clock := func() time.Time { return b.now }
	err := b.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, error) {
		return []catalogue.Configuration{{Provider: catalogue.Provider{
			Code: "RIMU", Name: "Rimu College", AccountID: "acc-rimu", Environment: catalogue.Sandbox,
			Active: true, APIEnabled: true, EnrolmentOrigins: []string{"https://rimu.example"}, Mode: catalogue.Legacy,
		}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := checkout.NewKeyring(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	b.service, err = service.New(service.Config{
		Environment: catalogue.Sandbox, BaseURL: "https://pay.example", Keyring: keys,
		Store: b.store, Processor: fakeprocessor.Processor{}, Printer: printer{}, Sender: sender{},
		Now: clock, Rand: rand.Reader,
		Report: func(_ context.Context, f service.Failure) { t.Errorf("reported: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.pages = fakeprocessor.Pages(b.service, fakeprocessor.Options{
		Log: slog.New(slog.DiscardHandler), Now: clock, Rand: rand.Reader,
	})
	opened, err := b.service.Create(t.Context(), service.Caller{ProviderCode: "RIMU"}, checkout.Create{
		ProviderCode: checkout.Some("RIMU"), OrderID: checkout.Some("order-1"),
		FirstName: checkout.Some("Ana"), LastName: checkout.Some("Tau"), Email: checkout.Some("ana@example.nz"),
		CourseName: checkout.Some("Welding"), Price: checkout.Some(money.Cents(100_00)),
		Principal: checkout.Some(money.Cents(100_00)), Upfront: checkout.Some(money.Cents(0)),
		PaymentType: checkout.Some("interest_free_payment_plan"), Frequency: checkout.Some("Weekly"),
		Number: checkout.Some(4), Regular: checkout.Some(money.Cents(25_00)),
		First: checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1}),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.token, b.id = opened.Token, opened.Checkout.ID
	b.begin()
	return b
}

func (b *bench) begin() {
	b.t.Helper()
	if _, err := b.service.BeginSetup(b.t.Context(), b.token, checkout.Acceptance{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) stored() checkout.Checkout {
	b.t.Helper()
	c, err := b.store.Checkout(b.t.Context(), b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bench) do(method, target string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	b.pages.ServeHTTP(w, r)
	return w
}

// filled is the form as it should be filled in, but for what the pairs say.
func (b *bench) filled(pairs ...string) url.Values {
	form := url.Values{"token": {b.token}, "account_holder_name": {"Ana Tau"},
		"account_number": {"12-3140-0171323-50"}, "authority_confirmed": {"yes"}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

func TestFormIsShownAndChangesNothing(t *testing.T) {
	b := newBench(t)
	before := b.stored().Setup
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		got := b.do(method, path+"?token="+b.token+"&account_holder_name=Ana&account_number=12-3140-0171323-50&authority_confirmed=yes", nil)
		if got.Code != http.StatusOK {
			t.Errorf("%s: %d, want 200", method, got.Code)
		}
		for _, want := range []string{"Sandbox", "Welding", "Rimu College", `name="token" value="` + b.token + `"`,
			`<label for="account_holder_name">`, `<label for="account_number">`, `<label for="authority_confirmed">`} {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: the form lacks %q:\n%s", method, want, got.Body)
			}
		}
		if strings.Contains(got.Body.String(), `role="alert"`) {
			t.Errorf("%s: the empty form complains:\n%s", method, got.Body)
		}
		csp := got.Header().Get("Content-Security-Policy")
		if !strings.HasSuffix(csp, "frame-ancestors https://rimu.example") || !strings.HasPrefix(csp, "default-src 'none';") {
			t.Errorf("%s: Content-Security-Policy = %q", method, csp)
		}
	}
	if after := b.stored().Setup; after != before {
		t.Errorf("setup = %+v after reading, want %+v", after, before)
	}
}

func TestMistakesComeBackOnTheForm(t *testing.T) {
	const holder, account, authority = "account_holder_name", "account_number", "authority_confirmed"
	for _, tt := range []struct {
		name  string
		pairs []string
		wrong []string
	}{
		{"an empty form", []string{holder, "", account, "", authority, ""}, []string{holder, account, authority}},
		{"a holder of spaces", []string{holder, " \t "}, []string{holder}},
		{"a holder with a control character", []string{holder, "Ana\x07Tau"}, []string{holder}},
		{"a holder with NUL", []string{holder, "Ana\x00"}, []string{holder}},
		{"a holder that is not UTF-8", []string{holder, "Ana\xff"}, []string{holder}},
		{"a holder of 256 characters", []string{holder, strings.Repeat("ā", 256)}, []string{holder}},
		{"an account number that is none", []string{account, `"><script>`}, []string{account}},
		{"an account number with wrong check digits", []string{account, "01-0004-0012345-00"}, []string{account}},
		{"no authority", []string{authority, ""}, []string{authority}},
		{"an authority denied", []string{authority, "false"}, []string{authority}},
		{"a wrong number and no authority", []string{account, "1", authority, ""}, []string{account, authority}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			form := b.filled(tt.pairs...)
			got := b.do(http.MethodPost, path, form)
			body := got.Body.String()
			if got.Code != http.StatusUnprocessableEntity {
				t.Errorf("status = %d, want 422", got.Code)
			}
			if n := strings.Count(body, `role="alert"`); n != len(tt.wrong) {
				t.Errorf("the form has %d messages, want %d:\n%s", n, len(tt.wrong), body)
			}
			for _, field := range tt.wrong {
				message := fmt.Sprintf(`id="%s-error" role="alert">`, field)
				marked := regexp.MustCompile(`<input[^>]* name="` + field + `"[^>]* aria-invalid="true"[^>]*aria-describedby="[^"]*` + field + `-error"`)
				if !strings.Contains(body, message) || !marked.MatchString(body) {
					t.Errorf("%s has no message of its own:\n%s", field, body)
				}
			}
			if got := typed(body, account); got != form.Get(account) {
				t.Errorf("the account number came back as %q, want %q", got, form.Get(account))
			}
			if ticked := strings.Contains(body, " checked"); ticked != (form.Get(authority) == "yes") {
				t.Errorf("the box came back ticked: %v", ticked)
			}
			if setup := b.stored().Setup; !setup.CompletedAt.IsZero() {
				t.Errorf("setup = %+v, want it open", setup)
			}
		})
	}
}

func TestMistakesAreToldSoThatAPayerCanMendThem(t *testing.T) {
	for _, tt := range []struct{ field, value, want string }{
		{"account_number", "01-0902-0068398-00", "Check the account number: one of its digits is wrong."},
		{"account_number", "01-0902", "The account number must be 15 or 16 digits, such as 12-3140-0171323-50."},
		{"authority_confirmed", "", "Tick this if no one else has to sign. If someone does, use another account or ask Rimu College."},
	} {
		b := newBench(t)
		got := b.do(http.MethodPost, path, b.filled(tt.field, tt.value)).Body.String()
		if want := fmt.Sprintf(`id="%s-error" role="alert">%s</p>`, tt.field, tt.want); !strings.Contains(got, want) {
			t.Errorf("%s %q: the form lacks %q:\n%s", tt.field, tt.value, want, got)
		}
	}
}

// typed returns the value that a field of the form holds.
func typed(body, field string) string {
	found := regexp.MustCompile(` name="` + field + `" value="([^"]*)"`).FindStringSubmatch(body)
	if found == nil {
		return "(none)"
	}
	return strings.NewReplacer("&#34;", `"`, "&gt;", ">", "&lt;", "<", "&#39;", "'", "&amp;", "&").Replace(found[1])
}

func TestRepeatedFieldIsAMistake(t *testing.T) {
	b := newBench(t)
	form := b.filled()
	form.Add("account_number", "01-0902-0068389-00")
	if got := b.do(http.MethodPost, path, form); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("status = %d, want 422", got.Code)
	}
}

func TestAccountNumberIsReadAsPeoplePasteItAndWrittenAsBanksDo(t *testing.T) {
	for name, pasted := range map[string]string{
		"from a word processor": "12\u20133140\u20130171323\u201350", "from a web page": "12\u00a03140\u00a00171323\u00a050",
		"from a table": "12\t3140\t0171323\t50\n", "with dots": "12.3140.0171323.50", "with slashes": "12/3140/0171323/50",
		"with marks of direction": "\u206612-3140-0171323-50\u2069", "in one piece": "123140017132350",
	} {
		b := newBench(t)
		form := b.filled("account_number", pasted, "authority_confirmed", "")
		got := b.do(http.MethodPost, path, form).Body.String()
		if written := typed(got, "account_number"); written != "12-3140-0171323-50" || !strings.Contains(got, "The bank is ASB.") ||
			strings.Count(got, `role="alert"`) != 1 {
			t.Errorf("%s: the form came back with %q:\n%s", name, written, got)
		}
		form.Set("authority_confirmed", "yes")
		if got := b.do(http.MethodPost, path, form); got.Code != http.StatusSeeOther || b.stored().Setup.AccountTail != "23" {
			t.Errorf("%s: %d, and the setup is %+v", name, got.Code, b.stored().Setup)
		}
	}
}

func TestCompletedFormSetsUpTheMandate(t *testing.T) {
	b := newBench(t)
	form := b.filled("account_holder_name", "  Ma\u0304ui  ", "account_number", "12 3140 0171323 050", "authority_confirmed", "on")
	for range 2 { // a double click
		got := b.do(http.MethodPost, path, form)
		if got.Code != http.StatusSeeOther {
			t.Fatalf("status = %d, want 303:\n%s", got.Code, got.Body)
		}
		if at := got.Header().Get("Location"); !strings.HasSuffix(at, "/api/dd-setup?token="+b.token) {
			t.Errorf("Location = %q, want the setup page", at)
		}
	}
	setup := b.stored().Setup
	want := checkout.Setup{
		Try: 1, BillingRequestID: setup.BillingRequestID, Consent: setup.Consent,
		Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilled,
			Mandate: checkout.MandatePendingSubmission, Authorisation: checkout.CustomerInProgress,
			AccountHolder: "Māui", AccountTail: "23", CompletedAt: b.now},
	}
	if setup != want {
		t.Errorf("setup = %+v, want %+v", setup, want)
	}
}

func TestWithoutABillingRequestTheSetupPageGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*checkout.Setup)
	}{
		{"not begun", func(s *checkout.Setup) { *s = checkout.Setup{} }},
		{"dead", func(s *checkout.Setup) {
			s.BillingRequest, s.Mandate = checkout.BillingFulfilled, checkout.MandateFailed
		}},
		{"cancelled", func(s *checkout.Setup) { s.BillingRequest = checkout.BillingCancelled }},
		{"complete", func(s *checkout.Setup) {
			s.BillingRequest, s.Mandate = checkout.BillingFulfilled, checkout.MandateActive
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			err := b.store.UpdateCheckout(t.Context(), b.id, ports.Queued{}, func(c checkout.Checkout) (checkout.Change, error) {
				tt.change(&c.Setup)
				return checkout.Change{Next: c}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			before := b.stored().Setup
			for _, got := range []*httptest.ResponseRecorder{
				b.do(http.MethodGet, path+"?token="+b.token, nil), b.do(http.MethodPost, path, b.filled()),
			} {
				if at := got.Header().Get("Location"); got.Code != http.StatusSeeOther || at != "/api/dd-setup?token="+b.token {
					t.Errorf("answer = %d to %q, want 303 to the setup page", got.Code, at)
				}
			}
			if after := b.stored().Setup; after != before {
				t.Errorf("setup = %+v, want %+v", after, before)
			}
		})
	}
}

func TestStrangersLearnNothing(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name   string
		answer *httptest.ResponseRecorder
		want   int
	}{
		{"no token", b.do(http.MethodGet, path, nil), http.StatusNotFound},
		{"forged token", b.do(http.MethodGet, path+"?token="+b.token+"x", nil), http.StatusNotFound},
		{"posted token that is forged", b.do(http.MethodPost, path, b.filled("token", b.token+"x")), http.StatusNotFound},
		{"token in the address of a post", b.do(http.MethodPost, path+"?token="+b.token, b.filled("token", "")), http.StatusNotFound},
		{"unknown path", b.do(http.MethodGet, "/sandbox/processor/", nil), http.StatusNotFound},
		{"unknown asset", b.do(http.MethodGet, "/sandbox/processor/assets/none.css", nil), http.StatusNotFound},
		{"stylesheet", b.do(http.MethodGet, "/sandbox/processor/assets/style.css", nil), http.StatusOK},
		{"wrong method", b.do(http.MethodPut, path, nil), http.StatusMethodNotAllowed},
	} {
		if tt.answer.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, tt.answer.Code, tt.want)
		}
	}
	if setup := b.stored().Setup; !setup.CompletedAt.IsZero() {
		t.Errorf("setup = %+v, want it open", setup)
	}
}

func TestFormOfAnotherWebsiteIsRefused(t *testing.T) {
	b := newBench(t)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(b.filled().Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	b.pages.ServeHTTP(w, r)
	if setup := b.stored().Setup; w.Code != http.StatusForbidden || !setup.CompletedAt.IsZero() {
		t.Errorf("answer = %d and setup = %+v, want 403 and nothing done", w.Code, setup)
	}
}
