package sandbox

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

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
