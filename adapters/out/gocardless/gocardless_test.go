package gocardless_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/processortest"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
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
