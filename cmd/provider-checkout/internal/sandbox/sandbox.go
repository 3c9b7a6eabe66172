// Package sandbox runs the service for tests: in the test's own process, with a clock that the test advances, on a store
// that the test opens, with two providers and a receiver of their events. It has methods for the requests of a provider
// and the pages of a payer, and checks every answer and every event against the API's OpenAPI document.
package sandbox

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Sandbox is a running service with two providers: KOWHAI with a catalogue, and TUI without a
// catalogue. The events of both are delivered to Receiver.
type Sandbox struct {
	URL      string
	Store    site.Store
	Config   service.Config // of the running service, without the scenarios
	Options  httpapi.Options
	Mounted  map[string]http.Handler // by the processor
	Clock    *Clock
	Receiver *Receiver
	Log      *Log
	Bank     *gocardlesstest.Simulator // where GoCardless is the processor
	Org      *salesforcetest.Org       // where Salesforce is the CRM
	Keys     map[string]string         // by provider code

	transport *http.Transport // not the default one, whose connections the end of any other test server closes
}

// printer is the printer of all sandboxes, whose fonts take long to read.
var printer = sync.OnceValues(func() (*pdf.Printer, error) {
	signer, err := pdf.Derived(secret, "Provider Checkout sandbox")
	if err != nil {
		return nil, err
	}
	return pdf.New(runtime.GOMAXPROCS(0), signer)
})

// secret is the operator's.
var secret = bytes.Repeat([]byte("s"), checkout.MinSecret)

// Outside is a world around a sandbox. The zero value has the fake processor, no CRM but the store, and the time of the machine.
type Outside struct {
	GoCardless, Salesforce bool      // whether they are simulated
	Now                    time.Time // at which the clock is stopped until it is moved
}

// Opener opens a store, whose clock is now if it takes one.
type Opener func(t testing.TB, now func() time.Time) site.Store

// Memory opens a store in memory.
func Memory(_ testing.TB, now func() time.Time) site.Store { return memory.New(now) }

// On returns the opener of a store that is open.
func On(store site.Store) Opener {
	return func(testing.TB, func() time.Time) site.Store { return store }
}

// New runs a service on a store until the test ends, with the providers of Providers and a key for each. The changes
// are applied to its configuration before it starts.
func New(t testing.TB, open Opener, changes ...func(*service.Config, *httpapi.Options)) *Sandbox {
	t.Helper()
	return NewOver(t, Outside{}, open, changes...)
}

