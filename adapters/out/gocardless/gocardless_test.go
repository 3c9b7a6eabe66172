package gocardless_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/processortest"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

const token = "sandbox_token"

// account is one whose provider has a creditor of its own.
var account = checkout.Account{ProviderCode: "KOWHAI", ID: "CR123", Environment: catalogue.Sandbox}

// bench is the processor over a simulator.
type bench struct {
	*gocardless.Processor
	sim *gocardlesstest.Simulator
	url string
	t   *testing.T
}

func newBench(t *testing.T, change ...func(*gocardlesstest.Options, *gocardless.Options)) *bench {
	t.Helper()
	simulated := gocardlesstest.Options{Token: token, Creditors: []gocardlesstest.Creditor{{ID: account.ID}}}
	o := gocardless.Options{Environment: catalogue.Sandbox, Token: token}
	for _, f := range change {
		f(&simulated, &o)
	}
	sim := gocardlesstest.New(simulated)
	server := httptest.NewServer(sim)
	t.Cleanup(func() { sim.Close(); server.Close() })
	o.URL = server.URL
	if o.Now == nil {
		o.Now = sim.Now
	}
	p, err := gocardless.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.PassPauses(sim.Advance)
	return &bench{p, sim, server.URL, t}
}

// get gets a page or a resource, with headers, which come in pairs, and returns its body.
func (b *bench) get(t *testing.T, address string, headers ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d %s, %v", address, answer.StatusCode, text, err)
	}
	return string(text)
}

// begin begins the setup of a key.
func (b *bench) begin(t *testing.T, key string) checkout.BillingRequest {
	t.Helper()
	request, err := b.Begin(t.Context(), start(key))
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// complete has a payer finish at the address that Begin returned.
func (b *bench) complete(t *testing.T, address, holder string) (back string) {
	t.Helper()
	back, err := b.sim.Complete(address, gocardlesstest.Payer{GivenName: "Māia", FamilyName: "O'Brien", Email: "maia@example.nz",
		Holder: holder, Account: "01-0902-0068389-00"})
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestProcessor(t *testing.T) {
	processortest.Processor(t, func(t *testing.T) processortest.Bench {
		b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) {
			o.Creditors = append(o.Creditors, gocardlesstest.Creditor{ID: "CR456"})
			o.Pace = gocardlesstest.Pace{Ready: time.Second, Fulfilling: time.Second}
		})
		return processortest.Bench{
			Processor: b.Processor,
			Account:   account,
			Other:     checkout.Account{ProviderCode: "TUI", ID: "CR456", Environment: catalogue.Sandbox},
			Visit: func(t *testing.T, url string) {
				resp, err := http.Get(url)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("the page answers %d", resp.StatusCode)
				}
			},
			Complete: func(t *testing.T, url string) string { return b.complete(t, url, "MANDATE ACTIVE") },
			Fail:     func(t *testing.T, url string) string { return b.complete(t, url, "MANDATE FAILS") },
			Refuse: func(t *testing.T, url string) {
				if _, err := b.sim.Complete(url, gocardlesstest.Payer{FamilyName: "GEO BLOCKED"}); err != nil {
					t.Fatal(err)
				}
			},
			Pass: func(*testing.T) { b.sim.Advance(time.Minute) },
		}
	})
}

// start is the start of a try.
func start(key string) checkout.SetupStart {
	return checkout.SetupStart{Key: strings.Repeat("0", 32-len(key)) + key, Account: account, ProviderName: "Kōwhai Institute",
		CheckoutID: "KOWHAI-1-" + key, ReturnURL: "https://pay.example/api/dd-setup?token=T",
		Student:     checkout.Student{FirstName: "Māia", LastName: "O'Brien", Email: "maia@example.nz"},
		Description: "Diploma in Business",
		First:       money.Payment{Charge: money.Charge{Amount: 200_00}, Taken: money.Date{Year: 2026, Month: time.December, Day: 7}}}
}

