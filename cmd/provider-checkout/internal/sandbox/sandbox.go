// Package sandbox runs the service for tests: in the test's own process, with a clock that the test advances, on a store
// that the test opens, with two providers and a receiver of their events. It has methods for the requests of a provider
// and the pages of a payer, and checks every answer and every event against the API's OpenAPI document.
package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
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

// Credentials at GoCardless.
const (
	Token         = "sandbox_hunter2_token"
	WebhookSecret = "sandbox_hunter2_webhook_secret"
)

// simulateGoCardless serves a simulator of GoCardless on an origin of its own until the test ends, and returns its adapter.
func (s *Sandbox) simulateGoCardless(t testing.TB) *gocardless.Processor {
	t.Helper()
	s.Bank = gocardlesstest.New(gocardlesstest.Options{Token: Token, WebhookSecret: WebhookSecret,
		WebhookURL: s.URL + gocardless.WebhookPath, Now: s.Clock.Now})
	server := httptest.NewServer(s.Bank)
	t.Cleanup(func() { s.Bank.Close(); server.Close() })
	processor, err := gocardless.New(gocardless.Options{Environment: catalogue.Sandbox, Token: Token, URL: server.URL, Now: s.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return processor
}

// Work has a service do its background work until stop is called, or until the test ends.
func Work(t testing.TB, svc *service.Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); svc.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// receive has the service take the simulator's notifications, and work in the background, until the test ends.
func (s *Sandbox) receive(t testing.TB, svc *service.Service, bank *gocardless.Processor) {
	t.Helper()
	receiver, err := site.NewReceiver(svc, site.GoCardless{Processor: bank, WebhookSecrets: [][]byte{[]byte(WebhookSecret)}}, s.Options.Log)
	if err != nil {
		t.Fatal(err)
	}
	Work(t, svc)
	delete(s.Mounted, fakeprocessor.Prefix)
	s.Mounted[gocardless.WebhookPath] = receiver
}

// Settle waits until the service has seen what the processor has notified.
func (s *Sandbox) Settle(t testing.TB) {
	t.Helper()
	if s.Bank == nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := s.Bank.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		pending, err := s.Store.Jobs(ctx, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobLook}, State: checkout.JobPending}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		// A look that is leased is due again within seconds, and a settled look much later.
		soon := s.Clock.Now().Add(10 * time.Second)
		if !slices.ContainsFunc(pending, func(j checkout.JobRecord) bool { return j.Due.Before(soon) }) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}

// simulateSalesforce serves a Salesforce organisation on an origin of its own until the test ends, and returns its adapter.
func (s *Sandbox) simulateSalesforce(t testing.TB) ports.CRM {
	t.Helper()
	const id, secret = "sandbox_hunter2_client", "sandbox_hunter2_client_secret"
	s.Org = salesforcetest.New(salesforcetest.Options{ClientID: id, ClientSecret: secret})
	server := httptest.NewServer(s.Org)
	t.Cleanup(func() { s.Org.Close(); server.Close() })
	crm, err := salesforce.New(salesforce.Options{Environment: catalogue.Sandbox, URL: server.URL, ClientID: id, ClientSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	return crm
}

// Clock is the service's clock, real or stopped. Tests move it forward.
type Clock struct {
	still time.Time           // at which it is stopped before it is moved; zero for the real clock
	with  func(time.Duration) // moves another clock, such as that of a database; may be nil
	mu    sync.Mutex
	moved time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.still.IsZero() {
		return c.still.Add(c.moved)
	}
	return time.Now().Add(c.moved)
}

// Forward moves the clock forward.
func (c *Clock) Forward(d time.Duration) {
	if c.with != nil {
		c.with(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// Log keeps what the service logs.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