// NewOver is New in a world.
func NewOver(t testing.TB, outside Outside, open Opener, changes ...func(*service.Config, *httpapi.Options)) *Sandbox {
	t.Helper()
	clock := &Clock{still: outside.Now}
	store := open(t, clock.Now)
	s := &Sandbox{Store: store, Clock: clock, Log: &Log{}, Keys: make(map[string]string), transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(s.transport.CloseIdleConnections)
	if own, ok := store.(interface{ Forward(time.Duration) }); ok { // it leases jobs by a clock of its own
		clock.with = own.Forward
	}
	s.Receiver = NewReceiver(t)
	server := httptest.NewUnstartedServer(nil)
	s.URL = "http://" + server.Listener.Addr().String()
	keyring, err := checkout.NewKeyring(secret)
	if err != nil {
		t.Fatal(err)
	}
	printer, err := printer()
	if err != nil {
		t.Fatal(err)
	}
	log := httpserver.NewLog(s.Log)
	fake := fakeprocessor.New(fakeprocessor.Options{Records: store, BaseURL: s.URL, Log: log, Now: s.Clock.Now})
	s.Mounted = map[string]http.Handler{fakeprocessor.Prefix: fake}
	c := service.Config{Environment: catalogue.Sandbox, BaseURL: s.URL, Keyring: keyring, Store: store,
		Processor: fake, Printer: printer, Sender: webhook.New(webhook.Options{AllowPrivate: true}),
		Now: s.Clock.Now, Rand: rand.Reader,
		Report: httpserver.Report(log)}
	var bank *gocardless.Processor
	o := httpapi.Options{Log: log, Now: s.Clock.Now, Rand: rand.Reader}
	if outside.GoCardless {
		bank = s.simulateGoCardless(t)
		c.Processor = bank
	}
	for _, change := range changes {
		change(&c, &o)
	}
	if outside.Salesforce && c.Environment == catalogue.Sandbox { // no organisation of production is simulated
		c.CRM = s.simulateSalesforce(t)
	}
	s.Config, s.Options = c, o
	svc := s.Service(t)
	if outside.GoCardless {
		s.receive(t, svc, bank)
	}
	server.Config.Handler = s.Handler(svc)
	server.Start()
	t.Cleanup(server.Close)
	s.Configure(t, Providers)
	for _, code := range []string{"KOWHAI", "TUI"} {
		s.Keys[code] = IssueKey(t, store, code, catalogue.Sandbox)
	}
	return s
}

// Service returns a service over the sandbox's store, as another process has it.
func (s *Sandbox) Service(t testing.TB) *service.Service {
	t.Helper()
	svc, err := site.NewService(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// Handler returns the handler of everything that a service answers.
func (s *Sandbox) Handler(svc *service.Service) http.Handler {
	return site.Handler(svc, s.Config.Environment, s.Mounted, s.Options)
}

// Providers is the provider file of a sandbox. Configure replaces HOOKS by the address of the receiver.
const Providers = `{"providers": [{
	"provider_code": "KOWHAI", "name": "Kōwhai Institute", "account_id": "acc-kowhai",
	"environment": "sandbox", "active": true, "api_enabled": true,
	"enrolment_origins": ["https://enrol.kowhai.example"],
	"success_url": "https://enrol.kowhai.example/done", "cancel_url": "https://enrol.kowhai.example/cancelled",
	"branding": {"display_name": "Kōwhai Institute", "primary_colour": "#1f6f54", "support_email": "help@kowhai.example"},
	"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "whsec_kowhai_0123456789abcdef"},
	"courses": [
		{"course_code": "NZDIP", "course_name": "Diploma in Business", "course_price": 2990.00, "upfront_payment": 200.00,
		 "active": true, "environment": "sandbox", "plans": [
			{"payment_frequency": "Weekly", "number_of_instalments": 52},
			{"payment_frequency": "Fortnightly", "instalment_amount": 120.00}]},
		{"course_code": "RETIRED", "course_name": "Retired", "course_price": 100.00, "upfront_payment": 0,
		 "active": false, "environment": "sandbox", "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 10}]},
		{"course_code": "ELSEWHERE", "course_name": "Elsewhere", "course_price": 100.00, "upfront_payment": 0,
		 "active": true, "environment": "production", "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 10}]}]},
	{"provider_code": "TUI", "name": "Tūī Trades Academy", "account_id": "acc-tui",
	"environment": "sandbox", "active": true, "api_enabled": true,
	"webhook": {"url": "HOOKS/TUI", "signing_secret": "whsec_tui_0123456789abcdefgh"}}]}`

// Configure replaces the providers by the providers of a file, in which HOOKS means the address of the receiver.
func (s *Sandbox) Configure(t testing.TB, file string) {
	t.Helper()
	if len(s.Keys) > 0 {
		s.Clock.Forward(5 * time.Second) // within which a running server sees it
	}
	all, err := providerfile.Parse([]byte(strings.ReplaceAll(file, "HOOKS", s.Receiver.URL)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.ReplaceProviders(t.Context(),
		func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
			return all, nil, nil
		}); err != nil {
		t.Fatal(err)
	}
}

// IssueKey makes an API key of a provider in a store and returns its text.
func IssueKey(t testing.TB, store ports.Admin, provider string, env catalogue.Environment) string {
	t.Helper()
	var entropy [32]byte
	rand.Read(entropy[:])
	act := checkout.Act{ID: "act_" + hex.EncodeToString(entropy[:8]), At: time.Now().UTC().Truncate(time.Millisecond), Operator: "test", Name: "keys issue"}
	text, key := catalogue.NewKey(provider, env, time.Now().UTC().Truncate(time.Millisecond), entropy)
	if err := store.AddKey(t.Context(), key, act); err != nil {
		t.Fatal(err)
	}
	return text
}