// GoCardless' page says what is paid for and, where there is room, the first payment.
func TestThePageOfGoCardlessHasTheFirstPayment(t *testing.T) {
	b := newBench(t)
	for course, want := range map[string]string{
		"Diploma in Business":    "Diploma in Business: first payment $200.00, planned for Monday 7 December 2026",
		strings.Repeat("ā", 255): strings.Repeat("ā", 255),
	} {
		s := start("1")
		s.Key, s.Description = checkout.NaturalKey(catalogue.Sandbox, "KOWHAI", course, "request"), course
		request, err := b.Begin(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if page := b.get(t, request.URL); !strings.Contains(page, "<bdi translate=\"no\">"+want+"</bdi>") {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestReadinessIsThatOfTheScheme(t *testing.T) {
	for status, want := range map[string]string{"active": "", "pending": "scheme identifier is pending",
		gocardlesstest.NoScheme: "scheme identifier is missing"} {
		b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) {
			o.Creditors = []gocardlesstest.Creditor{{ID: account.ID, SchemeStatus: status}}
		})
		err := b.Ready(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: Ready = %v, want %q", status, err, want)
		}
	}
}

func TestAccountIsCheckedByItsCreditor(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) {
		o.Creditors = []gocardlesstest.Creditor{{ID: "CR1", MinimumAdvanceNotice: 3}, {ID: "CR2", MinimumAdvanceNotice: 5},
			{ID: "CR3", SchemeStatus: "pending"}}
	})
	for _, tt := range []struct {
		id    string
		days  int
		error string
	}{
		{"CR1", 3, ""}, {"CR2", 5, ""}, {"any", 0, `has 3 creditors, and the account id "any" is none of theirs: name one, CR…`}, {"CR3", 0, "is pending"},
		{"CR4", 0, "has no creditor CR4"},
	} {
		creditor, err := b.CheckAccount(t.Context(), checkout.Account{ID: tt.id})
		if tt.error == "" && err != nil || tt.error != "" && (err == nil || !strings.Contains(err.Error(), tt.error)) || creditor.Notice != tt.days {
			t.Errorf("CheckAccount(%s) = %d, %v; want %d, %q", tt.id, creditor.Notice, err, tt.days, tt.error)
		}
	}
}

// Documents name the initiator as the payer's bank knows it, not the creditor as its own account does.
func TestCreditorsSayWhoDebits(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) {
		o.Creditors = []gocardlesstest.Creditor{{ID: "CR1", Name: "Rimu College Limited", SchemeName: "RIMU COLLEGE", Reference: "0212345"}}
	})
	want := agreement.Authority{Initiator: "RIMU COLLEGE", AuthorisationCode: "0212345", Statement: "RIMU COLLEGE", Form: "GoCardless"}
	for _, id := range []string{"CR1", "any"} {
		if got, err := b.CheckAccount(t.Context(), checkout.Account{ID: id}); err != nil || !reflect.DeepEqual(got.Authority, want) {
			t.Errorf("%s: %+v, %v; want %+v", id, got, err, want)
		}
	}
}

// However often readiness is asked for, GoCardless is asked once a minute.
func TestReadinessIsCached(t *testing.T) {
	b := newBench(t)
	for range 5 {
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.sim.Advance(time.Minute)
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.sim.Statistics().Calls["GET /creditors"]; got != 2 {
		t.Errorf("%d calls, want 2", got)
	}
}

func TestOptionsAreRefusedWithEveryReason(t *testing.T) {
	const live, sandbox = "https://api.gocardless.com", "https://api-sandbox.gocardless.com"
	for _, tt := range []struct {
		name string
		o    gocardless.Options
		want []string // in the error; nil if they are accepted
	}{
		{"the sandbox", gocardless.Options{Environment: catalogue.Sandbox, Token: "t"}, nil},
		{"production", gocardless.Options{Environment: catalogue.Production, Token: "t"}, nil},
		{"a simulator", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: "http://127.0.0.1:8090"}, nil},
		{"nothing", gocardless.Options{}, []string{"environment", "token is missing"}},
		{"a token with a line feed", gocardless.Options{Environment: catalogue.Sandbox, Token: "t\n"}, []string{"access token has a character"}},
		{"the live host in the sandbox", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: live}, []string{"live host"}},
		{"the sandbox host in production", gocardless.Options{Environment: catalogue.Production, Token: "t", URL: sandbox}, []string{"sandbox host"}},
		{"a simulator in production", gocardless.Options{Environment: catalogue.Production, Token: "t", URL: "http://127.0.0.1:8090"}, []string{"must be https"}},
		{"http to another host", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: "http://pay.example"}, []string{"must be https"}},
		{"no URL", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: "pay"}, []string{"not a scheme and a host"}},
	} {
		p, err := gocardless.New(tt.o)
		if tt.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			} else if info := p.Info(); info.Environment != tt.o.Environment || len(info.PageOrigins) != 1 {
				t.Errorf("%s: %+v", tt.name, info)
			}
			continue
		}
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.name, err, want)
			}
		}
	}
}

