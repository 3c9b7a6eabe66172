// Package service is the application: it loads state through the ports, asks package
// checkout what to do, stores the outcome and then tells the world. Embedders call it
// from their own program; adapters/httpapi and adapters/hostedpages call it for theirs.
package service

import (
	"context"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Config is all that a Service needs. Every field is required unless it says otherwise.
type Config struct {
	Environment   catalogue.Environment
	BaseURL       string        // scheme and host under which the pages are reached, without a slash at the end
	SetupLifetime time.Duration // how long a setup page opens; 7 days if 0
	Keyring       checkout.Keyring

	Store     ports.Store
	Processor ports.Processor
	Printer   ports.Printer
	Sender    ports.Sender

	Now    func() time.Time
	Rand   io.Reader
	Report func(context.Context, error) // told of failures that no caller is told of
}

// Service runs checkouts. It is safe for concurrent use.
type Service struct{ cfg Config }

// New checks cfg and returns a service. It starts nothing: see Run.
func New(cfg Config) (*Service, error) { panic("todo") }

// Run takes up the deliveries that a crash cut off, now and every few seconds, until ctx ends;
// it returns when the work in hand is done. Every process runs it.
func (s *Service) Run(ctx context.Context) { panic("todo") }

// Caller is an authenticated provider.
type Caller struct {
	ProviderCode string
	KeyID        string
}

// Authenticate returns whose key this is. It writes nothing. The refusals are
// CodeKeyMissing for an empty key, and CodeKeyInvalid.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) { panic("todo") }

// Opened is the answer to a create.
type Opened struct {
	Checkout       checkout.Checkout
	Replay         bool
	IdempotencyKey string // of this request; only on a replay
	SetupURL       string // "" once the checkout is confirmed, like Token
	Token          string
}

// Create opens a checkout, or finds the one that the same order opened before (section 4).
func (s *Service) Create(ctx context.Context, caller Caller, cmd checkout.Create) (Opened, error) {
	panic("todo")
}

// Checkout returns the caller's checkout, its setup as fresh as the processor tells within a second.
func (s *Service) Checkout(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	panic("todo")
}

// Confirmed is the answer to a confirm.
type Confirmed struct {
	Checkout checkout.Checkout
	Already  bool // it was confirmed before; nothing happened now
}

// Confirm confirms the caller's checkout (section 3).
func (s *Service) Confirm(ctx context.Context, caller Caller, cmd checkout.Confirm) (Confirmed, error) {
	panic("todo")
}

// Readiness is what a provider may know of the service before it has a key (section 4).
type Readiness struct {
	Environment                   catalogue.Environment
	BaseURL                       string
	Processor                     string
	ReadyForAPICalls              bool
	WebhookDestinationsConfigured bool
}

// Readiness tells what this service is and whether it can take calls.
func (s *Service) Readiness(ctx context.Context) Readiness { panic("todo") }

// PageState says which setup page a token opens.
type PageState int

const (
	PageOpen       PageState = iota + 1 // the setup can be done
	PageDone                            // it is done, or confirmed
	PageExpired                         // the token's time is over
	PageNotEnabled                      // the provider may not be used now
)

// SetupPage is what a payer is shown.
type SetupPage struct {
	State    PageState
	Token    string
	Provider catalogue.Provider
	Checkout checkout.Checkout
	Schedule []money.Charge
}

// SetupPage returns the page that a setup token opens; it changes nothing. A token that is not ours
// is CodeTokenUnknown.
func (s *Service) SetupPage(ctx context.Context, token string) (SetupPage, error) { panic("todo") }

// BeginSetup starts the bank setup and returns where the payer's browser goes. A page that is
// not open (see SetupPage) is CodeTokenExpired, CodeProviderNotEnabled or, when done, the setup page's own address.
func (s *Service) BeginSetup(ctx context.Context, token string) (url string, err error) {
	panic("todo")
}

// CompleteSetup records that the payer completed the bank setup, and returns the address of
// the setup page, which says so. Completing a setup that is complete changes nothing.
func (s *Service) CompleteSetup(ctx context.Context, token string, done checkout.Completion) (url string, err error) {
	panic("todo")
}