// answering is a transport that always gets the same answer.
type answering struct {
	status int
	body   []byte
}

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(a.body))}, nil
}

func newAnswered(t testing.TB, a answering) *gocardless.Processor {
	t.Helper()
	p, err := gocardless.New(gocardless.Options{Environment: catalogue.Sandbox, Token: token, URL: "http://127.0.0.1:1", Transport: a})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever an answer holds, an observation has only the processor's known words and an account that belongs to a mandate.
func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"billing_requests":{"id":"BRQ1","status":"fulfilled","mandate_request":{"scheme":"becs_nz"},
		"links":{"mandate_request_mandate":"MD1"},"resources":{"customer_bank_account":{"account_holder_name":"A","account_number_ending":"8900"}}},
		"mandates":{"id":"MD1","status":"active","scheme":"becs_nz"},"events":[]}`))
	f.Add(200, []byte(`{"billing_requests":{"id":"BRQ1","status":"pending"}}`))
	f.Add(200, []byte(`{"billing_requests":null}`))
	f.Add(200, []byte(`{"billing_requests":[]}`))
	f.Add(409, []byte(`{"error":{"type":"invalid_state","errors":[{"reason":"idempotent_creation_conflict","links":{"conflicting_resource_id":"BRQ2"}}]}}`))
	f.Add(422, []byte(`{"error":"bank_authorisation_expired"}`))
	f.Add(404, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 || status == http.StatusTooManyRequests || status >= 500 {
			return // the adapter asks again after such an answer and a pause
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		p := newAnswered(t, answering{status, body})
		seen, err := p.Observe(ctx, checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: "BRQ1"}})
		if err == nil && (!seen.BillingRequest.Known() || seen.MandateID == "" && seen.Mandate != "") {
			t.Errorf("Observe = %+v", seen)
		}
		begun, err := p.Begin(ctx, start("a"))
		if err == nil && !strings.HasPrefix(begun.ID, "BRQ") {
			t.Errorf("Begin = %+v", begun)
		}
	})
}

// Whatever a notification with a good signature holds, it is kept whole or refused, and leads to no panic.
func FuzzNotification(f *testing.F) {
	f.Add([]byte(fulfilled("EV1", "EV2")))
	f.Add([]byte(`{"events":[{"id":"EV1","resource_type":"mandates","action":"failed","links":{"mandate":"MD1"}}]}`))
	f.Add([]byte(`{"events":[{}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		kept := 0
		r, err := gocardless.NewReceiver(gocardless.ReceiverOptions{Processor: newAnswered(t, answering{404, nil}),
			Secrets:  [][]byte{[]byte(secret)},
			Notified: func(_ context.Context, all []checkout.Notification) error { kept += len(all); return nil },
			Report:   func(context.Context, error) {}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, gocardless.WebhookPath, bytes.NewReader(body))
		req.Header.Set("Webhook-Signature", gocardlesstest.Sign(body, secret))
		r.ServeHTTP(w, req)
		switch w.Code {
		case http.StatusNoContent:
		case http.StatusBadRequest:
			if kept > 0 {
				t.Errorf("%d events of a refused notification are kept", kept)
			}
		default:
			t.Errorf("answered %d", w.Code)
		}
	})
}
